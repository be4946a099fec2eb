"""A column of ids, and how a column of texts becomes one."""

from __future__ import annotations

import re
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from ...errors import InvalidArgument, TokenizerError
from ..encoding import EncodingBatch
from ..ids import ArrowLists, Buffers

if TYPE_CHECKING:
    from collections.abc import Callable

    from .importing import Rows

__all__ = ["EncodedColumn", "encode_rows"]

_TEXT = re.compile(r"texts\[(\d+)\]")


class EncodedColumn(ArrowLists):
    """What `encode_arrow` answers: for each row the ids of its text, or null.

    Other libraries take it by Arrow's PyCapsule interface, as an array or a stream of
    `list<uint32>`. `EncodedColumn(batch)` is the same of a batch, for libraries that take any
    sequence as a sequence of objects. See docs/arrow.md.
    """

    __slots__ = ("_batch", "_bounds", "_present")

    def __init__(self, batch: EncodingBatch, present: str | None = None) -> None:
        """`present` has a `1` for each row that is not null, and a `0` for a row that is."""
        if not isinstance(batch, EncodingBatch):
            raise InvalidArgument(
                f"a column is made of an EncodingBatch, not of {type(batch).__name__}",
                hint="EncodingBatch.join makes one of several encodings",
            )
        if present is not None and not (
            isinstance(present, str)
            and not present.strip("01")
            and present.count("1") == len(batch)
        ):
            raise InvalidArgument("present has a 1 for each encoding, and a 0 for each null row")
        self._batch = batch
        self._present = present
        bounds = batch.bounds
        if present is not None:
            # A null row ends where the row before it does.
            rows = accumulate(map(int, present), initial=0)
            bounds = memoryview(array("I", map(bounds.tolist().__getitem__, rows)))
        self._bounds = bounds.tobytes()

    @property
    def batch(self) -> EncodingBatch:
        """The encodings of the rows that are not null."""
        return self._batch

    @property
    def null_count(self) -> int:
        return 0 if self._present is None else self._present.count("0")

    def __len__(self) -> int:
        """How many rows there are, null ones included."""
        return len(self._bounds) // 4 - 1

    def __repr__(self) -> str:
        nulls = f", {self.null_count} of them null" if self.null_count else ""
        return f"<EncodedColumn of {len(self)} rows{nulls}, {len(self._batch.buffer)} ids>"

    def _arrow(self) -> Buffers:
        validity = None
        if self._present is not None:
            bits = int(self._present[::-1], 2)
            validity = bits.to_bytes((len(self) + 7) // 8, "little")
        return Buffers(self._batch._arrow().ids, self._bounds, validity, self.null_count)


def encode_rows(rows: Rows, encode: Callable[..., EncodingBatch]) -> EncodedColumn:
    """`encode` takes the texts. Errors name the row."""
    try:
        batch = encode(rows.texts)
    except TokenizerError as error:
        found = _TEXT.match(error.path or "")
        if found is not None:
            error.path = f"rows[{_row(rows, int(found[1]))}]"
        raise
    return EncodedColumn(batch, rows.present)


def _row(rows: Rows, text: int) -> int:
    if rows.present is None:
        return text
    return [row for row, mark in enumerate(rows.present) if mark == "1"][text]
