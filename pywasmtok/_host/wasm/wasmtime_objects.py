"""Engines, modules, stores and shared memories of wasmtime. An object here owns one and deletes it.

When the interpreter ends, nothing is deleted: the globals that deleting needs may be gone, and the
system takes the memory back anyway.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from ctypes import byref, c_bool, c_uint64, c_void_p
from typing import Any, Final

from ...errors import HostError
from ..linux.private_memory import give_back
from . import wasmtime_functions as wasmtime
from .machine import PAGE_BITS
from .wasm_file import MemoryLimits

# `__del__` has it as a default argument: at the end globals of this module may be gone.
_ENDING: Final = sys.is_finalizing

# Smaller memories are unmapped quickly.
_LARGE: Final = 16 << 20


class WasmtimeError(HostError):
    """An error that wasmtime returned, with its text."""


def error_text(error: int) -> str:
    """The text of the error. The error itself is freed."""
    text = wasmtime.Bytes()
    wasmtime.error_message(error, byref(text))
    wasmtime.error_delete(error)
    return _copied_and_freed(text).decode("utf-8", "replace")


def require(error: int | None) -> None:
    """Raises an error that a function has returned."""
    if error:
        raise WasmtimeError(error_text(error))


def output_of(function: Callable[..., int | None], *arguments: Any) -> int:
    """Calls a function that writes an address to its last parameter. This address is returned."""
    output = c_void_p()
    require(function(*arguments, byref(output)))
    return output.value or 0


def _copied_and_freed(data: wasmtime.Bytes) -> bytes:
    copy = ctypes.string_at(data.data, data.size) if data.size else b""
    wasmtime.byte_vec_delete(byref(data))
    return copy


class Owned:
    """Something of wasmtime's at an address."""

    address = 0

    def close(self) -> None:
        address, self.address = self.address, 0
        if address:
            self._delete(address)

    def _delete(self, address: int) -> None:
        raise NotImplementedError

    def __del__(self, _ending: Callable[[], bool] = _ENDING) -> None:
        if not _ending():
            self.close()


class Engine(Owned):
    def __init__(
        self, settings: Mapping[str, bool | int], flags: Mapping[str, str] | None = None
    ) -> None:
        """`flags` are those of the compiler."""
        config = wasmtime.config_new()
        for name, value in settings.items():
            kind = c_bool if isinstance(value, bool) else c_uint64
            wasmtime.function(f"wasmtime_config_{name}_set", None, c_void_p, kind)(config, value)
        for name, text in (flags or {}).items():
            wasmtime.config_flag_set(config, name.encode(), text.encode())
        self.address = wasmtime.engine_new(config)

    def _delete(self, address: int) -> None:
        wasmtime.engine_delete(address)


class Module(Owned):
    def __init__(self, address: int) -> None:
        self.address = address

    @classmethod
    def compile(cls, engine: Engine, wasm: bytes) -> Module:
        return cls(output_of(wasmtime.module_new, engine.address, wasm, len(wasm)))

    @classmethod
    def deserialize(cls, engine: Engine, native: Any) -> Module:
        """`native`: an array of `c_uint8`, or bytes. It is copied."""
        return cls(output_of(wasmtime.module_deserialize, engine.address, native, len(native)))

    @classmethod
    def deserialize_file(cls, engine: Engine, path: str) -> Module:
        return cls(output_of(wasmtime.module_deserialize_file, engine.address, path.encode()))

    def serialize(self) -> bytes:
        native = wasmtime.Bytes()
        require(wasmtime.module_serialize(self.address, byref(native)))
        return _copied_and_freed(native)

    def _delete(self, address: int) -> None:
        wasmtime.module_delete(address)


class Store(Owned):
    """One instance and what belongs to it.

    Deleting a store unmaps its guest's memory at once. As long as that takes, no other thread of
    the process can map anything. So the pages of a large memory are first given back to the system,
    in pieces. The store does this, and not the object of the memory: the collector may finalize the
    two in any order, and without the store the memory's address is invalid.
    """

    # Of the class, for a store whose `__init__` was interrupted.
    _memory: Any = None

    def __init__(self, engine: Engine) -> None:
        self.address = wasmtime.store_new(engine.address, None, None)
        self.context: int = wasmtime.store_context(self.address)

    def limit_memory(self, size: int) -> None:
        as_usual = -1
        wasmtime.store_limiter(self.address, size, *[as_usual] * 4)

    def remember_memory(self, memory: Any) -> None:
        """`memory`: a pointer to the `wasmtime_memory_t` whose pages are given back at the end."""
        self._memory = memory

    def _delete(self, address: int) -> None:
        try:
            if self._memory is not None:
                size = int(wasmtime.memory_data_size(self.context, self._memory))
                if size >= _LARGE:
                    give_back(int(wasmtime.memory_data(self.context, self._memory) or 0), size)
        finally:
            wasmtime.store_delete(address)


_WRITABLE: Final = 0x200  # PyBUF_WRITE


def view(address: int, size: int) -> memoryview:
    """Bytes of guest memory, writable. The guest must outlive the view."""
    window: memoryview = wasmtime.memory_view(address, size, _WRITABLE)
    return window


class SharedMemory(Owned):
    """The memory that the workers of the `threads` build share."""

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
