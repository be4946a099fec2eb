"""Ids with all details, as the core gives them: of one text, or of the parts of a long one."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

from ..wasm.status import misbehaved

_LENGTH: Final = struct.Struct("<I")


class FullEncoding(NamedTuple):
    """Everything about one text; numbers are little-endian u32, masks one byte an id. The table has
    a row for each token: the length of its text, and the text."""

    ids: bytes
    offsets: bytes
    byte_offsets: bytes
    type_ids: bytes
    special_tokens_mask: bytes
    attention_mask: bytes
    token_table: bytes

    @property
    def size(self) -> int:
        return len(self.special_tokens_mask)

    def tokens(self) -> list[str]:
        """Equal ones are decoded once, and are one object."""
        table = self.token_table
        tokens: list[str] = []
        known: dict[bytes, str] = {}
        length_at = _LENGTH.unpack_from
        start = 0
        # `_behind`, once for each row.
        while start + _LENGTH.size <= len(table):
            end = start + _LENGTH.size + length_at(table, start)[0]
            row = table[start:end]
            token = known.get(row)
            if token is None:
                token = known[row] = _text(row)
            tokens.append(token)
            start = end
        if start != len(table):
            raise misbehaved("gave a table that is cut off")
        if len(tokens) != self.size:
            raise misbehaved(f"gave {len(tokens)} tokens for {self.size} ids")
        return tokens

    def end(self, count: int) -> int:
        """Where so many tokens end, in characters; -1 for none."""
        return memoryview(self.offsets).cast("I")[2 * count - 1] if count else -1

    def ascends(self) -> bool:
        """Whether no token begins before the one in front of it."""
        starts = memoryview(self.offsets).cast("I").tolist()[::2]
        return starts == sorted(starts)

    def part(self, first: int, last: int, characters: int, data: int) -> FullEncoding:
        """Tokens `first` to `last`, of a text that begins so many characters and bytes before."""
        pairs, words = slice(8 * first, 8 * last), slice(4 * first, 4 * last)
        offsets = _moved(self.offsets[pairs], characters)
        same = characters == data and self.offsets == self.byte_offsets
        start = _behind(self.token_table, 0, first)
        return FullEncoding(
            ids=self.ids[words],
            offsets=offsets,
            byte_offsets=offsets if same else _moved(self.byte_offsets[pairs], data),
            type_ids=self.type_ids[words],
            special_tokens_mask=self.special_tokens_mask[first:last],
            attention_mask=self.attention_mask[first:last],
            token_table=self.token_table[start : _behind(self.token_table, start, last - first)],
        )


def joined(parts: Iterable[FullEncoding]) -> FullEncoding:
    """One encoding of those that follow each other."""
    return FullEncoding(*map(b"".join, zip(*parts, strict=True)))


def _behind(table: bytes, place: int, rows: int) -> int:
    """Where so many rows from this place on end."""
    length_at = _LENGTH.unpack_from
    try:
        for _ in range(rows):
            place += _LENGTH.size + length_at(table, place)[0]
    except struct.error:
        raise misbehaved("gave a table that is cut off") from None
    if place > len(table):
        raise misbehaved("gave a table that is cut off")
    return place


def _text(row: bytes) -> str:
    try:
        return row[_LENGTH.size :].decode()
    except UnicodeDecodeError as wrong:
        raise misbehaved(f"gave text that is no UTF-8: {wrong}") from None


def _moved(numbers: bytes, distance: int) -> bytes:
    if not distance:
        return numbers
    return array("I", map(distance.__add__, memoryview(numbers).cast("I"))).tobytes()
