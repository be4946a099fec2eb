"""What a file may ask for beside its model: truncation, padding, whole pieces, lengths of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..option_files import EMPTIED, MOVED, TRUNCATED_OR_PADDED
from ..probes import PROBES
from ..references import HuggingFace, Subject, subjects
from . import Group

SINCE = "1.2"
DETAILS = ["offsets", "tokens", "type_ids", "attention_mask"]
# Every character is a token: these end before, at and behind each length that the files name.
LENGTHS = (0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17)
TEXTS = tuple("the cat sat on the mat"[:length] for length in LENGTHS)
PAIRS = (
    *(("the cat", "sat"), ("the", "cat sat on"), ("the cat sat on", "the mat it saw")),
    *(("the cat sat on", ""), ("", "the cat sat on"), ("", ""), ("abcd", "efgh")),
)
TYPED = ("wordpiece-uncased", "wordpiece-cased", "bpe-roberta", "truncated-padded")
WHOLE = (
    "cat",
    "the cat",
    "\u00e9t\u00e9",
    "12",
    "123",
    "112",
    "cats",
    "concat cat",
    "cat12\u00e9t\u00e9",
)
# The longest word that `wordpiece-cased` takes apart has twelve characters.
WORDS = tuple(
    (f"{name}-{length}", letter * length, f"{length} times {letter!a}")
    for name, letter in (
        ("ascii", "a"),
        ("accent", "\u00e9"),
        ("mark", "e\u0301"),
        ("emoji", "\U0001f600"),
    )
    for length in (5, 6, 7, 11, 12, 13)
)
BATCHES = (17, 33, 64)


def groups() -> Iterator[Group]:
    for name in TRUNCATED_OR_PADDED:
        yield _cut_or_filled(name)
    for name in TYPED:
        yield _typed(name)
    yield _padded_batch()
    yield _whole()
    yield _words()
    for name in (*MOVED, *EMPTIED):
        yield _edges(name)
    for subject in subjects("shape"):
        if subject.is_main:
            yield _batches(subject)


def details(reference: HuggingFace, *texts: str, special: bool) -> dict[str, Any] | None:
    """None where the reference says that the texts cannot be cut to the length."""
    try:
        encoding = reference.tokenizer.encode(*texts, add_special_tokens=special)
    except Exception:
        return None
    return {
        "ids": encoding.ids,
        "offsets": [list(pair) for pair in encoding.offsets],
        "tokens": encoding.tokens,
        "type_ids": encoding.type_ids,
        "attention_mask": encoding.attention_mask,
    }


def _asked(group: Group, slug: str, why: str, reference: HuggingFace, *texts: str) -> None:
    """With what the post-processor adds, and without it."""
    for special in (True, False):
        expect = details(reference, *texts, special=special)
        if expect is None:
            continue
        group.add(
            *(slug if special else f"{slug}-plain", why, "encode"),
            since=SINCE,
            input={"text": texts[0]},
            **({"pair": {"text": texts[1]}} if len(texts) > 1 else {}),
            options={"add_special": special},
            want=DETAILS,
            expect=expect,
        )


def _hf_group(name: str, group: str, about: str, clauses: list[str]) -> tuple[Group, HuggingFace]:
    reference = HuggingFace.of(name)
    return Group("encode", group, about, clauses, {"oracle": reference.oracle}, name), reference


def _cut_or_filled(name: str) -> Group:
    about = f"Texts around the lengths that {name} asks for."
    group, reference = _hf_group(name, name, about, ["E-8", "E-11"])
    for length, text in zip(LENGTHS, TEXTS, strict=True):
        _asked(group, f"length-{length}", f"a text of {length} tokens", reference, text)
    for number, (first, second) in enumerate(PAIRS):
        why = f"a pair of {len(first)} and {len(second)} tokens"
        _asked(group, f"pair-{number}", why, reference, first, second)
    return group


def _typed(name: str) -> Group:
    about = f"Type ids and masks of {name}."
    group, reference = _hf_group(name, f"{name}-types", about, ["E-11"])
    for number, (first, second) in enumerate(PAIRS):
        if not number:
            _asked(group, "single", "one text", reference, first)
        _asked(group, f"pair-{number}", "which text a token is of", reference, first, second)
    return group


def _padded_batch() -> Group:
    name = "pad-multiple"
    reference = HuggingFace.of(name)
    about = "All texts of a batch are padded as the longest one needs."
    origin = {"oracle": reference.oracle}
    group = Group("batch", f"{name}-longest", about, ["E-8"], origin, name)
    group.add(
        *("lengths", "texts of many lengths in one batch", "encode_batch"),
        since=SINCE,
        requires=["fallback"],
        load_options={"fallback": "allow"},
        inputs=[{"text": text} for text in TEXTS],
        options={"add_special": True},
        expect={"ids": [one.ids for one in reference.tokenizer.encode_batch(list(TEXTS))]},
    )
    return group


def _whole() -> Group:
    name = "bpe-ignore-merges"
    about = "Pieces that are tokens, which no merge makes."
    group, reference = _hf_group(name, name, about, ["E-1", "E-4"])
    for text in WHOLE:
        group.add(
            *(ascii(text), f"a piece that is a token, or is nearly one: {text!a}", "encode"),
            since=SINCE,
            input={"text": text},
            options={"add_special": False},
            expect={"ids": reference.encode(text)},
        )
    return group


def _words() -> Group:
    about = "Words around the length beyond which a word is unknown, in characters."
    group, reference = _hf_group("wordpiece-cased", "word-lengths", about, ["E-1", "E-4"])
    for slug, text, why in WORDS:
        group.add(
            *(slug, why, "encode"),
            since=SINCE,
            input={"text": text},
            options={"add_special": False},
            want=["offsets", "tokens"],
            expect=reference.details(text),
        )
    return group


EDGES = ("", " ", " \n ", "the", " the", "\n\tthe cat ", " a", "cat  a", "<moved>", " <moved>a")


def _edges(name: str) -> Group:
    about = f"Where the file says one thing and texts begin or ids are another: {name}."
    group, reference = _hf_group(name, name, about, ["E-1", "E-3"])
    for number, text in enumerate(EDGES):
        group.add(
            *(f"text-{number}", f"a text at an edge of the file: {text!a}", "encode"),
            since=SINCE,
            input={"text": text},
            options={"add_special": False},
            want=["offsets", "tokens"],
            expect=reference.details(text),
        )
    size = reference.size()
    vocab = reference.document["model"]["vocab"]
    # The letter before "b" is "a", also where its key comes a second time with another id.
    for number in dict.fromkeys((vocab["a"], vocab.get("b", 1) - 1, 5000, size - 1, size)):
        group.add(
            *(f"token-{number}", "the token of an id", "id_to_token"),
            since=SINCE,
            spec=["V-2"],
            token_id=number,
            expect={"token": reference.token(number)},
        )
    for token in ("a", "<moved>"):
        group.add(
            *(f"id-{token}", "the id of a token", "token_to_id"),
            since=SINCE,
            spec=["V-2"],
            token=token,
            expect={"id": reference.identity(token)},
        )
    return group


def _batches(subject: Subject) -> Group:
    """Every third text is empty, the first and the last among them."""
    about = f"Batches of {subject.name} with more texts than one turn of any implementation."
    group = Group("batch", f"{subject.name}-many", about, ["B-1"], subject.origin, subject.name)
    some = [probe.text for probe in PROBES if 0 < len(probe.text) <= 24]
    for size in BATCHES:
        texts = ["" if n % 3 == 0 else some[(7 * n) % len(some)] for n in range(size)]
        ids = [subject.reference.encode(text) for text in texts]
        if any(one is None for one in ids):
            continue
        group.add(
            *(f"n{size}", f"{size} texts, empty ones between them", "encode_batch"),
            **subject.load_options,
            since=SINCE,
            inputs=[{"text": text} for text in texts],
            options={"add_special": False},
            expect={"ids": ids},
        )
    return group
