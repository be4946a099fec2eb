"""What the versions of `tokenizers` do that can be installed: the rows of docs/versions.md."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import small
import tokenizers
from versions import IS_0_22

from pywasmtok import InvalidFile
from pywasmtok.backends.core import CoreBackend
from pywasmtok.backends.hf import HFBackend
from pywasmtok.compat.tokenizers import Tokenizer

VERSION = tokenizers.__version__
# These end early in a text that is truncated.
STOPS_EARLY = VERSION in ("0.23.1", "0.23.2")
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)


def file(*names: str, **changes: Any) -> bytes:
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}
    added = [
        {"id": 3 + at, "content": name, "normalized": True, **FLAGS}
        for at, name in enumerate(names)
    ]
    parts: dict[str, Any] = dict.fromkeys(("post_processor", "decoder"))
    parts["normalizer"] = {"type": "Lowercase"}
    parts["pre_tokenizer"] = {"type": "Whitespace"}
    return small.file(**{**parts, "model": model, "added_tokens": added, **changes})


def test_the_text_of_a_normalized_added_token() -> None:
    library = HFBackend(file("Hello"))
    assert library.encode("a HELLO b", None, True).ids == [0, 3, 1]
    assert library.decode([0, 3, 1], False) == ("a Hello b" if IS_0_22 else "a hello b")
    assert Tokenizer.from_buffer(file("Hello")).decode([0, 3, 1]) == "a hello b"


def test_added_tokens_that_the_normalizer_makes_equal() -> None:
    data = file("Hello", "HELLO")
    library = HFBackend(data)
    if VERSION == "0.23.1":
        with pytest.raises(InvalidFile, match=r"tokenizers 0\.23\.1 does not load it.*Duplicate"):
            library.load()
        return
    # With the reference one of the two, by chance.
    assert library.encode("hello", None, True).ids in ([[3]] if IS_0_22 else [[3], [4]])


@pytest.mark.parametrize("direction", ["Left", "Right"])
def test_what_overflows(direction: str) -> None:
    how = {"direction": direction, "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    made = tokenizers.Tokenizer.from_buffer(file(truncation=how)).encode("a b")
    rest = [1] if direction == "Right" else [0]
    assert made.ids == [1 - rest[0]]
    assert [one.ids for one in made.overflowing] == ([] if STOPS_EARLY else [rest])
    assert made.word_ids == ([0] if STOPS_EARLY else made.ids)


def test_a_normalizer_that_is_set_later() -> None:
    made = tokenizers.Tokenizer.from_buffer(file("Hello", normalizer=None))
    made.normalizer = tokenizers.normalizers.Lowercase()
    assert made.encode("a HELLO").ids == ([0, 2] if IS_0_22 else [0, 3])


def test_copies_of_streams() -> None:
    stream = tokenizers.decoders.DecodeStream([], False)
    if IS_0_22:
        with pytest.raises(TypeError):
            copy.copy(stream)
    else:
        assert copy.copy(stream) is not stream


def test_an_added_token_that_the_normalizer_makes_empty() -> None:
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    library = HFBackend(file(" ", normalizer=strip))
    if VERSION == "0.23.1":
        with pytest.raises(InvalidFile, match=r"tokenizers 0\.23\.1 does not load it"):
            library.load()
    else:
        assert library.encode("a b", None, True).ids == [0, 1]


@pytest.mark.parametrize(
    ("known", "ids", "old"),
    [("a", [0, 2, 2], [0, 2, 3]), ("b", [0, 2], [0, 2, 2])],
)
def test_two_added_tokens_of_one_id(known: str, ids: list[int], old: list[int]) -> None:
    model = {"type": "BPE", "vocab": {"x": 0, known: 2}, "merges": []}
    added = [{"id": 2, "content": name, "normalized": False, **FLAGS} for name in ("a", "b")]
    plain = {"normalizer": None, "pre_tokenizer": None}
    library = tokenizers.Tokenizer.from_buffer(file(model=model, added_tokens=added, **plain))
    is_old = VERSION in ("0.22.0", "0.22.1") or (IS_0_22 and known == "b")
    assert library.encode("xab").ids == (old if is_old else ids)


def test_the_size_of_a_vocabulary_with_a_piece_that_is_listed_twice() -> None:
    pieces = [["<unk>", 0], ["a", -1], ["b", -2], ["a", -3]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces}
    data = file(model=model, normalizer=None, pre_tokenizer=None)
    counts_once = IS_0_22 or VERSION == "0.23.1"
    library = HFBackend(data)
    assert (library.vocab_size(False), library.vocab_size(True)) == (4, 3 if counts_once else 4)
    core = CoreBackend.load(data, build=None, source="x", options=b"")
    assert (core.vocab_size(False), core.vocab_size(True)) == (4, 4)
