"""Which token wrote which part of a text: for log probabilities token by token."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from ...errors import Unsupported
from ..encoding import view
from ..ids import REPLACEMENT, as_bytes, as_list

if TYPE_CHECKING:
    from ..ids import Ids
    from ..tokenizer import Tokenizer

__all__ = ["TokenSpan", "token_spans"]

_BYTE_TOKEN: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")


class TokenSpan(NamedTuple):
    id: int
    start: int
    end: int
    """Its bytes in `decode_bytes` of all ids, which is before anything becomes U+FFFD."""
    text_offset: int
    """Where in the decoded text, in characters, the first one is that it contributes to."""
    text: str
    """The characters that begin in it: "" for a token that only continues one, and for a special
    token that is left out. The texts of all spans are the decoded text."""


def token_spans(tokenizer: Tokenizer, ids: Ids, skip_special_tokens: bool) -> list[TokenSpan]:
    """Raises Unsupported for decoders in which a token's bytes depend on more than its place."""
    values = view(as_bytes(as_list(ids))).tolist()
    whole = tokenizer.decode_bytes(values, skip_special_tokens)
    bounds = _bounds(values, lambda some: tokenizer.decode_bytes(some, skip_special_tokens))
    if bounds[-1] != len(whole):
        raise _unsupported()
    spelled = _BYTE_TOKEN.fullmatch
    in_runs = [spelled(tokenizer.id_to_token(number) or "") is not None for number in values]
    text = tokenizer.decode(values, skip_special_tokens)
    for characters in (_characters(whole), _with_runs(whole, bounds, in_runs)):
        starts, found = zip(*characters, strict=True) if characters else ((), ())
        if "".join(found) == text:
            return _spans(values, bounds, starts, found)
    raise _unsupported()


def _bounds(values: list[int], decoded: Callable[[list[int]], bytes]) -> list[int]:
    """Where the bytes of each token begin, and the end. Behind the first token that writes, what
    one writes depends on itself alone."""
    bounds, first, before = [0], -1, 0
    known: dict[int, int] = {}
    for token_id in values:
        if first < 0:
            size = len(decoded([token_id]))
            # What is left out wrote nothing, and leaves its place to the next; a space that is
            # stripped has taken it. Two of one kind tell them apart.
            if size or decoded([token_id, token_id]):
                first, before = token_id, size
        else:
            if token_id not in known:
                known[token_id] = len(decoded([first, token_id])) - before
            size = known[token_id]
        bounds.append(bounds[-1] + size)
    return bounds


def _characters(data: bytes | memoryview, at: int = 0) -> list[tuple[int, str]]:
    """Each character with the byte that it begins at; invalid UTF-8 is replaced as in Python."""
    found: list[tuple[int, str]] = []
    rest = memoryview(data)
    while rest:
        try:
            good, bad = str(rest, "utf-8"), 0
        except UnicodeDecodeError as error:
            good, bad = str(rest[: error.start], "utf-8"), error.end - error.start
        for character in good:
            found.append((at, character))
            at += len(character.encode())
        if bad:
            found.append((at, REPLACEMENT))
            at += bad
        rest = rest[len(good.encode()) + bad :]
    return found


def _with_runs(whole: bytes, bounds: list[int], in_runs: list[bool]) -> list[tuple[int, str]]:
    """The same where a run of byte tokens is text as a whole, or one U+FFFD for each byte."""
    return [
        one for start, end, run in _parts(bounds, in_runs) for one in _part(whole, start, end, run)
    ]


def _parts(bounds: list[int], in_runs: list[bool]) -> Iterator[tuple[int, int, bool]]:
    """Runs of byte tokens, and what lies between them. A token without bytes ends no run."""
    start, kind = 0, False
    for (low, high), run in zip(pairwise(bounds), in_runs, strict=True):
        if low < high and run != kind:
            yield start, low, kind
            start, kind = low, run
    yield start, bounds[-1], kind


def _part(whole: bytes, start: int, end: int, run: bool) -> list[tuple[int, str]]:
    part = whole[start:end]
    if run:
        try:
            part.decode()
        except UnicodeDecodeError:
            return [(place, REPLACEMENT) for place in range(start, end)]
    return _characters(part, start)


def _spans(
    values: list[int], bounds: list[int], starts: tuple[int, ...], found: tuple[str, ...]
) -> list[TokenSpan]:
    spans = []
    for token_id, (low, high) in zip(values, pairwise(bounds), strict=True):
        begin, end = bisect_left(starts, low), bisect_left(starts, high)
        # A token that begins inside a character contributes to that one first.
        inside = low < high and (begin == len(starts) or starts[begin] > low)
        spans.append(TokenSpan(token_id, low, high, begin - inside, "".join(found[begin:end])))
    return spans


def _unsupported() -> Unsupported:
    return Unsupported(
        "in this decoder tokens have no bytes of their own", feature="decoder:token_spans"
    )
