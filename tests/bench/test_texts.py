"""Texts are fresh, of the size that was asked for, and the same again with the same seed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pywasmtok.bench.inputs.hostile import HOSTILE, hostile_text, turned
from pywasmtok.bench.inputs.texts import Coiner, Tape, write
from pywasmtok.errors import InvalidArgument


@pytest.mark.parametrize("corpus", ["zhja", "mixed"])
def test_text_is_fresh_sized_and_repeatable(corpus: str) -> None:
    tape, again = Tape(corpus, 1), Tape(corpus, 1)
    texts = [tape.take(2_000) for _ in range(200)]
    assert len(set(texts)) == len(texts)
    assert all(1_997 <= len(text.encode()) <= 2_000 for text in texts)
    assert [again.take(2_000) for _ in range(200)] == texts
    assert Tape(corpus, 2).take(2_000) != texts[0]


def test_text_keeps_bringing_words_that_were_never_seen() -> None:
    tape = Tape("mixed", 1)
    seen = set(tape.take(300_000).split())
    later = tape.take(300_000).split()
    unseen = sum(word not in seen for word in later)
    assert 0.005 < unseen / len(later) < 0.2


def test_coined_words_look_like_the_given_ones() -> None:
    coiner = Coiner(["banana", "bandana"], random.Random(1))
    words = {coiner.word() for _ in range(100)}
    assert len(words) > 2
    assert set("".join(words)) <= set("bandana")


def test_text_that_is_ready_comes_first_and_other_text_after_it(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write("mixed", 1, 5_000, path)
    ready = path.read_bytes().decode()
    tape = Tape("generated mixed", 1, path)
    text = tape.take(8_000)
    assert text.startswith(ready)
    assert text[len(ready) :] not in ready
    assert not Tape("mixed", 1).take(3_000).startswith(ready[:100])


def test_no_part_of_a_users_text_is_used_twice(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("ab" * 500, encoding="utf-8")
    tape = Tape("code", 1, path)  # nothing is made of it, though the bench can make code
    assert tape.take(600) + tape.take(400) == "ab" * 500
    with pytest.raises(InvalidArgument, match="0 bytes left of the 1 that are next"):
        tape.take(1)


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_have_their_size(kind: str) -> None:
    for size in (64, 1_000, 65_536):
        text = hostile_text(kind, size, 1)
        assert size - 3 <= len(text.encode()) <= size
        assert text == hostile_text(kind, size, 1)


def test_hostile_texts_are_what_they_are_called() -> None:
    assert hostile_text("one letter", 5, 1) == "aaaaa"
    assert hostile_text("=-", 5, 1) == "=-=-="
    assert set(hostile_text("digits", 999, 1)) == set("0123456789")
    assert not any(char.isspace() for char in hostile_text("base64", 9_999, 1))
    assert hostile_text("joined emoji", 9_999, 1).count("\u200d") > 500


@pytest.mark.parametrize("kind", HOSTILE)
def test_turned_texts_are_others_of_the_same_kind(kind: str) -> None:
    text = hostile_text(kind, 64 << 10, 1)
    texts = [turned(text, times) for times in range(9)]
    assert texts[0] == text
    assert len(set(texts)) == 9
    for times, other in enumerate(texts):
        assert len(other) == len(text) - times
        assert set(other) <= set(text)
