"""RWKV's vocabulary against the vectors of its own tokenizer, and against the obvious loop."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache

import nasty
import pytest
import rawcore
from assets import ROOT, Asset, needs_assets

from pywasmtok import _host, errors

pytestmark = needs_assets

FILE = Asset("rwkv", "rwkv_vocab_v20230424.txt")


@cache
def core() -> _host.CoreTokenizer:
    return rawcore.load(FILE.read())


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    """What is left to the end of the process is torn down in no order."""
    yield
    core.cache_clear()


@cache
def tokens() -> dict[bytes, int]:
    found = {}
    for line in FILE.read().decode().splitlines():
        number, rest = line.split(" ", 1)
        token = ast.literal_eval(rest.rsplit(" ", 1)[0])
        found[token.encode() if isinstance(token, str) else token] = int(number)
    return found


def test_vectors() -> None:
    lines = (ROOT / "vectors/rwkv.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines[1:]]
    texts = [case["text"] for case in cases]
    ids = [case["ids"] for case in cases]
    assert rawcore.encode(core(), texts) == ids
    assert rawcore.decode(core(), ids) == [case.get("decoded", case["text"]) for case in cases]
    assert core().info()["format"] == "rwkv"


def test_the_longest_token_first() -> None:
    longest = max(map(len, tokens()))

    def greedy(text: bytes) -> list[int]:
        ids = []
        while text:
            length = next(n for n in range(longest, 0, -1) if text[:n] in tokens())
            ids.append(tokens()[text[:length]])
            text = text[length:]
        return ids

    texts = list(nasty.texts("rwkv", rawcore.COUNT, []))
    expected = [greedy(text.encode()) for text in texts]
    assert list(rawcore.differences(rawcore.encode(core(), texts), expected, texts)) == []


def test_offsets() -> None:
    full = core().encode_full("Hello 世界\n", None, False)
    offsets = memoryview(full.byte_offsets).cast("I").tolist()
    assert offsets[0] == 0
    assert offsets[-1] == len("Hello 世界\n".encode())


def test_unknown_ids_are_left_out() -> None:
    """0 ends a text; it is no token of the file."""
    assert rawcore.decode(core(), [[0, 34, 70_000, 35]]) == ['!"']


def test_a_broken_line_is_named() -> None:
    data = FILE.read().replace(b"\n5000 '", b'\n5000 "', 1)
    with pytest.raises(errors.InvalidFile, match="line 5000: "):
        rawcore.load(data)
