"""The memory that the workers of the `threads` build share."""

from __future__ import annotations

from . import library
from .machine import PAGE_BITS
from .objects import Engine, Owned, made
from .wasm_file import MemoryLimits
from .wasmtime_machine import view

__all__ = ["SharedMemory"]


class SharedMemory(Owned):
    def __init__(self, engine: Engine, limits: MemoryLimits) -> None:
        """Limits of a store do not bind a shared memory: its own maximum is the only bound."""
        if limits.maximum is None:
            raise ValueError("a shared memory needs a declared maximum")
        is_64, is_shared = False, True
        kind = made(
            library.memorytype_new,
            *(limits.minimum, True, limits.maximum, is_64, is_shared, PAGE_BITS),
        )
        try:
            self.address = made(library.sharedmemory_new, engine.address, kind)
        finally:
            library.memorytype_delete(kind)

    def base(self) -> int:
        return int(library.sharedmemory_data(self.address) or 0)

    def size(self) -> int:
        return int(library.sharedmemory_data_size(self.address))

    def grow_to(self, size: int) -> None:
        """Its guests grow it."""

    def view(self) -> memoryview:
        return view(self.base(), self.size())

    def _delete(self, address: int) -> None:
        library.sharedmemory_delete(address)
