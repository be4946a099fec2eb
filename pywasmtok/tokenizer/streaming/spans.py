"""Which token wrote which part of a text: for log probabilities token by token."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
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


def token_spans(
    tokenizer: Tokenizer,
    decoded: Callable[[list[int]], bytes],
    ids: Ids,
    skip_special_tokens: bool,
) -> list[TokenSpan]:
    """Raises Unsupported for decoders in which a token's bytes depend on more than its place."""
    values = view(as_bytes(as_list(ids))).tolist()
    text = tokenizer.decode(values, skip_special_tokens)
    whole = decoded(values)
    bounds = _bounds(values, decoded)
    if bounds[-1] != len(whole):
        raise _unsupported()
    starts, found = _characters(whole)
    if found != text:
        # As SentencePiece replaces.
        starts, found = _characters(whole, each=True)
    if found != text:
        spelled = _BYTE_TOKEN.fullmatch
        runs = {one: spelled(tokenizer.id_to_token(one) or "") is not None for one in {*values}}
        starts, found = _with_runs(whole, bounds, [runs[one] for one in values])
    if found != text:
        raise _unsupported()
    return _spans(values, bounds, starts, found)


def _bounds(values: list[int], decoded: Callable[[list[int]], bytes]) -> list[int]:
    """Where the bytes of each token begin, and the end. Behind the first token that writes, what
    one writes depends on itself alone."""
    bounds, first, before = [0], -1, 0
    known: dict[int, int] = {}
    left_out: list[int] = []
    for token_id in values:
        if first < 0:
            size = len(decoded([*left_out, token_id]))
            # What is left out wrote nothing; a space that is stripped writes nothing the first
            # time. Two of one kind tell them apart. In some files what is left out stands at the
            # beginning, in others the next one does.
            if size or decoded([*left_out, token_id, token_id]):
                first, before = token_id, size
            elif token_id not in left_out:
                left_out.append(token_id)
        else:
            if token_id not in known:
                known[token_id] = len(decoded([*left_out, first, token_id])) - before
            size = known[token_id]
        bounds.append(bounds[-1] + size)
    return bounds


def _characters(
    data: bytes | memoryview, at: int = 0, *, each: bool = False
) -> tuple[Sequence[int], str]:
    """The bytes at which characters begin, and the characters; U+FFFD replaces invalid UTF-8 as in
    Python, or `each` of its bytes."""
    starts: list[int] = []
    found: list[str] = []
    rest = memoryview(data)
    while rest:
        try:
            good, bad = str(rest, "utf-8"), 0
        except UnicodeDecodeError as error:
            good, bad = str(rest[: error.start], "utf-8"), error.end - error.start
        found.append(good)
        size = len(rest) if not bad else len(good.encode())
        if len(good) == size:
            if not found[1:] and not bad:
                return range(at, at + size), good
            starts += range(at, at + size)
        else:
            starts += accumulate(map(_utf8_length, good[:-1]), initial=at)
        at += size
        if bad:
            starts += range(at, at + bad) if each else (at,)
            found.append(REPLACEMENT * (bad if each else 1))
            at += bad
        rest = rest[size + bad :]
    return starts, "".join(found)


def _utf8_length(character: str) -> int:
    return len(character.encode())


def _with_runs(whole: bytes, bounds: list[int], in_runs: list[bool]) -> tuple[list[int], str]:
    """The same where a run of byte tokens is text as a whole, or one U+FFFD for each byte."""
    starts: list[int] = []
    found: list[str] = []
    for start, end, run in _parts(bounds, in_runs):
        some, characters = _part(whole, start, end, run)
        starts += some
        found.append(characters)
    return starts, "".join(found)


def _parts(bounds: list[int], in_runs: list[bool]) -> Iterator[tuple[int, int, bool]]:
    """Runs of byte tokens, and what lies between them. A token without bytes ends no run."""
    start, kind = 0, False
    for (low, high), run in zip(pairwise(bounds), in_runs, strict=True):
        if low < high and run != kind:
            yield start, low, kind
            start, kind = low, run
    yield start, bounds[-1], kind


def _part(whole: bytes, start: int, end: int, run: bool) -> tuple[Sequence[int], str]:
    part = whole[start:end]
    if run:
        try:
            part.decode()
        except UnicodeDecodeError:
            return range(start, end), REPLACEMENT * (end - start)
    return _characters(part, start)


def _spans(
    values: list[int], bounds: list[int], starts: Sequence[int], found: str
) -> list[TokenSpan]:
    spans = []
    begin = end = 0
    for token_id, (low, high) in zip(values, pairwise(bounds), strict=True):
        # There are at most as many characters as bytes.
        begin, end = end, bisect_left(starts, high, end, min(end + high - low, len(starts)))
        # A token that begins inside a character contributes to that one first.
        inside = low < high and (begin == len(starts) or starts[begin] > low)
        spans.append(TokenSpan(token_id, low, high, begin - inside, found[begin:end]))
    return spans


def _unsupported() -> Unsupported:
    return Unsupported(
        "in this decoder tokens have no bytes of their own", feature="decoder:token_spans"
    )
