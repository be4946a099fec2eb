"""JSON that all readers understand alike: no key twice, a bounded depth, no half of a surrogate
pair, valid UTF-8."""

from __future__ import annotations

import codecs
import json
import re
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from ..errors import BadRequest
from . import long_strings

__all__ = ["Fields", "Whole", "decode", "strings_of"]

T = TypeVar("T")

Fields = dict[str, msgspec.Raw]
"""An object of which only the keys are read."""

_BYTE: Final = re.compile(r"^(?:JSON is malformed: )?(.*) \(byte (\d+)\)$", re.DOTALL)
_PLACE: Final = re.compile(r"^(.*) - at (?:key in )?`(.*)`$", re.DOTALL)
_SURROGATE: Final = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2})"
)
# Bytes of a string that are searched for its end at once; most strings are short.
_FIRST_PART: Final = 256
_LARGEST_PART: Final = 32 << 10
_FEW: Final = 256
_MORE_SIGNS: Final = re.compile(
    rb'(?:[^"{\[]*+(?:[{\[]|"(?:[^"\\]++|\\.)*+")){0,%d}+' % _FEW, re.DOTALL
)
_BUT_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in b"{}[]:")
_DEEPEST: Final = 64

# More strings, lists and objects than this take long, and no request needs them: a long text is one
# string, and ids are one list.
_MOST_SIGNS: Final = 1 << 17

# Bytes that are scanned without releasing the GIL.
_PIECE: Final = 256 << 10

# Up to this size Python's own decoder finds duplicate keys faster than a search for quotes does.
_SMALL: Final = 64 << 10
_FEW_QUOTES: Final = 16

_QUOTE: Final = 0x22
_BRACKETS: Final = b"{["
_NO_TEXTS: Final[list[str]] = []
# Characters; `check_structure` knows what is too long.
_LONGEST_NAME: Final = 100


def decode(data: bytes, kind: type[T], depth: int = _DEEPEST) -> T:
    return Whole(data).checked_as(kind, depth)


class Whole:
    """A body; where it is large, its long strings are read by themselves, once."""

    __slots__ = ("_rest", "_taken", "_texts")

    def __init__(self, data: bytes) -> None:
        if not data.isascii():
            _check_utf8(data)
        # Each is a byte at least.
        if len(data) > _MOST_SIGNS and _signs(data) > _MOST_SIGNS:
            raise BadRequest(f"the body has more than {_MOST_SIGNS} strings, lists and objects")
        large = len(data) > _PIECE
        self._taken = long_strings.take_out(data, _behind_string) if large else None
        self._rest, self._texts = data, _NO_TEXTS
        if self._taken is not None:
            self._rest = self._taken.rest
            self._texts = [_text(data, *span) for span in self._taken.spans]

    def checked_as(self, kind: type[T], depth: int = _DEEPEST) -> T:
        """The first reading."""
        try:
            value = self.read_as(kind)
        except RecursionError:
            raise _too_deep(depth) from None
        fields: Any = value if kind is Fields else None
        if not _is_plain(self._rest, depth, fields):
            try:
                check_structure(self._rest, depth)
            except BadRequest as error:
                raise self._in_whole(error) from None
        return value

    def read_as(self, kind: type[T]) -> T:
        """The body, which was checked before, as another type."""
        shape: Any = kind
        try:
            value: T = _decoder(shape).decode(self._rest)
        except msgspec.ValidationError as error:
            raise _invalid(self._without_marks(str(error))) from None
        except msgspec.DecodeError as error:
            raise self._in_whole(_malformed(self._rest, str(error))) from None
        if self._taken is not None:
            value = long_strings.put_back(value, self._taken, self._texts)
        return value

    def _in_whole(self, error: BadRequest) -> BadRequest:
        if self._taken is not None and error.offset is not None:
            error.offset = self._taken.place(error.offset)
        return error

    def _without_marks(self, said: str) -> str:
        return said if self._taken is None else re.sub(self._taken.marker + r"\d+", "...", said)


def _text(data: bytes, start: int, end: int) -> str:
    try:
        return long_strings.text_of(data, start, end)
    except long_strings.NoTextError as failed:
        raise _malformed_piece(failed) from None


def _malformed_piece(failed: long_strings.NoTextError) -> BadRequest:
    error = _malformed(b'"%b"' % failed.piece, failed.said)
    if error.offset is not None:
        error.offset += failed.place - 1
    return error


def _check_utf8(data: bytes) -> None:
    place, view = 0, memoryview(data)
    while place < len(data):
        end = place + _PIECE
        try:
            place += codecs.utf_8_decode(view[place:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            raise BadRequest(
                f"the body is not UTF-8: {error.reason}", offset=place + error.start
            ) from None


def _signs(data: bytes) -> int:
    """How many strings, lists and objects there are, up to a few; ends beyond the most."""
    signs = place = 0
    # A few strings may be long: they are jumped over.
    while signs < _FEW:
        quote = data.find(b'"', place)
        end = quote if quote >= 0 else len(data)
        signs += data.count(b"{", place, end) + data.count(b"[", place, end)
        if quote < 0:
            return signs
        signs += 1
        place = _behind_string(data, quote)
    # Of many, most are short.
    while signs <= _MOST_SIGNS:
        found = _MORE_SIGNS.match(data, place)
        if found is None or found.end() == place:
            break
        place = found.end()
        signs += _FEW
    return signs


def _is_plain(data: bytes, depth: int, fields: dict[str, msgspec.Raw] | None) -> bool:
    """Whether no key comes twice and the depth is within the bound; does not say where. `fields`:
    of the data, if they are known."""
    if len(data) > _SMALL:
        return False
    found, is_nested = 0, False
    try:
        fields = _decoder(Fields).decode(data) if fields is None else fields
    except msgspec.DecodeError:
        fields, is_nested = {}, True
    for name, value in fields.items():
        if len(name) > _LONGEST_NAME:
            return False
        sign = memoryview(value)[0]
        found += 2 if sign == _QUOTE else 1
        is_nested = is_nested or sign in _BRACKETS
    if is_nested and data.count(b"{") + data.count(b"[") > depth:
        return False
    # If each string is a key or its value, then no key came twice, and no inner object has keys.
    if found == strings_of(data):
        return True
    return data.count(b'"') > _FEW_QUOTES and _has_each_key_once(data)


def _has_each_key_once(data: bytes) -> bool:
    try:
        json.loads(data.decode(), object_pairs_hook=_once)
    except ValueError:
        return False
    return True


def strings_of(data: bytes) -> int:
    """How many strings are in JSON, keys too; -1: a simple count cannot tell."""
    quotes = data.count(b'"')
    if b"\\" in data:
        if b'\\\\"' in data:
            return -1
        quotes -= data.count(b'\\"')
    return quotes >> 1


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
    return decoder


def _invalid(said: str) -> BadRequest:
    found = _PLACE.match(said)
    if found is None:
        return BadRequest(said)
    return BadRequest(found[1], path=found[2])


def _malformed(data: bytes, said: str) -> BadRequest:
    if not data.strip():
        return BadRequest("the body is empty", hint="Send a JSON object")
    # msgspec calls these truncated input, or names the byte behind them.
    half = next((m for m in _SURROGATE.finditer(data) if _is_half(data, m.start())), None)
    if half is not None:
        return BadRequest(
            "half of a surrogate pair is no character", offset=half.start(), hint="Send both halves"
        )
    found = _BYTE.match(said)
    if found is None:
        return BadRequest(f"the body is no JSON: {said[:1].lower()}{said[1:]}", offset=len(data))
    return BadRequest(f"the body is no JSON: {found[1]}", offset=int(found[2]))


def _is_half(data: bytes, place: int) -> bool:
    """Whether the escape at `place` is one, and not the second half of a pair."""
    backslashes = 0
    while place - backslashes > 0 and data[place - backslashes - 1] == 0x5C:
        backslashes += 1
    if backslashes % 2:
        return False
    if data[place + 3 : place + 4] in b"89abAB":
        return True
    before = data[max(0, place - 6) : place]
    return re.fullmatch(rb"\\u[dD][89abAB][0-9a-fA-F]{2}", before) is None


def check_structure(data: bytes, depth: int = _DEEPEST) -> None:
    """Depth, and keys that come twice: readers differ in which of both they take.

    `data` is valid JSON. Strings are jumped over, so that a body of one long text costs no more
    than a search for its end.
    """
    find = data.find
    keys: list[set[bytes] | None] = []
    name = b""
    place = quoted = 0
    while True:
        quote = find(b'"', place)
        between = data[place:quote] if quote >= 0 else data[place:]
        for sign in between.translate(None, _BUT_STRUCTURE):
            if sign == 0x3A:  # :
                _add(keys[-1], name, quoted)
            elif sign == 0x7B:  # {
                keys.append(set())
            elif sign == 0x5B:  # [
                keys.append(None)
            else:
                keys.pop()
            if len(keys) > depth:
                raise _too_deep(depth)
        if quote < 0:
            return
        place = _behind_string(data, quote)
        quoted = quote
        name = data[quote:place] if place - quote < 1024 else b""


def _behind_string(data: bytes, quote: int) -> int:
    """Where the string that begins with this quote has ended."""
    end = data.find(b'"', quote + 1)
    if end < 0 or data[end - 1] != 0x5C:
        return end + 1 or len(data)
    place, size = quote + 1, _FIRST_PART
    while place < len(data):
        # Between parts, other threads can run.
        part = data[place : place + size]
        if (len(part) - len(part.rstrip(b"\\"))) % 2 and place + size < len(data):
            # What the last backslash escapes is in the next part.
            part = part[:-1]
        end = part.replace(b"\\\\", b"..").replace(b'\\"', b"..").find(b'"')
        if end >= 0:
            return place + end + 1
        place += len(part)
        size = min(4 * size, _LARGEST_PART)
    return len(data)


def _add(keys: set[bytes] | None, name: bytes, place: int) -> None:
    if b"\\" in name:
        name = b'"' + msgspec.json.decode(name).encode() + b'"'
    if keys is None or not name:
        raise BadRequest("a key has more than 1000 bytes", offset=place)
    if name in keys:
        key = name[1:-1].decode()
        raise BadRequest(f"the key {key[:80]!r} is there twice", offset=place)
    keys.add(name)


def _too_deep(depth: int) -> BadRequest:
    return BadRequest(f"the body nests more than {depth} deep")
