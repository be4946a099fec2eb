"""The memory that the workers of the `threads` build share.

Everything here works around wasmtime-py, in one place: a test fails on the day it is not needed.
"""

from __future__ import annotations

from typing import Any

import wasmtime
from wasmtime import _ffi as ffi

from .objects import ENDING, Ending
from .wasmtime_machine import address_of, view


class SharedMemory(wasmtime.SharedMemory):
    """A shared memory that can be imported, and measured without a lock."""

    def _delete(self, ptr: Any, _ending: Ending = ENDING) -> None:
        if not _ending():
            super()._delete(ptr)

    def _as_extern(self) -> Any:
        # Upstream wraps the pointer in another pointer, and instantiating raises TypeError.
        union = ffi.wasmtime_extern_union(sharedmemory=self.ptr())
        return ffi.wasmtime_extern_t(ffi.WASMTIME_EXTERN_SHAREDMEMORY, union)

    def base(self) -> int:
        return address_of(self.data_ptr())

    def size(self) -> int:
        """In bytes. Upstream's counts pages, and raises ctypes.ArgumentError."""
        return self.data_len()

    def grow_to(self, size: int) -> None:
        """Its guests grow it."""

    def view(self) -> memoryview:
        return view(self.base(), self.size())


def new(engine: wasmtime.Engine, limits: wasmtime.Limits) -> SharedMemory:
    """Store limits do not bind a shared memory: its own maximum is the only bound."""
    if limits.max is None:
        raise ValueError("a shared memory needs a declared maximum")
    return SharedMemory(engine, wasmtime.MemoryType(limits, shared=True))
