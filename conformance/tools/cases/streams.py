"""Streams: by hand where the literature has failed, and as an invariant of random ids."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..probes import PROBES
from ..references import GgufLlama3, HuggingFace, Ids, Reference, bytes_of_tokens, subjects
from . import Case, Group

# Byte-level, and byte fallback.
LONG_FOR = ("bpe-gpt2", "bpe-metaspace-first")
SETTLED = ("invalid", "genuine-replacement", "broken-off", "overlong", "surrogate")
RULE = {"oracle": "derived: what no further id can change goes out at once"}


def groups() -> Iterator[Group]:
    yield _byte_level()
    yield _byte_runs()
    yield _skipped()
    yield _cleaned()
    for subject in subjects("stream"):
        if subject.reference.decode([], skip_special=True) is not None:
            yield _random(subject.name)
            yield _prompts(subject.name)


def steps(ids: Ids, said: list[str], flush: str) -> list[Case]:
    """One id a step."""
    assert len(ids) == len(said)
    made: list[Case] = [
        {"push": [n], "expect": {"text": text}} for n, text in zip(ids, said, strict=True)
    ]
    return [*made, {"flush": True, "expect": {"text": flush}}]


class Bytes:
    """Ids of bytes and of short texts in a byte-level file."""

    def __init__(self, name: str, reference: HuggingFace | None = None) -> None:
        self.reference = reference or HuggingFace.of(name)
        self.ids = {data: n for n, data in bytes_of_tokens(self.reference.document).items()}

    def __call__(self, *parts: str | int) -> Ids:
        return [self.ids[bytes([p]) if isinstance(p, int) else p.encode()] for p in parts]


def _byte_level() -> Group:
    ids = Bytes("bpe-gpt2")
    about = "Bytes that come one by one."
    group = Group("stream", "bytes", about, ["S-1", "S-3"], RULE, "bpe-gpt2")

    def add(slug: str, why: str, prompt: Ids, pushed: Ids, said: list[str], flush: str) -> None:
        clauses = {"spec": ["S-3", "S-5"]} if slug in SETTLED else {}
        group.add(slug, why, "stream", **clauses, prompt=prompt, steps=steps(pushed, said, flush))

    add("word", "whole characters go out at once", [], ids("a", "b"), ["a", "b"], "")
    add(
        *("bom", "a byte order mark in front is a character like others"),
        *(
            [],
            ids(0xEF, 0xBB, 0xBF, "a", 0xEF, 0xBB, 0xBF),
            ["", "", "\ufeff", "a", "", "", "\ufeff"],
            "",
        ),
    )
    add(
        *("emoji", "a character of four bytes goes out with its last"),
        *([], ids(0xF0, 0x9F, 0x8C, 0xB6), ["", "", "", "\U0001f336"], ""),
    )
    add(
        *("prompt-inside-a-character", "the first bytes of a character are the prompt's"),
        *(ids("a", 0xF0, 0x9F), ids(0x8C, 0xB6), ["", "\U0001f336"], ""),
    )
    add(
        *("lead-byte-in-prompt", "a character of two bytes, one on either side"),
        *(ids("a", 0xC3), ids(0xA9, "b", "c"), ["\u00e9", "b", "c"], ""),
    )
    add(
        *("lead-byte-alone-in-prompt", "nothing but the first byte of a character"),
        *(ids(0xE2), ids(0x82, 0xAC, "x"), ["", "\u20ac", "x"], ""),
    )
    add("ends-inside", "an end inside a character", [], ids("a", 0xC3), ["a", ""], "\ufffd")
    add(
        *("invalid", "bytes that belong to no character"),
        *([], ids(0x80, 0x80, 0x80, "a"), ["\ufffd", "\ufffd", "\ufffd", "a"], ""),
    )
    add(
        *("broken-off", "a character that another one breaks off"),
        *([], ids(0xE4, 0xBD, "a"), ["", "", "\ufffda"], ""),
    )
    add(
        *("broken-by-lead", "a lead byte behind an unfinished character"),
        *([], ids(0xF0, 0x9F, 0xE4, 0xBD, 0xA0), ["", "", "\ufffd", "", "\u4f60"], ""),
    )
    add(
        *("genuine-replacement", "U+FFFD that was written is no sign of something unfinished"),
        *([], ids("x", 0xEF, 0xBF, 0xBD, "y"), ["x", "", "", "\ufffd", "y"], ""),
    )
    add(
        *("overlong", "a form that is longer than allowed"),
        *([], ids(0xC3, "(", "a"), ["", "\ufffd(", "a"], ""),
    )
    add(
        *("surrogate", "the bytes of half a pair"),
        *([], ids(0xED, 0xA0, 0x80), ["", "\ufffd\ufffd", "\ufffd"], ""),
    )
    cut = steps(ids("a", 0xC3), ["a", ""], "\ufffd")
    group.add(
        *("flush-twice", "a second flush has nothing more", "stream"),
        spec=["S-6"],
        prompt=[],
        steps=[*cut, {"flush": True, "expect": {"text": ""}}],
    )
    many = ids("a", 0xF0, 0x9F, 0x8C, 0xB6, "b", 0xC3)
    group.add(
        *("all-at-once", "one push of everything", "stream"),
        prompt=[],
        steps=[
            {"push": many, "expect": {"text": "a\U0001f336b"}},
            {"flush": True, "expect": {"text": "\ufffd"}},
        ],
    )
    return group


def _byte_runs() -> Group:
    """Byte tokens between pieces: a run becomes text as a whole, or not at all."""
    name = "bpe-metaspace-first"
    vocabulary = HuggingFace.of(name).document["model"]["vocab"]
    byte = lambda *values: [vocabulary[f"<0x{value:02X}>"] for value in values]  # noqa: E731
    x = [vocabulary["x"]]
    spaced = [vocabulary["\u2581x"]] if "\u2581x" in vocabulary else [vocabulary["\u2581a"]]
    letter = "x" if "\u2581x" in vocabulary else "a"
    about = "Runs of byte tokens, and the space in front of a first word."
    group = Group("stream", "byte-runs", about, ["S-1", "S-3"], RULE, name)

    def add(slug: str, why: str, prompt: Ids, pushed: Ids, said: list[str], flush: str) -> None:
        group.add(slug, why, "stream", prompt=prompt, steps=steps(pushed, said, flush))

    add(
        *("closes", "a run that is text goes out when it ends"),
        *([], [*x, *byte(0xE4, 0xBD, 0xA0), *x], ["x", "", "", "", "\u4f60x"], ""),
    )
    add("ends", "a run at the end", [], byte(0xE4, 0xBD, 0xA0), ["", "", ""], "\u4f60")
    add(
        *("turns-invalid", "a run that becomes invalid is one U+FFFD for each of its bytes"),
        *([], [*x, *byte(0xE4, 0xBD, 0xA0, 0xFF), *x], ["x", "", "", "", "\ufffd" * 4, "x"], ""),
    )
    add(
        *("unfinished", "a run that ends inside a character"),
        *([], [*byte(0xE4, 0xBD), *x], ["", "", "\ufffd\ufffdx"], ""),
    )
    add("first-space", "the space in front of the first word", [], spaced, [letter], "")
    add(
        *("later-space", "a word behind a prompt keeps its space"),
        *(spaced, spaced, [f" {letter}"], ""),
    )
    add(
        "first-byte-space", "a byte that is a space, in front", [], [*byte(0x20), *x], ["", "x"], ""
    )
    group.add(
        *(
            "eager",
            "each character when it is complete, and one U+FFFD for each other byte",
            "stream",
        ),
        spec=["S-3"],
        requires=["byte_runs:eager"],
        prompt=[],
        options={"byte_runs": "eager"},
        steps=steps(
            [*x, *byte(0xE4, 0xBD, 0xA0, 0xFF), *x], ["x", "", "", "\u4f60", "\ufffd", "x"], ""
        ),
    )
    return group


def _skipped() -> Group:
    ids = Bytes("bpe-gpt2")
    (end,) = [t["id"] for t in ids.reference.document["added_tokens"]]
    about = "Special tokens that are left out, and what stands on both sides of them."
    group = Group("stream", "skipped", about, ["S-1"], RULE, "bpe-gpt2")
    halves = [*ids(0xC3), end, *ids(0xA9)]
    group.add(
        *("between-bytes", "a character with a token that is left out inside", "stream"),
        prompt=[],
        steps=steps(halves, ["", "", "\u00e9"], ""),
    )
    group.add(
        *("shown-between-bytes", "a character that a shown token breaks off", "stream"),
        prompt=[],
        options={"skip_special": False},
        steps=steps(halves, ["", "\ufffd<|end|>", "\ufffd"], ""),
    )
    group.add(
        *("unknown-id-behind", "an error behind an id of the same step changes nothing", "stream"),
        since="1.3",
        spec=["S-7", "R-2"],
        requires=["unknown:error"],
        prompt=[],
        options={"unknown": "error"},
        steps=[
            {"push": ids("a", 0xC3), "expect": {"text": "a"}},
            {"push": [*ids(0xA9), 123456], "expect": {"error": {"code": ["invalid_token"]}}},
            {"push": ids(0xA9), "expect": {"text": "\u00e9"}},
        ],
    )
    group.add(
        *("unknown-id", "an error changes nothing: the next id goes on", "stream"),
        spec=["S-7", "R-2"],
        requires=["unknown:error"],
        prompt=[],
        options={"unknown": "error"},
        steps=[
            {"push": ids(0xC3), "expect": {"text": ""}},
            {"push": [123456], "expect": {"error": {"code": ["invalid_token"]}}},
            {"push": ids(0xA9), "expect": {"text": "\u00e9"}},
        ],
    )
    return group


def _cleaned() -> Group:
    """llama.cpp removes spaces: what waits for the next byte is a space and little behind it."""
    name = "gguf-llama3"
    ids = Bytes(name, GgufLlama3())
    about = "Spaces that the clean-up of llama.cpp takes out while ids come one by one."
    group = Group("stream", "cleaned", about, ["S-1", "S-3"], RULE, name)

    def add(slug: str, why: str, prompt: Ids, pushed: Ids, said: list[str], flush: str) -> None:
        steps_made = steps(pushed, said, flush)
        group.add(slug, why, "stream", since="1.2", prompt=prompt, steps=steps_made)

    add("words", "a space waits for one byte", [], ids(*"a b"), ["a", "", " b"], "")
    add("closing", "a space before closing punctuation", [], ids(*"a ."), ["a", "", "."], "")
    add("at-the-end", "a space at the end stays", [], ids(*"a "), ["a", ""], " ")
    add("lone-quote", "both spaces around a quote", [], ids(*"a ' b"), ["a", "", "", "", "'b"], "")
    add("contraction", "a space before 's", [], ids(*"a 's"), ["a", "", "", "'s"], "")
    add(
        *("contraction-of-two", "a space before 're", []),
        *(ids(*"a 're"), ["a", "", "", "", "'re"], ""),
    )
    add(
        *("no-contraction", "a quote and a letter that begin none", []),
        *(ids(*"a 'rb"), ["a", "", "", "", " 'rb"], ""),
    )
    add("prompt-ends-in-a-space", "the space is the prompt's", ids(*"a "), ids("b"), ["b"], "")
    add("prompt-loses-its-space", "the space has gone", ids(*"a "), ids("!", "b"), ["!", "b"], "")
    add(
        *("prompt-inside-a-character", "the first byte of a character is the prompt's"),
        *(ids("H", "i", 0xC3), ids(0xA9, "!"), ["\u00e9", "!"], ""),
    )
    return group


def _random(name: str) -> Group:
    about = f"Streams of {name} equal its batch decoding, however the ids are cut."
    group = Group("stream", name, about, ["S-1", "S-2"], {"oracle": "invariant"}, name)
    subject = next(one for one in subjects() if one.name == name)
    dice = random.Random(f"stream {name}")
    size = subject.reference.size() or 600
    for number in range(subject.lists // 2):
        ends = [*range(min(size, 24)), *range(max(0, size - 6), size)]
        ids = [
            dice.choice(ends) if dice.random() < 0.4 else dice.randrange(1, size)
            for _ in range(dice.randrange(2, 12))
        ]
        group.add(
            *(f"n{number}", "ids in no order that a text has, in parts of all sizes", "invariant"),
            **subject.load_options,
            invariant="stream_equals_decode",
            ids=ids,
            options={"skip_special": number % 2 == 0, "unknown": "skip"},
            requires=["unknown:skip"],
        )
    for probe in PROBES:
        if probe.slug in ("emoji-zwj", "sentence", "han-rare", "leading-spaces", "replacement"):
            ids = subject.reference.encode(probe.text) or []
            group.add(
                *(probe.slug, f"a text in parts of all sizes: {probe.why}", "invariant"),
                **subject.load_options,
                invariant="stream_equals_decode",
                ids=ids,
                options={"skip_special": True},
            )
    if name in LONG_FOR:
        text = " ".join(probe.text for probe in PROBES)
        group.add(
            *("long", "three hundred ids, in parts of all sizes", "invariant"),
            since="1.3",
            invariant="stream_equals_decode",
            ids=(subject.reference.encode(text) or [])[:300],
            options={"skip_special": True},
        )
    return group


def _prompts(name: str) -> Group:
    """Behind a prompt: the rest of the text, where the text of the prompt is a beginning of it."""
    subject = next(one for one in subjects() if one.name == name)
    reference = subject.reference
    about = f"What {name} says behind a prompt."
    group = Group("stream", f"{name}-prompts", about, ["S-1", "S-4"], subject.origin, name)
    most = 6 if subject.is_main else 3
    for probe in subject.probes:
        if probe.slug not in ("words", "accents", "leading-spaces", "kana", "emoji", "code"):
            continue
        ids = reference.encode(probe.text) or []
        whole = reference.decode(ids, skip_special=True) or ""
        for at in range(1, min(len(ids), most)):
            before = reference.decode(ids[:at], skip_special=True) or ""
            if before.endswith("\ufffd") or not whole.startswith(before):
                continue
            pushed: list[Case] = [{"push": ids[at:]}, {"flush": True}]
            group.add(
                *(f"{probe.slug}-{at}", f"{probe.why}: {at} ids are the prompt's", "stream"),
                **subject.load_options,
                prompt=ids[:at],
                steps=pushed,
                expect={"text": whole[len(before) :]},
            )
        for at in _inside(reference, ids, whole)[:2]:
            begun = (reference.decode(ids[:at], skip_special=True) or "").rstrip("\ufffd")
            why = f"{probe.why}: {at} ids are the prompt's, which ends inside a character"
            group.add(
                *(f"{probe.slug}-{at}-inside", why, "stream"),
                **subject.load_options,
                since="1.2",
                prompt=ids[:at],
                steps=[{"push": ids[at:]}, {"flush": True}],
                expect={"text": whole[len(begun) :]},
            )
    return group


def _inside(reference: Reference, ids: Ids, whole: str) -> list[int]:
    """Where the ids can be cut inside a character, whose last byte then is generated."""
    befores = [
        (at, reference.decode(ids[:at], skip_special=True) or "") for at in range(1, len(ids))
    ]
    return [
        at
        for at, before in befores
        if before.endswith("\ufffd")
        and "\ufffd" not in whole
        and whole.startswith(before.rstrip("\ufffd"))
    ]
