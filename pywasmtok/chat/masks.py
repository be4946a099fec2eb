"""Which tokens of a chat the assistant wrote, by the generation blocks of its template."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

__all__ = ["assistant_mask", "token_finder"]

Offsets = Sequence[tuple[int, int]]


def assistant_mask(offsets: Offsets, spans: Iterable[tuple[int, int]]) -> list[int]:
    """1 for tokens of the spans, which count characters as the offsets do.

    As transformers walks: a span whose beginning no token has (the text was truncated) ends the
    walk, and one whose end no token has, or the very first one, goes to the end of the tokens.
    """
    token_at = token_finder(offsets)
    mask = [0] * len(offsets)
    for start, end in spans:
        if end < 1:
            # transformers fails on an empty block at the very beginning.
            continue
        first, last = token_at(start), token_at(end - 1)
        if first is None:
            break
        behind = last + 1 if last else len(mask)
        mask[first:behind] = [1] * max(0, behind - first)
    return mask


def token_finder(offsets: Offsets) -> Callable[[int], int | None]:
    """The first token that has a character, as `char_to_token` of tokenizers answers it."""
    places = [place for place, (start, end) in enumerate(offsets) if start < end]
    starts = [offsets[place][0] for place in places]
    ends = [offsets[place][1] for place in places]
    if any(a > b for bounds in (starts, ends) for a, b in pairwise(bounds)):
        return lambda character: _walk(offsets, character)

    def find(character: int) -> int | None:
        at = bisect_right(ends, character)
        return places[at] if at < len(places) and starts[at] <= character else None

    return find


def _walk(offsets: Offsets, character: int) -> int | None:
    found = (place for place, (start, end) in enumerate(offsets) if start <= character < end)
    return next(found, None)
