"""Counting and truncating by ids: the exact, general way, for backends that know no shortcut."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..errors import InvalidArgument
from .encoding import Encoding

__all__ = ["Truncated", "check_limit", "check_side", "no_room", "truncate_by_encoding"]


@dataclass(frozen=True, slots=True)
class Truncated:
    """What `truncate` kept of a text."""

    text: str
    encoding: Encoding
    """The encoding of this text: always what `encode(text)` answers."""
    truncated: bool
    """Whether anything was cut off."""
    exact: bool = True
    """Whether the ids are also the first (the last, for `side="left"`) of the whole text's."""

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    @property
    def count(self) -> int:
        return len(self.encoding)


class Encode(Protocol):
    def __call__(self, text: str, *, add_special_tokens: bool) -> Encoding: ...


# Closer than this, each character is tried; and so many are, as no token of note is longer.
_CLOSE = 64
_TRIES = 256


def check_limit(n: object) -> int:
    try:
        limit = operator.index(n)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidArgument(f"a number of ids must be int, not {type(n).__name__}") from error
    if limit < 0:
        raise InvalidArgument(f"a number of ids cannot be {limit}")
    return limit


def check_side(side: str) -> bool:
    """Whether the end of the text is kept."""
    if side not in ("left", "right"):
        raise InvalidArgument(f"side={side!r} is neither 'left' nor 'right'")
    return side == "left"


def no_room(limit: int, of_empty: int) -> InvalidArgument:
    return InvalidArgument(
        f"nothing has {limit} ids or fewer: already the empty text has {of_empty}",
        hint="add_special_tokens=False leaves out those of the post-processor",
    )


def truncate_by_encoding(
    encode: Encode, text: str, limit: int, *, add_special_tokens: bool, keep_end: bool
) -> Truncated:
    """Encodes the whole text, then parts of it: the longest that fits and whose ids are the first
    (or the last) of the whole text's."""
    whole = encode(text, add_special_tokens=add_special_tokens)
    if len(whole) <= limit:
        return Truncated(text, whole, truncated=False)
    empty = encode("", add_special_tokens=add_special_tokens)
    if len(empty) > limit:
        raise no_room(limit, len(empty))
    body = encode(text, add_special_tokens=False).ids

    def part(length: int) -> str:
        return text[len(text) - length :] if keep_end else text[:length]

    def fitting(length: int) -> Encoding | None:
        encoding = encode(part(length), add_special_tokens=add_special_tokens)
        return encoding if len(encoding) <= limit else None

    fallback = None
    first_try = _longest_about(fitting, limit, len(text))
    for length in range(first_try, max(first_try - _TRIES, 0), -1):
        encoding = fitting(length)
        if encoding is None:
            continue
        ids = encode(part(length), add_special_tokens=False).ids
        if ids == (body[len(body) - len(ids) :] if keep_end else body[: len(ids)]):
            return Truncated(part(length), encoding, truncated=True)
        if fallback is None:
            fallback = Truncated(part(length), encoding, truncated=True, exact=False)
    return fallback or Truncated("", empty, truncated=True)


def _longest_about(fitting: Callable[[int], object | None], limit: int, longest: int) -> int:
    """Where to begin to try: not far above the longest part that fits."""
    low, high = 0, min(longest, 4 * limit + _CLOSE)
    while high < longest and fitting(high) is not None:
        low, high = high, min(longest, 2 * high)
    while high - low > _CLOSE:
        middle = (low + high) // 2
        if fitting(middle) is None:
            high = middle
        else:
            low = middle
    # Half a word may have more ids than a whole one: a longer part may fit again.
    return min(longest, high + _CLOSE)
