"""Calls of a guest, and reading its memory: nothing that it says of an address is believed."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import cast

from .machine import SLOT_WORDS, Function, Machine
from .status import misbehaved

__all__ = ["Guest"]


class Guest:
    """What both kinds of instances share. Memory never shrinks and never moves: only what lies
    behind its known end is new."""

    __slots__ = ("_bound", "_bytes", "_guest", "_machine", "_size", "_trap", "_view")

    _view: memoryview
    # The same memory as an array of `ctypes`, whose slices are `bytes`: a copy in one step.
    _bytes: bytes

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._trap = machine.trap
        self._guest = machine.memory
        self._bound: dict[str, Function] = {}
        self._size = 0
        self._measure()

    def call(self, name: str, *arguments: int) -> int:
        """What the function answers, as an unsigned number."""
        function = self._bound.get(name) or self._bind(name)
        args = function.args
        for index, argument in enumerate(arguments):
            args[SLOT_WORDS * index] = argument
        failed = function.run()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        answer: int = args[0]
        return answer

    def _bind(self, name: str) -> Function:
        function = self._bound[name] = self._machine.function(name, self._slots_of(name))
        return function

    def _slots_of(self, name: str) -> int:
        raise NotImplementedError

    def _failure(self, failed: int | None) -> Exception:
        """What to raise after a call that failed or trapped."""
        raise NotImplementedError

    @property
    def known_size(self) -> int:
        """Bytes of its memory as of its last call: safe to ask while another thread is inside."""
        return self._size

    def base(self) -> int:
        return self._guest.base()

    def read(self, start: int, end: int) -> memoryview:
        """A window, not a copy: for images of the whole memory, and for looking what is left."""
        self._check(start, end - start)
        return self._view[start:end]

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
