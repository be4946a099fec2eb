"""Tokenizers that nobody ships, side by side with the reference.

Their number is an eighth of PYWASMTOK_RANDOM (1000).
"""

from __future__ import annotations

import os
import random

import nasty
import pytest
import random_files
import small
from sidebyside import difference

from pywasmtok import Tokenizer, errors
from pywasmtok.backends.hf import HFBackend
from pywasmtok.factory import from_recipe
from pywasmtok.tokenizer import Options, Recipe

CHUNK = 25
FILES = max(CHUNK, int(os.environ.get("PYWASMTOK_RANDOM", "1000")) // 8)


@pytest.mark.parametrize("first", range(0, FILES, CHUNK))
def test_random_files(first: int) -> None:
    served = sum(compare(seed) for seed in range(first, first + CHUNK))
    assert served > CHUNK // 2


def compare(seed: int) -> bool:
    """Whether there was something to compare."""
    data = random_files.Maker(seed).file()
    hf = HFBackend(data)
    try:
        hf.load()
    except errors.TokenizerError:
        with pytest.raises(errors.TokenizerError):
            load(data)
        return False
    try:
        tok = load(data)
    except errors.Unsupported:
        # Refused by name: HuggingFace serves it.
        return False
    dice = random.Random(seed)
    for _ in range(12):
        compare_text(tok, hf, random_files.text(dice), seed)
    return True


def compare_text(tok: Tokenizer, hf: HFBackend, text: str, seed: int) -> None:
    def differs(text: str) -> bool:
        try:
            theirs = hf.encode(text, None, True)
        except errors.BackendFailure:
            # Some pipelines make the reference panic: nothing to be equal to.
            return False
        return bool(difference(tok.encode(text), theirs))

    if differs(text):
        text = nasty.shrink(text, differs)
        found = difference(tok.encode(text), hf.encode(text, None, True))
        assert found == {}, (seed, ascii(text))

    try:
        ids = hf.encode(text, None, True).ids
        plain = [hf.decode(ids, skip) for skip in (True, False)]
    except errors.BackendFailure:
        return
    assert [tok.decode(ids, skip) for skip in (True, False)] == plain, (seed, ascii(text))


def load(data: bytes) -> Tokenizer:
    return from_recipe(Recipe(data, "a random file", Options("core", "core", None, False)))


def characters(**model: object) -> bytes:
    """Few characters, no pre-tokenizer, no unknown token."""
    vocab = {text: number for number, text in enumerate(["a", "b", "c", "ab", "abc"])}
    return random_files.plain(
        {"type": "BPE", "vocab": vocab, "merges": [["a", "b"], ["ab", "c"]], **model}
    )


@pytest.mark.parametrize("text", ["ab c", "a b", "xaxbxcx", "  "])
@pytest.mark.parametrize("unknown", [None, "a", "c"])
def test_neighbours_of_an_unknown_character_meet(text: str, unknown: str | None) -> None:
    data = characters(unk_token=unknown)
    compare_text(load(data), HFBackend(data), text, 0)


@pytest.mark.parametrize("text", ["a1", "中", "2#a"])
@pytest.mark.parametrize(
    "step",
    [
        {"type": "Prepend", "prepend": ""},
        {"type": "Replace", "pattern": {"String": ""}, "content": "-"},
        {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"},
    ],
    ids=["nothing prepended", "every gap", "every gap by regex"],
)
def test_what_comes_to_stand_before_the_first_character(text: str, step: dict[str, object]) -> None:
    data = small.file(normalizer=step)
    compare_text(load(data), HFBackend(data), text, 0)


def truncated(special: int, **model: object) -> bytes:
    """At most four ids, of which the post-processor adds so many."""
    piece = {"SpecialToken": {"id": "x", "type_id": 0}}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    return small.file(
        truncation={"direction": "Right", "max_length": 4, "strategy": "OnlyFirst", "stride": 0},
        pre_tokenizer={"type": "WhitespaceSplit"},
        post_processor={
            "type": "TemplateProcessing",
            "single": [sequence, piece],
            "pair": [sequence],
            "special_tokens": {"x": {"id": "x", "ids": [0] * special, "tokens": ["x"] * special}},
        },
        model={"type": "WordLevel", "vocab": {"b": 0}, "unk_token": "?", **model},
        added_tokens=[],
    )


@pytest.mark.parametrize("special", [1, 4, 5])
def test_what_truncation_will_cut_is_encoded_first(special: int) -> None:
    # The reference takes no shortcut: a limit that special tokens exceed is none, and what lies
    # behind the limit may still be an error.
    data = truncated(special)
    compare_text(load(data), HFBackend(data), "b " * 9, 0)
    for backend in (HFBackend(data), load(data)):
        with pytest.raises(errors.TokenizerError):
            backend.encode("b " * 9 + "unknown", None, True)
