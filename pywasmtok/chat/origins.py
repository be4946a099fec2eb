"""Whose each part of a rendered chat is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .contract import Origin, Rendered

__all__ = ["MessageSpan", "message_spans", "segments", "token_ranges"]


@dataclass(frozen=True, slots=True)
class MessageSpan:
    """From the first to the last that a message says in the text; the template's own words between
    are in it, its frame is not."""

    message: int
    start: int
    end: int
    token_start: int
    token_end: int


def segments(rendered: Rendered) -> list[tuple[str, bool]]:
    """The text in parts, each trusted (the template's) or not."""
    return list(_parts(rendered.text, rendered.origins))


def _parts(text: str, origins: Sequence[Origin]) -> Iterator[tuple[str, bool]]:
    at = 0
    for origin in origins:
        if at < origin.start:
            yield text[at : origin.start], True
        if origin.start < origin.end:
            yield text[origin.start : origin.end], False
        at = origin.end
    if at < len(text) or not text:
        yield text[at:], True


def token_ranges(offsets: Sequence[tuple[int, int]]) -> Callable[[int, int], tuple[int, int]]:
    """Which tokens have one of the characters `start` to `end`, as a half-open range."""
    # Tokens without characters are at (0, 0) wherever they stand: they take no part.
    places = [place for place, (low, high) in enumerate(offsets) if low < high]

    def tokens(start: int, end: int) -> tuple[int, int]:
        first = bisect_right(places, start, key=lambda place: offsets[place][1])
        behind = bisect_left(places, end, key=lambda place: offsets[place][0])
        if first < behind:
            return places[first], places[behind - 1] + 1
        at = places[first] if first < len(places) else len(offsets)
        return at, at

    return tokens


def message_spans(
    count: int, origins: Sequence[Origin], offsets: Sequence[tuple[int, int]]
) -> tuple[MessageSpan | None, ...]:
    """One for each of `count` messages: None for a message of which nothing was written."""
    bounds: dict[int, tuple[int, int]] = {}
    for origin in origins:
        match origin.path:
            case ("messages", int(message), *_):
                start, end = bounds.get(message, (origin.start, origin.end))
                bounds[message] = (min(start, origin.start), max(end, origin.end))
            case _:
                pass
    tokens = token_ranges(offsets)
    return tuple(
        MessageSpan(message, *bounds[message], *tokens(*bounds[message]))
        if message in bounds
        else None
        for message in range(count)
    )
