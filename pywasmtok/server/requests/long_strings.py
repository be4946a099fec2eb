"""JSON with long strings, read so that other threads can run meanwhile.

A decoder written in C holds the GIL until it is done: three milliseconds for a megabyte of text
with many escapes, in which the event loop stands still. So long strings are taken out and decoded
piece by piece, and the rest of the JSON is short.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["LONG", "PIECE", "NoTextError", "Taken", "put_back", "take_out", "text_of"]

LONG: Final = 4 << 10
"""Bytes of a string that is read apart from the rest."""

PIECE: Final = 32 << 10
"""Bytes that are read at once: a tenth of a millisecond."""

_QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_COLON: Final = b":"
_SPACES: Final = b" \t\r\n"
# An escape has six bytes at most, and a character beyond the first 65,536 has two of them.
_ESCAPE: Final = 6
_FIRST_BYTES: Final = 0x80, 0xC0

_read_text: Final = msgspec.json.Decoder(str).decode


class Taken(NamedTuple):
    rest: bytes
    """The JSON with a short string in the place of each long one."""
    marker: str
    """The prefix of those, followed by a number. It is random, so no request can contain it."""
    spans: list[tuple[int, int]]
    """Where the long ones are, without their quotes."""

    def place(self, place: int) -> int:
        """Where that byte of the rest is in the whole."""
        for number, (start, end) in enumerate(self.spans):
            if place <= start:
                break
            place = max(start, place + end - start - len(self.marker) - len(str(number)))
        return place


def take_out(data: bytes, behind: Callable[[bytes, int], int]) -> Taken | None:
    """`behind` answers where the string has ended that begins at a place. None: no string is long.

    What is no JSON stays so: of the rest or of a string one is none, then."""
    spans: list[tuple[int, int]] = []
    place = 0
    while (quote := data.find(b'"', place)) >= 0:
        place = behind(data, quote)
        # One that has no end may end with the data, but no request is a string.
        if place - quote > LONG and place < len(data) and not _is_key(data, place):
            spans.append((quote + 1, place - 1))
    if not spans:
        return None
    marker = secrets.token_hex(16)
    parts: list[bytes] = []
    before = 0
    for number, (start, end) in enumerate(spans):
        parts += data[before:start], f"{marker}{number}".encode()
        before = end
    return Taken(b"".join([*parts, data[before:]]), marker, spans)


def _is_key(data: bytes, place: int) -> bool:
    """Whether a colon follows. Names stay where they are."""
    while data[place : place + 1] and data[place] in _SPACES:
        place += 1
    return data[place : place + 1] == _COLON


def text_of(data: bytes, start: int, end: int) -> str:
    """The text of the string between these places; its bytes are UTF-8. NoTextError: the string is
    invalid."""
    parts = []
    while start < end:
        following = end if end - start <= PIECE else _border(data, start, start + PIECE)
        try:
            parts.append(_read_text(b'"%b"' % data[start:following]))
        except msgspec.DecodeError as error:
            raise NoTextError(str(error), data[start:following], start) from None
        start = following
    return "".join(parts)


class NoTextError(Exception):
    """`said` of a piece that begins at `place`; in front of its bytes there was a quote."""

    def __init__(self, said: str, piece: bytes, place: int) -> None:
        self.said, self.piece, self.place = said, piece, place
        super().__init__(said)


def _border(data: bytes, start: int, place: int) -> int:
    """The last place up to this one where a string can be cut: neither side has a part of a
    character or of an escape. There is one after `start`, which is such a place, too."""
    escape = data.rfind(b"\\", max(start, place - _ESCAPE), place)
    if escape < 0:
        while _FIRST_BYTES[0] <= data[place] < _FIRST_BYTES[1]:
            place -= 1
        return place
    # In a run of backslashes, each pair is one character.
    together = data[start : escape + 1]
    if (len(together) - len(together.rstrip(b"\\"))) % 2 == 0:
        return escape + 1
    # The second half of a surrogate pair stays with the first. A single half is invalid anywhere.
    first = escape - _ESCAPE
    if (
        _is_surrogate(data, escape, b"cdefCDEF")
        and first > start
        and _is_surrogate(data, first, b"89abAB")
    ):
        return first
    return escape


def _is_surrogate(data: bytes, place: int, halves: bytes) -> bool:
    return data[place : place + 3].lower() == b"\\ud" and data[place + 3] in halves


def put_back(value: Any, taken: Taken, texts: list[str]) -> Any:
    """The value that was read from the rest, with the long strings in their places."""
    marker, size = taken.marker, len(taken.marker)
    waiting: list[Any] = []

    def meant(one: Any) -> Any:
        if type(one) is str:
            return texts[int(one[size:])] if one.startswith(marker) else one
        if isinstance(one, (list, dict, msgspec.Struct)):
            waiting.append(one)
        return one

    value = meant(value)
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            one[:] = map(meant, one)
        elif isinstance(one, dict):
            for key, inner in one.items():
                one[key] = meant(inner)
        else:
            for name in one.__struct_fields__:
                setattr(one, name, meant(getattr(one, name)))
    return value
