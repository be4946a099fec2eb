"""Checks of what callers give, before a backend or a server sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import InvalidArgument, InvalidText, TokenizerError

__all__ = [
    "Segment",
    "TextPair",
    "as_pair",
    "check_list",
    "check_text",
    "check_threads",
    "check_unknown",
    "is_pair",
    "items_of",
    "segments_of",
    "what_is_wrong_with",
]

TextPair = tuple[str, str]
Segment = tuple[str, bool]
"""A text, and whether it is trusted."""


def as_pair(item: str | TextPair) -> tuple[str, str | None]:
    """An item of a batch as `encode` takes it: a text and perhaps a second one."""
    return (item, None) if isinstance(item, str) else item


def is_pair(item: str | TextPair) -> bool:
    return not isinstance(item, str)


def check_text(*texts: object) -> None:
    """Refuses what is no text, before a backend finds out in its own way."""
    for text in texts:
        if not isinstance(text, str):
            raise InvalidArgument(f"a text must be str, not {type(text).__name__}")


def check_list(name: str, value: object) -> None:
    if not isinstance(value, Iterable):
        raise InvalidArgument(f"{name} is a list, not {type(value).__name__}")


def what_is_wrong_with(texts: Sequence[str | TextPair]) -> TokenizerError | None:
    """The error for the first text that has no UTF-8, if there is one."""
    for place, item in enumerate(texts):
        for text in (item,) if isinstance(item, str) else item:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                where = f" {place}" if len(texts) > 1 else ""
                return InvalidText(
                    f"text{where} holds the lone surrogate U+{ord(text[error.start]):04X}"
                    f" at character {error.start}",
                    offset=len(text[: error.start].encode()),
                    hint="text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace') "
                    "replaces such halves",
                )
    return None


def check_threads(threads: object) -> int | None:
    """None leaves it to the environment and the machine."""
    if threads is None:
        return None
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InvalidArgument(f"threads={threads!r} is neither None nor a number from 1 on")
    return threads


def check_unknown(unknown_id: str) -> str:
    if unknown_id not in ("skip", "error", "replace"):
        raise InvalidArgument(f"unknown_id={unknown_id!r} is none of skip, error, replace")
    return unknown_id


def segments_of(
    segments: Iterable[Segment], listed: Callable[[Iterable[Any]], list[Any]] = list
) -> list[Segment]:
    if isinstance(segments, str | bytes) or not isinstance(segments, Iterable):
        raise InvalidArgument(f"segments are (text, trusted) each, not {type(segments).__name__}")
    parts: list[Segment] = []
    for place, item in enumerate(listed(segments)):
        match item:
            case (str() as text, bool() as trusted):
                parts.append((text, trusted))
            case _:
                raise InvalidArgument(
                    f"segment {place} is not (text, trusted), a str and a bool",
                    hint="A mark that is forgotten must not count as trust",
                )
    return parts


def items_of(
    texts: Iterable[str | TextPair], listed: Callable[[Iterable[Any]], list[Any]] = list
) -> Sequence[str | TextPair]:
    """`listed` makes the list, within the bounds of a call where there are some."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InvalidArgument(
            f"a batch is an iterable of texts, not {type(texts).__name__}",
            hint="encode() takes a single text",
        )
    if not isinstance(texts, list):
        from .._utf8_texts import Utf8Texts

        if isinstance(texts, Utf8Texts):
            # Of these only the number is looked at.
            listed(range(len(texts)))
            return texts
    items = listed(texts)
    for place, item in enumerate(items):
        if isinstance(item, str):
            continue
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise InvalidArgument(
                f"item {place} is neither a text nor a pair of texts: {type(item).__name__}"
            )
        check_text(*item)
        items[place] = (item[0], item[1])
    return items
