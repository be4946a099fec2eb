"""`truncation=` and `padding=` of `create_tokenizer`, beside the settings of the library."""

from __future__ import annotations

import copy
import pickle
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import small
import tokenizers
from assets import Asset, needs_assets

import pywasmtok
from pywasmtok.errors import InvalidArgument, InvalidFile, Unsupported

TEXTS = ["", "a", "Hello world", "naïve café 🌶️ 中文 test", " leading, trailing  ", "x " * 40]

TRUNCATIONS: list[Any] = [
    None,
    False,
    {"max_length": 5},
    {"max_length": 6, "direction": "left", "stride": 1},
    {"max_length": 6, "strategy": "only_first"},
]
PADDINGS: list[Any] = [
    None,
    False,
    {},
    {"length": 8, "pad_id": 1, "pad_token": "p", "pad_type_id": 1},
    {"length": 3, "direction": "left", "pad_to_multiple_of": 4},
]


def stating(path: Path) -> Path:
    """A file that cuts at 7 ids and pads to 7."""
    tok = tokenizers.Tokenizer.from_buffer(small.file())
    tok.enable_truncation(7)
    tok.enable_padding(length=7, pad_id=2)
    tok.save(str(path / "tokenizer.json"))
    return path / "tokenizer.json"


def library(path: Path, truncation: Any, padding: Any) -> tokenizers.Tokenizer:
    tok = tokenizers.Tokenizer.from_file(str(path))
    if truncation is not None:
        tok.no_truncation()
        if truncation:
            tok.enable_truncation(**truncation)
    if padding is not None:
        tok.no_padding()
        if padding is not False:
            tok.enable_padding(**padding)
    return tok


def compare(ours: pywasmtok.Tokenizer, theirs: tokenizers.Tokenizer) -> None:
    for text in TEXTS:
        for special in (True, False):
            mine, other = (
                ours.encode(text, None, special),
                theirs.encode(text, None, False, special),
            )
            assert mine.ids == other.ids
            assert mine.attention_mask == other.attention_mask
            assert mine.type_ids == other.type_ids
            assert mine.special_tokens_mask == other.special_tokens_mask
            assert mine.tokens == other.tokens
            assert mine.offsets == other.offsets
            assert ours.count(text, special) == len(other.ids)
            for limit in range(9):
                assert ours.fits(text, limit, special) == (len(other.ids) <= limit)
    expected = [one.ids for one in theirs.encode_batch(TEXTS)]
    assert ours.encode_batch(TEXTS).ids == expected
    single = [len(theirs.encode(text).ids) for text in TEXTS]
    assert ours.count_batch(TEXTS) == single
    assert ours.encode("a b", "c d").ids == theirs.encode("a b", "c d").ids


@pytest.mark.parametrize("padding", PADDINGS, ids=str)
@pytest.mark.parametrize("truncation", TRUNCATIONS, ids=str)
@pytest.mark.parametrize("encoder", ["auto", "hf"])
def test_as_in_the_library(tmp_path: Path, encoder: str, truncation: Any, padding: Any) -> None:
    path = stating(tmp_path)
    how = {"truncation": truncation, "padding": padding}
    with pywasmtok.create_tokenizer(path, encoder=encoder, **how) as ours:
        theirs = library(path, truncation, padding)
        compare(ours, theirs)
        for again in (copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert again.encode(TEXTS[3]).ids == theirs.encode(TEXTS[3]).ids


@needs_assets
@pytest.mark.parametrize("family", ["gte", "gpt2", "t5"])
def test_real_files(tmp_path: Path, family: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(Asset(family, "tokenizer.json").read())
    for truncation, padding in ((False, False), (None, False), ({"max_length": 9}, PADDINGS[3])):
        how: dict[str, Any] = {"truncation": truncation, "padding": padding}
        with pywasmtok.create_tokenizer_from_file(path, **how) as ours:
            compare(ours, library(path, truncation, padding))


def test_a_file_that_pads_can_count(tmp_path: Path) -> None:
    path = stating(tmp_path)
    assert pywasmtok.create_tokenizer(path).count("a") == 7
    off = pywasmtok.create_tokenizer(path, padding=False)
    assert off.count("a") < 7
    assert off.count("a b " * 40) == 7
    assert off.fingerprint != pywasmtok.create_tokenizer(path).fingerprint


@pytest.mark.parametrize(
    "how",
    [
        {"truncation": True},
        {"truncation": 5},
        {"truncation": {}},
        {"truncation": {"max_length": -1}},
        {"truncation": {"max_length": 4, "stride": 4}},
        {"truncation": {"max_length": 4, "strategy": "none"}},
        {"truncation": {"length": 4}},
        {"padding": {"direction": "up"}},
        {"padding": {"pad_token": 3}},
        {"padding": {"pad_id": 2**32}},
        {"padding": {"length": True}},
    ],
)
def test_what_no_file_may_state(how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        pywasmtok.create_tokenizer("builtin:demo", **how)


def test_other_files(tmp_path: Path) -> None:
    ranks = tmp_path / "small.tiktoken"
    ranks.write_bytes(b"".join(b"%s %d\n" % (b64encode(bytes([n])), n) for n in range(256)))
    how: dict[str, Any] = {"pattern": ".", "special_tokens": {}}
    off = pywasmtok.create_tokenizer(ranks, truncation=False, **how)
    assert off.encode("abab").ids == [97, 98, 97, 98]
    each: list[dict[str, Any]] = [{"truncation": {"max_length": 3}}, {"padding": {}}]
    for stated in each:
        with pytest.raises(Unsupported, match="no place"):
            pywasmtok.create_tokenizer(ranks, **how, **stated)
    broken = tmp_path / "tokenizer.json"
    broken.write_bytes(b'{"model": ')
    with pytest.raises(InvalidFile):
        pywasmtok.create_tokenizer(broken, truncation=False)
