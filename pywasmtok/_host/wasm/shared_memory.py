"""The memory that the workers of the `threads` build share."""

from __future__ import annotations

from . import wasmtime_functions as wasmtime
from .machine import PAGE_BITS
from .wasm_file import MemoryLimits
from .wasmtime_machine import view
from .wasmtime_objects import Engine, Owned, output_of


class SharedMemory(Owned):
    def __init__(self, engine: Engine, limits: MemoryLimits) -> None:
        """Limits of a store do not bind a shared memory: its own maximum is the only bound."""
        if limits.maximum is None:
            raise ValueError("a shared memory needs a declared maximum")
        is_64, is_shared = False, True
        kind = output_of(
            wasmtime.memorytype_new,
            *(limits.minimum, True, limits.maximum, is_64, is_shared, PAGE_BITS),
        )
        try:
            self.address = output_of(wasmtime.sharedmemory_new, engine.address, kind)
        finally:
            wasmtime.memorytype_delete(kind)

    def base(self) -> int:
        return int(wasmtime.sharedmemory_data(self.address) or 0)

    def size(self) -> int:
        return int(wasmtime.sharedmemory_data_size(self.address))

    def grow_to(self, size: int) -> None:
        """Nothing: only the guests grow a shared memory."""

    def view(self) -> memoryview:
        return view(self.base(), self.size())

    def _delete(self, address: int) -> None:
        wasmtime.sharedmemory_delete(address)
