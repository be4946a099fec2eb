"""Whose the parts of a rendered chat are, in characters and in tokens."""

from __future__ import annotations

import random

import pywasmtok
from pywasmtok.chat.contract import Origin, Rendered
from pywasmtok.chat.encode import encode_rendered
from pywasmtok.chat.origins import MessageSpan, message_spans, segments, token_ranges


def chat(*parts: tuple[str, int | None]) -> Rendered:
    """Text of the template (None) and of messages, by number."""
    text = ""
    origins: list[Origin] = []
    for part, message in parts:
        if message is not None:
            path = ("messages", message, "content")
            origins.append(Origin(len(text), len(text) + len(part), path))
        text += part
    return Rendered(text, origins=tuple(origins))


def test_segments_are_the_text_in_parts() -> None:
    rendered = chat(("a", None), ("b", 0), ("", 1), ("c", 1), ("d", None))
    assert segments(rendered) == [("a", True), ("b", False), ("c", False), ("d", True)]
    assert segments(Rendered("")) == [("", True)]
    assert segments(chat(("x", 0))) == [("x", False)]


def test_a_message_reaches_from_its_first_word_to_its_last() -> None:
    rendered = chat(("x", 1), ("..", None), ("y", 0), ("-", None), ("z", 1))
    offsets = [(at, at + 1) for at in range(len(rendered.text))]
    spans = message_spans(3, rendered.origins, offsets)
    assert spans[2] is None
    assert spans[:2] == (MessageSpan(0, 3, 4, 3, 4), MessageSpan(1, 0, 6, 0, 6))


def test_tokens_of_characters_are_those_that_have_one() -> None:
    rng = random.Random(3)
    for _ in range(500):
        at = 0
        offsets: list[tuple[int, int]] = []
        for _ in range(rng.randrange(8)):
            if rng.random() < 0.2:
                offsets.append((0, 0))
            if rng.random() < 0.2:
                at += 1
            size = rng.randrange(3)
            # Several tokens may share a character.
            offsets += [(at, at + size)] * rng.choice([1, 1, 1, 3])
            at += size
        start = rng.randrange(at + 2)
        end = start + rng.randrange(1, 4)
        expected = {
            place
            for place, (low, high) in enumerate(offsets)
            if low < high and low < end and high > start
        }
        first, behind = token_ranges(offsets)(start, end)
        if expected:
            assert (first, behind) == (min(expected), max(expected) + 1), (offsets, start, end)
        else:
            assert first == behind


def test_control_tokens_are_the_templates_alone() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    name = next(iter(tok.special_tokens))
    half, rest = name[:2], name[2:]
    rendered = chat(
        (name, None),
        ("hi " + name + half, 0),
        (rest, None),
        (half, None),
        (rest, 1),
        (name, None),
    )
    encoded = encode_rendered(tok, rendered, 2, "special")
    assert [tok.id_to_token(number) for number in encoded.ids].count(name) == 2
    assert encoded.defused == rendered.text.count(name) - 2 == 3
    assert encoded.assistant_mask == [0] * len(encoded)
    spans = [span for span in encoded.messages if span is not None]
    said = [rendered.text[span.start : span.end] for span in spans]
    assert said == ["hi " + name + half, rest]


def test_harmless_chats_have_the_ids_of_the_text() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    name = next(iter(tok.special_tokens))
    rendered = chat((name + "user\n", None), ("two words", 0), ("\n" + name, None), ("\n x", 1))
    encoded = encode_rendered(tok, rendered, 2, "added")
    assert encoded.ids == tok.encode(rendered.text, add_special_tokens=False).ids
    assert encoded.defused == 0
