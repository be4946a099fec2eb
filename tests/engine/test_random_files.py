"""Tokenizers that nobody ships, side by side with the reference.

Their number is an eighth of PYWASMTOK_RANDOM (1000).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random

import nasty
import pytest
import random_files
import small
import tokenizers
from sidebyside import difference
from versions import IS_0_22

from pywasmtok import Tokenizer, errors
from pywasmtok.backends.hf import HFBackend
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

CHUNK = 25
TEXTS = 12
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
    texts = [random_files.text(dice) for _ in range(TEXTS)]
    for text in texts:
        compare_text(tok, hf, text, seed)
    compare_other_ways(tok, hf, texts, seed)
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

    if IS_0_22:
        return
    try:
        ids = hf.encode(text, None, True).ids
        plain = [hf.decode(ids, skip) for skip in (True, False)]
    except errors.BackendFailure:
        return
    assert [tok.decode(ids, skip) for skip in (True, False)] == plain, (seed, ascii(text))


def compare_other_ways(tok: Tokenizer, hf: HFBackend, texts: list[str], seed: int) -> None:
    """Pairs, batches, counts and segments, for the texts that the reference has an answer for."""
    plain: dict[str, list[int]] = {}
    for text in texts:
        with contextlib.suppress(errors.BackendFailure):
            plain[text] = hf.encode(text, None, False).ids
    for text, ids in plain.items():
        where = (seed, ascii(text))
        assert tok.encode(text, add_special_tokens=False).ids == ids, where
        assert tok.count(text, add_special_tokens=False) == len(ids), where
        middle = len(text) // 2
        segments = [(text[:middle], True), (text[middle:], True)]
        with contextlib.suppress(errors.Unsupported):
            assert tok.encode_segments(segments, False).ids == ids, where
    if plain:
        with contextlib.suppress(errors.Unsupported):
            batch = tok.encode_batch(list(plain), False)
            theirs = hf.encode_batch(list(plain), False)
            assert batch.ids == theirs.ids, seed
    for text, pair in itertools.pairwise(plain):
        try:
            expected = hf.encode(text, pair, True)
        except errors.BackendFailure:
            continue
        found = difference(tok.encode(text, pair), expected)
        assert found == {}, (seed, ascii(text), ascii(pair))


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


FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}


@pytest.mark.skipif(IS_0_22, reason="tokenizers 0.22 finds other tokens there: docs/versions.md")
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("normalized", [*itertools.product([True, False], repeat=2)])
def test_two_added_tokens_of_one_id(normalized: tuple[bool, bool], lowercase: bool) -> None:
    text = "xHahAbBx"
    for contents in itertools.permutations("hHaAbB", 2):
        added = [
            {"id": 2, "content": content, "normalized": each, **FLAGS}
            for content, each in zip(contents, normalized, strict=True)
        ]
        for known in contents:
            model = {"type": "BPE", "vocab": {"x": 0, known: 2}, "merges": []}
            whole = json.loads(random_files.plain(model))
            whole["added_tokens"] = added
            whole["normalizer"] = {"type": "Lowercase"} if lowercase else None
            data = json.dumps(whole).encode()
            tok, hf = load(data), tokenizers.Tokenizer.from_str(data.decode())
            assert difference(tok.encode(text), hf.encode(text)) == {}, data
            assert tok.decode([2]) == hf.decode([2]), data
            assert tok.id_to_token(2) == hf.id_to_token(2), data


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
