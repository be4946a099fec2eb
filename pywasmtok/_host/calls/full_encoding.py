"""Ids with all details, as the core gives them: of one text, or of the parts of a long one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple


class FullEncoding(NamedTuple):
    """Everything about one text; numbers are little-endian u32, masks one byte an id."""

    ids: bytes
    offsets: bytes
    byte_offsets: bytes
    type_ids: bytes
    special_tokens_mask: bytes
    attention_mask: bytes
    tokens: list[str]

    @property
    def size(self) -> int:
        return len(self.special_tokens_mask)

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
        return FullEncoding(
            ids=self.ids[words],
            offsets=offsets,
            byte_offsets=offsets if same else _moved(self.byte_offsets[pairs], data),
            type_ids=self.type_ids[words],
            special_tokens_mask=self.special_tokens_mask[first:last],
            attention_mask=self.attention_mask[first:last],
            tokens=self.tokens[first:last],
        )


def joined(parts: Iterable[FullEncoding]) -> FullEncoding:
    """One encoding of those that follow each other."""
    columns: list[list[bytes]] = [[] for _ in FullEncoding._fields[:-1]]
    tokens: list[str] = []
    # A token that occurs often is one object.
    known: dict[str, str] = {}
    for part in parts:
        for column, data in zip(columns, part[:-1], strict=True):
            column.append(data)
        tokens += map(known.setdefault, part.tokens, part.tokens)
    ids, offsets, byte_offsets, type_ids, special, attention = map(b"".join, columns)
    return FullEncoding(ids, offsets, byte_offsets, type_ids, special, attention, tokens)


def _moved(numbers: bytes, distance: int) -> bytes:
    if not distance:
        return numbers
    return array("I", map(distance.__add__, memoryview(numbers).cast("I"))).tobytes()
