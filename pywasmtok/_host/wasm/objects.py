"""Engines, modules and stores of wasmtime, deleted with the objects here.

Not so when the interpreter ends: then the globals that deleting needs may be gone, and the system
takes the memory back anyway.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from ctypes import byref, c_bool, c_uint64, c_void_p
from typing import Any, Final

from . import library

__all__ = ["Engine", "Module", "Owned", "Store", "WasmtimeError", "error_text", "made"]

# The default of an argument below: globals of this module may be gone, too.
_ENDING: Final = sys.is_finalizing


class WasmtimeError(Exception):
    """What wasmtime refused, in its words."""


def error_text(error: int) -> str:
    """Frees the error."""
    text = library.Bytes()
    library.error_message(error, byref(text))
    library.error_delete(error)
    return _taken(text).decode("utf-8", "replace")


def made(create: Callable[..., int | None], *arguments: Any) -> int:
    """The address of what a function makes that writes it behind its arguments, and that answers an
    error or nothing."""
    result = c_void_p()
    error = create(*arguments, byref(result))
    if error:
        raise WasmtimeError(error_text(error))
    return result.value or 0


def _taken(data: library.Bytes) -> bytes:
    """Frees the original."""
    copy = ctypes.string_at(data.data, data.size) if data.size else b""
    library.byte_vec_delete(byref(data))
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
        config = library.config_new()
        for name, value in settings.items():
            kind = c_bool if isinstance(value, bool) else c_uint64
            library.function(f"wasmtime_config_{name}_set", None, c_void_p, kind)(config, value)
        for name, text in (flags or {}).items():
            library.config_flag_set(config, name.encode(), text.encode())
        self.address = library.engine_new(config)

    def _delete(self, address: int) -> None:
        library.engine_delete(address)


class Module(Owned):
    def __init__(self, address: int) -> None:
        self.address = address

    @classmethod
    def compile(cls, engine: Engine, wasm: bytes) -> Module:
        return cls(made(library.module_new, engine.address, wasm, len(wasm)))

    @classmethod
    def deserialize(cls, engine: Engine, native: Any) -> Module:
        """`native`: an array of `ctypes`, or bytes. It is copied."""
        return cls(made(library.module_deserialize, engine.address, native, len(native)))

    @classmethod
    def deserialize_file(cls, engine: Engine, path: str) -> Module:
        return cls(made(library.module_deserialize_file, engine.address, path.encode()))

    def serialize(self) -> bytes:
        native = library.Bytes()
        error = library.module_serialize(self.address, byref(native))
        if error:
            raise WasmtimeError(error_text(error))
        return _taken(native)

    def _delete(self, address: int) -> None:
        library.module_delete(address)


class Store(Owned):
    def __init__(self, engine: Engine) -> None:
        self.address = library.store_new(engine.address, None, None)
        self.context: int = library.store_context(self.address)
        self._engine = engine

    def limit_memory(self, size: int) -> None:
        unlimited = -1
        library.store_limiter(self.address, size, *[unlimited] * 4)

    def _delete(self, address: int) -> None:
        library.store_delete(address)
