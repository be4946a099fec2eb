"""Hashes of ids: the vectors of docs/hashes.md, and the same from other people's code."""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import shutil
import subprocess
from array import array
from pathlib import Path
from typing import Any

import pytest

import pywasmtok
from pywasmtok import InvalidArgument
from pywasmtok.tokenizer import hashes
from pywasmtok.tokenizer.encoding import Encoding

IDS = list(range(1, 41))
LONG = [*range(100_000, 100_300), 4_294_967_295]


def encoding(ids: list[int]) -> Encoding:
    tok = pywasmtok.create_tokenizer("mock://")
    return Encoding(array("I", ids).tobytes(), tok.hybrid.encoder, "", None, False)  # type: ignore[arg-type]


# What docs/hashes.md states: a change of one of these is a change of the contract.
VECTORS: dict[str, list[str]] = {
    "ids": [
        "d68d75c1f851b042",
        "fc7e3ceb29efb3b2",
        "f7aa9fa228e30461",
    ],
    "blocks": [
        "10e4354642fc6e08",
        "4fcc4dda949cb7f3",
    ],
    "salted": [
        "997b75e64644a37b",
        "d7199312cf57bf16",
    ],
    "dynamo": [
        "ea06fc71a5ee6e88",
        "1fbf39bd106be0b5",
    ],
    "dynamo_sequence": [
        "ea06fc71a5ee6e88",
        "ad01835a37dd294c",
    ],
    "sglang": [
        "77d735ce838418aa151bd96b5b1e78ee63860892e0a95c00fe34178442be9b07",
        "1170426cf2449cebf4d17f087ce5bb43b6a910ce91b3f40922868e913e8ee91d",
    ],
    "vllm": [
        "202da172482d928bbc42ab25b0151e2b895f13f41002e27b2ceabcfae6d332ea",
        "4a0a393805c6d2f0ed831000d41bb65980336c4c04895d5e26470bbec927f5bf",
    ],
}


def test_the_hash_of_an_encoding() -> None:
    assert f"{encoding([]).hash:016x}" == VECTORS["ids"][0]
    assert f"{encoding([1, 2, 3]).hash:016x}" == VECTORS["ids"][1]
    assert f"{encoding(IDS).hash:016x}" == VECTORS["ids"][2]


def test_our_block_hashes() -> None:
    found = encoding(IDS).block_hashes(16)
    assert [f"{number:016x}" for number in found] == VECTORS["blocks"]
    assert hashes.block_hashes(IDS, 16) == found
    salted = hashes.block_hashes(IDS, 16, salt="tenant/a")
    assert [f"{number:016x}" for number in salted] == VECTORS["salted"]


def test_a_chain_goes_on() -> None:
    whole = hashes.block_hashes(LONG, 4, salt="x")
    first = hashes.block_hashes(LONG[:40], 4, salt="x")
    assert first == whole[:10]
    assert first + hashes.block_hashes(LONG[40:], 4, parent=first[-1]) == whole
    pages = hashes.sglang_page_hashes(LONG, 4)
    assert pages[5:] == hashes.sglang_page_hashes(LONG[20:], 4, parent=pages[4])
    blocks = hashes.vllm_block_hashes(LONG, 4, hash_seed="0")
    rest = hashes.vllm_block_hashes(LONG[20:], 4, hash_seed="0", parent=blocks[4])
    assert blocks[5:] == rest


def test_only_whole_blocks_and_only_what_is_before() -> None:
    assert hashes.block_hashes(IDS[:15], 16) == []
    assert hashes.block_hashes([], 16) == []
    one = hashes.block_hashes(IDS, 8)
    other = hashes.block_hashes([*IDS[:20], 7, *IDS[21:]], 8)
    assert one[:2] == other[:2]
    assert not set(one[2:]) & set(other)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "4"])
def test_a_block_has_ids(size: Any) -> None:
    for function in (hashes.block_hashes, hashes.sglang_page_hashes):
        with pytest.raises(InvalidArgument, match="block"):
            function(IDS, size)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="parent"):
        hashes.block_hashes(IDS, 4, parent=1, salt="x")
    for parent in (-1, 1 << 64, "x"):
        with pytest.raises(InvalidArgument, match="64 bits"):
            hashes.block_hashes(IDS, 4, parent=parent)  # type: ignore[arg-type]
    digits: Any
    for digits in ("xyz", 5, None, b"ab"):
        with pytest.raises(InvalidArgument, match="hexadecimal"):
            hashes.sglang_page_hashes(IDS, 4, parent=digits)
        with pytest.raises(InvalidArgument, match="hexadecimal"):
            hashes.sglang_event_hash(digits)
    other: Any
    for other in ("ab", 5):
        with pytest.raises(InvalidArgument, match="bytes"):
            hashes.vllm_block_hashes(IDS, 4, hash_seed="0", parent=other)
        with pytest.raises(InvalidArgument, match="bytes"):
            hashes.vllm_event_hash(other)
    with pytest.raises(InvalidArgument, match="UTF-8"):
        hashes.block_hashes(IDS, 4, salt="\ud800")


def test_sglang() -> None:
    found = hashes.sglang_page_hashes(IDS, 16)
    assert found == VECTORS["sglang"]
    before = ""
    for page, expected in zip((IDS[:16], IDS[16:32]), found, strict=True):
        digest = hashlib.sha256(bytes.fromhex(before))
        for token_id in page:
            digest.update(token_id.to_bytes(4, "little"))
        before = digest.hexdigest()
        assert before == expected
        number = int(before[:16], 16)
        signed = number - (1 << 64) if number >> 63 else number
        assert hashes.sglang_event_hash(before) == signed


def test_vllm_vectors() -> None:
    found = hashes.vllm_block_hashes(IDS, 16, hash_seed="0")
    assert [one.hex() for one in found] == VECTORS["vllm"]
    number = hashes.vllm_event_hash(found[0])
    assert f"{number:016x}" == found[0].hex()[-16:]


def test_vllm_is_what_cbor2_writes() -> None:
    cbor2: Any = pytest.importorskip("cbor2")

    def sha256_cbor(value: object) -> bytes:
        return hashlib.sha256(cbor2.dumps(value, canonical=True)).digest()

    dice = random.Random(1)
    for seed, lora, salt in (("0", "", ""), ("42", "é" * 30, ""), ("", "a", "b"), ("x", "", "s")):
        ids = [dice.choice((3, 23, 24, 255, 256, 65_535, 65_536, 2**32 - 1)) for _ in range(90)]
        for size in (1, 16, 23, 24, 30):
            parent, expected = sha256_cbor(seed), []
            for at in range(0, len(ids) - size + 1, size):
                keys = ([lora] if lora else []) + ([salt] if salt and at == 0 else [])
                block = tuple(ids[at : at + size])
                parent = sha256_cbor((parent, block, tuple(keys) or None))
                expected.append(parent)
            found = hashes.vllm_block_hashes(ids, size, hash_seed=seed, lora=lora, cache_salt=salt)
            assert found == expected


def test_dynamo() -> None:
    xxhash: Any = pytest.importorskip("xxhash")
    local = hashes.dynamo_block_hashes(IDS, 16)
    assert [f"{number:016x}" for number in local] == VECTORS["dynamo"]
    chained = hashes.dynamo_sequence_hashes(IDS, 16)
    assert [f"{number:016x}" for number in chained] == VECTORS["dynamo_sequence"]
    data = array("I", IDS[:16]).tobytes()
    assert local[0] == xxhash.xxh3_64(data, seed=1337).intdigest() == chained[0]
    # A block on its own: where it stands makes no difference.
    assert hashes.dynamo_block_hashes(IDS[16:], 16) == local[1:]
    other = hashes.dynamo_block_hashes(IDS, 16, lora="adapter")
    seed = (1337 + xxhash.xxh3_64(b"adapter").intdigest()) % 2**64
    assert other[0] == xxhash.xxh3_64(data, seed=seed).intdigest() != local[0]


def test_without_xxhash(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "xxhash", None)
    with pytest.raises(pywasmtok.BackendUnavailable, match="hashes"):
        hashes.dynamo_block_hashes(IDS, 16)
    assert hashes.block_hashes(IDS, 16)


def in_node(questions: list[dict[str, Any]]) -> list[list[str]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    script = Path(__file__).parents[1] / "hashes.mjs"
    done = subprocess.run(
        [node, str(script)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer: list[list[str]] = json.loads(done.stdout)
    return answer


def test_another_language_finds_the_same() -> None:
    dice = random.Random(2)
    questions: list[dict[str, Any]] = []
    expected: list[list[str]] = []
    for count in (0, 1, 15, 16, 31, 32, 33, 200):
        ids = [dice.randrange(1 << dice.randint(1, 32)) for _ in range(count)]
        for size in (1, 16, 30, 32):
            salt = dice.choice(("", "a", "é" * 200))
            questions += [
                {"kind": "ids", "ids": ids},
                {"kind": "blocks", "ids": ids, "size": size, "salt": salt},
                {"kind": "sglang", "ids": ids, "size": size},
                {"kind": "vllm", "ids": ids, "size": size, "seed": "0"},
            ]
            ours = hashes.block_hashes(ids, size, salt=salt)
            expected += [
                [f"{encoding(ids).hash:016x}"],
                [f"{number:016x}" for number in ours],
                hashes.sglang_page_hashes(ids, size),
                [one.hex() for one in hashes.vllm_block_hashes(ids, size, hash_seed="0")],
            ]
    assert in_node(questions) == expected


def test_the_documented_vectors_are_these() -> None:
    text = (Path(__file__).parents[2] / "docs" / "hashes.md").read_text(encoding="utf-8")
    for vectors in VECTORS.values():
        for vector in vectors:
            assert vector in text


def test_optional_packages_are_not_imported_for_ours() -> None:
    assert "xxhash" not in importlib.import_module("pywasmtok.tokenizer.hashes").__dict__
