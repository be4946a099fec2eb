"""Which token wrote which part of a text: for log probabilities token by token."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, NamedTuple

from ...errors import Unsupported
from ..encoding import view
from ..ids import REPLACEMENT, as_bytes, as_list

if TYPE_CHECKING:
    from ...backends.streaming import Node
    from ..ids import Ids
    from ..tokenizer import Tokenizer

__all__ = ["TokenSpan", "token_spans"]

_BYTE_TOKEN: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")

# Stands for a space that was taken out. It is the character of no byte.
_GONE: Final = "\u0100"
# As `clean_spaces.rs` has it: three passes, each over what the one before it leaves.
_CLEAN_UP: Final = (
    (re.compile(" (?=[?!.,])"), _GONE),
    (re.compile(" ' "), f"{_GONE}'{_GONE}"),
    (re.compile(f" (?={_GONE}*'{_GONE}*(?:s|m|re|ve))"), _GONE),
)
_EATS_A_SPACE: Final = re.compile(rb"( *)(?:[?!.,]|'(?:s|m|re|ve))")


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
    begin: Node,
    ids: Ids,
    skip_special_tokens: bool,
) -> list[TokenSpan]:
    """`begin` is where a stream begins that decodes as `decoded` does. Raises Unsupported for
    decoders in which a token changes the bytes of those before it."""
    values = view(as_bytes(as_list(ids))).tolist()
    text = tokenizer.decode(values, skip_special_tokens)
    whole = decoded(values)
    if tokenizer.stream_backend.startswith("held"):
        raise _unsupported()
    pieces = _pieces(values, decoded, begin)
    if pieces is None and tokenizer.format == "gguf":
        pieces = _pieces_of_gguf(tokenizer, values, decoded, begin)
    if pieces is None or b"".join(pieces) != whole:
        raise _unsupported()
    bounds = [*accumulate(map(len, pieces), initial=0)]
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


def _pieces(
    values: list[int],
    decoded: Callable[[list[int]], bytes],
    node: Node,
    behind: list[int] | None = None,
) -> list[bytes] | None:
    """What each token adds to the bytes of all before it, or of `behind`; None where one takes
    some away.

    The state of a stream is all that counts of the ids before. So a token is decoded once for each
    state, behind the first ids that led to it.
    """
    ways: dict[bytes, tuple[list[int], bytes]] = {node.state: ([], b"")}
    second = None if behind is None else (behind, decoded(behind))
    known: dict[tuple[bytes, int], bytes] = {}
    pieces = []
    for token_id in values:
        state, (_, node) = node.state, node[token_id]
        piece = known.get((state, token_id))
        if piece is None:
            way, before = ways[state]
            longer = [*way, token_id]
            after = decoded(longer)
            if not after.startswith(before):
                return None
            piece = known[state, token_id] = after[len(before) :]
            ways.setdefault(node.state, second or (longer, after))
        pieces.append(piece)
    return pieces


def _pieces_of_gguf(
    tokenizer: Tokenizer, values: list[int], decoded: Callable[[list[int]], bytes], begin: Node
) -> list[bytes] | None:
    """The same where llama.cpp takes spaces out of the whole: each is taken from the token that
    wrote it."""
    # Behind a letter a token is not the first, and keeps its spaces.
    letters = map(tokenizer.token_to_id, ascii_lowercase)
    letter = next((one for one in letters if one is not None), None)
    alone = None if letter is None else _pieces(values, decoded, begin, [letter])
    if alone is None:
        return None
    pieces = []
    for piece, token_id in zip(alone, values, strict=True):
        pieces.append(piece)
        found = _EATS_A_SPACE.match(piece)
        if found is not None:
            # A token such as ` .` has lost its space already.
            token = tokenizer.id_to_token(token_id) or ""
            spaces = len(token) - len(token.lstrip("\u0120\u2581 "))
            pieces[-1] = b" " * (spaces > len(found[1])) + piece
    return _cleaned_up(pieces)


def _cleaned_up(pieces: list[bytes]) -> list[bytes]:
    """The pieces without the spaces that go when they are joined."""
    text = b"".join(pieces).decode("latin-1")
    for rule, kept in _CLEAN_UP:
        text = rule.sub(kept, text)
    places = accumulate(map(len, pieces), initial=0)
    return [text[start:end].replace(_GONE, "").encode("latin-1") for start, end in pairwise(places)]


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
