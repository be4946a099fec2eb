"""Mutated files of each format through the core: each loads or gives a typed error, and soon.

PYWASMTOK_RANDOM sets how many of each format (20000 for the full run); the fuzzer in
`wasm-core/fuzz` does the same natively, a thousand times faster.
"""

from __future__ import annotations

import json
import os
import random
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
import rawcore
from assets import ROOT, needs_assets

from pywasmtok import errors

COUNT = int(os.environ.get("PYWASMTOK_RANDOM", "200"))

# Of the processor: shared machines stand still at times. A hang takes far longer.
SECONDS = 1.0

TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    *(b"ab", b" a", b"abc", b" ab", b"  ", b"\n\n", "é".encode(), b"aa", b"aaaa"),
]

NUMBERS = (0, 1, -1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1, 0.5)


def _ranks() -> bytes:
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(TOKENS))


def _rwkv() -> bytes:
    lines = (f"{n} {token!r} {len(token)}\n" for n, token in enumerate(TOKENS, 1))
    return "".join(lines).encode()


def _tekken() -> bytes:
    vocab = [
        {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(TOKENS)
    ]
    config = {
        "pattern": r"[a-z]+|\s++$|\p{N}{1,3}+|[^a-z]",
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) + 20,
        "default_num_special_tokens": 22,
        "version": "v3",
    }
    return json.dumps({"config": config, "vocab": vocab}).encode()


def _asset(name: str) -> Callable[[], bytes]:
    return (ROOT / "malformed" / name).read_bytes


SEEDS: dict[str, tuple[Callable[[], bytes], str, dict[str, Any]]] = {
    "tiktoken": (_ranks, "lines", {"encoding": "cl100k_base"}),
    "rwkv": (_rwkv, "lines", {}),
    "tekken": (_tekken, "json", {}),
    "tokenizer.json": (_asset("ok_minimal_tokenizer.json"), "json", {}),
    "gguf": (_asset("ok_min_spm.gguf"), "binary", {}),
    "sentencepiece": (_asset("ok_min_bpe.model"), "binary", {}),
}


def _blind(dice: random.Random, data: bytearray) -> None:
    at = dice.randrange(len(data) + 1)
    match dice.randrange(5):
        case 0:
            data[at : at + 1] = bytes([dice.randrange(256)])
        case 1:
            del data[at : at + dice.randrange(1, 17)]
        case 2:
            data[at:at] = data[at : at + 64]
        case 3:
            del data[at:]
        case _:
            data[at:at] = dice.randbytes(dice.randrange(1, 5))


def _lines(dice: random.Random, data: bytearray) -> None:
    lines = bytes(data).split(b"\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            del lines[one]
        case _:
            fields = lines[one].split(b" ")
            fields[dice.randrange(len(fields))] = str(dice.choice(NUMBERS)).encode()
            lines[one] = b" ".join(fields)
    data[:] = b"\n".join(lines)


def _binary(dice: random.Random, data: bytearray) -> None:
    at = dice.randrange(len(data) + 1)
    number = int(dice.choice(NUMBERS)) % 2**64
    width = dice.choice((4, 8))
    data[at : at + width] = number.to_bytes(8, "little")[:width]


def _json(dice: random.Random, data: bytearray) -> None:
    try:
        value = json.loads(bytes(data))
    except ValueError:
        _blind(dice, data)
        return
    parent: Any = {"whole": value}
    key: Any = "whole"
    for _ in range(dice.randrange(1, 8)):
        child = parent[key]
        if isinstance(child, dict) and child:
            parent, key = child, dice.choice(list(child))
        elif isinstance(child, list) and child:
            parent, key = child, dice.randrange(len(child))
    match dice.randrange(4):
        case 0 if parent is not value or len(parent) > 1:
            del parent[key]
        case 1:
            parent[key] = dice.choice(NUMBERS)
        case 2:
            parent[key] = dice.choice(("", "a", r"(a+)+$", "[", "<s>", None, [], {}, True))
        case _:
            parent[key] = [parent[key], parent[key]]
    data[:] = json.dumps(value).encode()


KINDS = {"lines": _lines, "json": _json, "binary": _binary}


def _mutant(dice: random.Random, seed: bytes, kind: str) -> bytes:
    data = bytearray(seed)
    for _ in range(dice.randrange(1, 5)):
        (_blind if dice.random() < 0.3 else KINDS[kind])(dice, data)
    return bytes(data)


@needs_assets
@pytest.mark.parametrize("name", SEEDS)
def test_mutants(name: str) -> None:
    make, kind, options = SEEDS[name]
    seed = make()
    dice = random.Random(name)
    traps: list[tuple[int, Exception]] = []
    slow = []
    for number in range(COUNT):
        data = _mutant(dice, seed, kind)
        start = time.process_time()
        try:
            core = rawcore.load(data, **options)
            rawcore.encode(core, ["Hello ab\n\n  é1234 <s>"])
            rawcore.decode(core, [[0, 97, 260, 4_000_000_000]])
            core.close()
        except errors.HostError as error:
            traps.append((number, error))
        except errors.TokenizerError:
            pass
        if (seconds := time.process_time() - start) > SECONDS:
            slow.append((number, seconds))
    assert traps == []
    assert len(slow) <= COUNT // 100, slow
    assert max((seconds for _, seconds in slow), default=0.0) < 10 * SECONDS


def test_mutants_of_a_pair() -> None:
    letters = [chr(code) for code in range(33, 127)]
    vocab = json.dumps({letter: n for n, letter in enumerate([*letters, "ab", "abc"])}).encode()
    merges = b"#version: 0.2\na b\nab c\n"
    dice = random.Random("pair")
    for _ in range(COUNT):
        parts = {"vocab.json": vocab, "merges.txt": merges}
        for name, kind in (("vocab.json", "json"), ("merges.txt", "lines")):
            if dice.random() < 0.6:
                parts[name] = _mutant(dice, parts[name], kind)
        try:
            rawcore.encode(rawcore.load_parts(parts), ["abc ab"])
        except errors.HostError:
            raise
        except errors.TokenizerError:
            pass
