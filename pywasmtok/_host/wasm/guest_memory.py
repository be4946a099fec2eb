"""Reading the memory of a guest: nothing that it says of an address is believed."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import cast

from .machine import MemoryOfGuest
from .status import misbehaved

__all__ = ["GuestMemory"]


class GuestMemory:
    """The part of an instance that reads. Memory never shrinks and never moves: only what lies
    behind its known end is new; `_size` begins with 0."""

    __slots__ = ("_bytes", "_guest", "_size", "_view")

    _guest: MemoryOfGuest
    _size: int
    _view: memoryview
    # The same memory as an array of `ctypes`, whose slices are `bytes`: a copy in one step.
    _bytes: bytes

    def _copy(self, start: int, length: int) -> bytes:
        end = start + length
        if end > self._size:
            self._check(start, length)
        return self._bytes[start:end]

    def _check(self, start: int, length: int) -> None:
        if start + length > self._size:
            self._measure()
            if start + length > self._size:
                raise misbehaved("answered with an address outside its memory")

    def _measure(self) -> None:
        size = self._guest.size()
        if size != self._size:
            view = self._guest.view()
            self._size, self._view = len(view), view
            self._bytes = cast("bytes", _array_type(len(view)).from_buffer(view))


@lru_cache(maxsize=64)
def _array_type(size: int) -> type[ctypes.Array[ctypes.c_char]]:
    """Making the type takes longer than making the array, and clones have few sizes."""
    return ctypes.c_char * size
