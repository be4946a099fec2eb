"""Texts that are UTF-8 already, in buffers of a caller."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload

from .errors import InvalidText

__all__ = ["Utf8Texts"]


class Utf8Texts(Sequence[str]):
    """Texts of so many bytes each, which lie one behind the other in the buffers.

    The core takes the bytes as they are, and checks them. A text becomes a `str` only when it is
    asked for. A buffer must not change while this is in use.
    """

    __slots__ = ("_bounds", "_buffers", "_sizes", "_starts")

    def __init__(self, buffers: Iterable[memoryview], sizes: Iterable[int]) -> None:
        self._buffers = [buffer for buffer in buffers if len(buffer)]
        # Where each buffer and each text begins, in bytes of all.
        self._starts = array("Q", accumulate(map(len, self._buffers), initial=0))
        self._sizes = array("Q", sizes)
        self._bounds = array("Q", accumulate(self._sizes, initial=0))

    def sizes(self, cut: slice = slice(None)) -> array[int]:
        """Bytes of each text."""
        return self._sizes[cut]

    def parts(self, cut: slice) -> list[memoryview]:
        """The bytes of these texts, in as few parts as there are."""
        first, last, _ = cut.indices(len(self))
        place, end = self._bounds[first], self._bounds[last]
        number = bisect_right(self._starts, place) - 1
        found = []
        while place < end:
            start = self._starts[number]
            found.append(self._buffers[number][place - start : end - start])
            place += len(found[-1])
            number += 1
        return found

    @property
    def size(self) -> int:
        """Bytes of all texts."""
        return self._bounds[-1]

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        try:
            return b"".join(self.parts(slice(place, place + 1))).decode()
        except UnicodeDecodeError as error:
            raise InvalidText(
                f"the text is no UTF-8: {error.reason}",
                path=f"texts[{place}]",
                offset=error.start,
            ) from None
