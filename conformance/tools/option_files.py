"""Files for one option each: truncation, padding, and pieces that are taken whole."""

from __future__ import annotations

from .hf_files import (
    FILES,
    Document,
    characters,
    file,
    metaspace,
    split,
    template,
    word_level,
    written,
)
from .other_files import Files, made

__all__ = ["EMPTIED", "FILES", "MOVED", "TRUNCATED_OR_PADDED"]

NAMES = ("<s>", "</s>", "<pad>")


def _document(*words: str) -> Document:
    """A token for each character, and a template whose type ids tell the parts of a pair apart."""
    document = characters(*NAMES, *words)
    ids = {name: document["model"]["vocab"][name] for name in NAMES}
    document["post_processor"] = template(
        {name: ids[name] for name in NAMES[:2]},
        single=("<s>", "A", "</s>"),
        pair=("<s>", "A", "</s>", "B", "</s>"),
    )
    return document


def _truncation(length: int, direction: str, strategy: str, stride: int = 0) -> Document:
    return {
        "direction": direction,
        "max_length": length,
        "strategy": strategy,
        "stride": stride,
    }


def _padding(
    document: Document, strategy: object, direction: str, multiple: int | None, type_id: int
) -> Document:
    return {
        "strategy": strategy,
        "direction": direction,
        "pad_to_multiple_of": multiple,
        "pad_id": document["model"]["vocab"]["<pad>"],
        "pad_type_id": type_id,
        "pad_token": "<pad>",
    }


def _truncated(name: str, about: str, *words: object) -> str:
    @file(name, about)
    def make() -> Document:
        document = _document()
        document["truncation"] = _truncation(*words)  # type: ignore[arg-type]
        return document

    return name


def _padded(name: str, about: str, *words: object, truncation: Document | None = None) -> str:
    @file(name, about)
    def make() -> Document:
        document = _document()
        document["padding"] = _padding(document, *words)  # type: ignore[arg-type]
        document["truncation"] = truncation
        return document

    return name


TRUNCATED_OR_PADDED = (
    _truncated(
        *("truncate-left", "the beginning is cut off, of the longer text of a pair first"),
        *(9, "Left", "LongestFirst", 2),
    ),
    _truncated(
        *("truncate-longest-first", "the end is cut off, of the longer text of a pair first"),
        *(9, "Right", "LongestFirst"),
    ),
    _truncated(
        *("truncate-only-first", "only the first text of a pair is cut"),
        *(12, "Right", "OnlyFirst"),
    ),
    _truncated(
        *("truncate-only-second-left", "only the second text of a pair is cut, at its beginning"),
        *(12, "Left", "OnlySecond"),
    ),
    _padded(
        *("pad-multiple", "padded behind, to a multiple of eight that the longest text needs"),
        *("BatchLongest", "Right", 8, 3),
    ),
    _padded(
        *("pad-fixed-multiple-left", "padded in front to ten, rounded up to a multiple of four"),
        *({"Fixed": 10}, "Left", 4, 1),
    ),
    _padded(
        *("pad-truncate-left", "cut and padded in front"),
        *({"Fixed": 8}, "Left", None, 0),
        truncation=_truncation(8, "Left", "LongestFirst"),
    ),
)


@file("bpe-ignore-merges", "pieces that are tokens stay whole although no merge makes them")
def _ignore_merges() -> Document:
    document = characters("cat", "\u00e9t\u00e9", "12")
    document["model"]["ignore_merges"] = True
    document["pre_tokenizer"] = split(r"\s|\d+")
    return document


STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}


@file("metaspace-first-stripped", "a blank for the first piece, behind a normalizer that moves it")
def _first_stripped() -> Document:
    document = characters("\u2581the")
    document["normalizer"] = STRIP
    document["pre_tokenizer"] = metaspace("first", split=False)
    return document


@file("wordlevel-stripped", "whole texts, which the normalizer may empty")
def _word_stripped() -> Document:
    document = word_level()
    document["normalizer"] = STRIP
    document["pre_tokenizer"] = None
    return document


@file("added-id-moved", "an added token whose stated id is not the next one")
def _added_moved() -> Document:
    document = characters()
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document["added_tokens"] = [{"id": 5000, "content": "<moved>", "special": True, **flags}]
    return document


@made(
    *("vocab-twice", "tokenizer.json", "tokenizer.json"),
    "a key that stands twice in the vocabulary: the second id counts",
)
def _vocab_twice() -> Files:
    document = characters()
    first = document["model"]["vocab"]["a"]
    entry = f'"a":{first},'.encode()
    data = written(document)
    assert data.count(entry) == 1
    again = f"{len(document['model']['vocab'])},".encode()
    return {"tokenizer.json": data.replace(entry, entry + b'"a":' + again)}


MOVED = ("metaspace-first-stripped", "added-id-moved", "vocab-twice")
EMPTIED = ("wordlevel-stripped",)
