"""Reading the memory of a guest: nothing that it says of an address is believed."""

from __future__ import annotations

from typing import Protocol

from .raw import view
from .status import misbehaved

__all__ = ["GuestMemory", "MemoryOfGuest"]


class MemoryOfGuest(Protocol):
    """Where the memory lies, and how large it is by now."""

    def base(self) -> int: ...

    def size(self) -> int: ...


class GuestMemory:
    """The part of an instance that reads. Memory never shrinks and never moves: only what lies
    behind its known end is new; `_size` begins with 0."""

    __slots__ = ("_guest", "_size", "_view")

    _guest: MemoryOfGuest
    _size: int
    _view: memoryview

    def _copy(self, start: int, length: int) -> bytes:
        end = start + length
        if end > self._size:
            self._check(start, length)
        return self._view[start:end].tobytes()

    def _check(self, start: int, length: int) -> None:
        if start + length > self._size:
            self._measure()
            if start + length > self._size:
                raise misbehaved("answered with an address outside its memory")

    def _measure(self) -> None:
        size = self._guest.size()
        if size != self._size:
            self._size = size
            self._view = view(self._guest.base(), size)
