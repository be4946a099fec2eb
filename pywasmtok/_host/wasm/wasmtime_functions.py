"""The C API of wasmtime: its library, and the functions of it that this package calls.

The library comes with the Python package `wasmtime`. That package is not imported: it declares all
1,500 functions, which takes a third of a load with a snapshot. Most names here are those of the C
API without `wasm_` or `wasmtime_`; https://docs.wasmtime.dev/c-api/ says what they do.

Addresses are Python integers in this package.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import (
    c_bool,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint8,
    c_uint64,
    c_void_p,
)
from importlib.util import find_spec
from typing import Any, Final

from ...errors import HostUnsupported

_FILES: Final = {"darwin": "_libwasmtime.dylib", "win32": "_wasmtime.dll"}
_MACHINES: Final = {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}


def _package() -> str:
    """The folder of the Python package."""
    found = find_spec("wasmtime")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'wasmtime'", name="wasmtime")
    return next(iter(found.submodule_search_locations))


def cpu_name() -> str:
    if hasattr(os, "uname"):
        return os.uname().machine
    # Imported only where it is needed: it takes milliseconds.
    import platform

    return platform.machine()


def _opened() -> ctypes.CDLL:
    here = cpu_name()
    folder = f"{sys.platform}-{_MACHINES.get(here, here)}"
    path = os.path.join(PACKAGE, folder, _FILES.get(sys.platform, "_libwasmtime.so"))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise HostUnsupported(
            f"the library of wasmtime cannot be opened: {error}",
            hint="Reinstall wasmtime, or use a platform that it has a wheel for",
        ) from None


PACKAGE: Final = _package()
_library: Final = _opened()


def function(name: str, result: Any, *parameters: Any) -> Any:
    """A C function of wasmtime. A call releases the GIL."""
    return ctypes.CFUNCTYPE(result, *parameters)((name, _library))


def _keeping_gil(name: str, result: Any, *parameters: Any) -> Any:
    """A function that is called without releasing the GIL. For work of some nanoseconds: after a
    release, a thread may wait milliseconds for the GIL."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, _library))


def address_of(name: str) -> int:
    """The address of a C function."""
    return ctypes.cast(getattr(_library, name), c_void_p).value or 0


class Bytes(ctypes.Structure):
    """`wasm_byte_vec_t`."""

    _fields_ = (("size", c_size_t), ("data", c_void_p))


# Where a function writes an address, or bytes.
_address_out = ctypes.POINTER(c_void_p)
_bytes_out = ctypes.POINTER(Bytes)

config_new = function("wasm_config_new", c_void_p)
config_flag_set = function("wasmtime_config_cranelift_flag_set", None, c_void_p, c_char_p, c_char_p)
engine_new = function("wasm_engine_new_with_config", c_void_p, c_void_p)
engine_delete = function("wasm_engine_delete", None, c_void_p)
engine_increment_epoch = _keeping_gil("wasmtime_engine_increment_epoch", None, c_void_p)

module_new = function("wasmtime_module_new", c_void_p, c_void_p, c_char_p, c_size_t, _address_out)
module_serialize = function("wasmtime_module_serialize", c_void_p, c_void_p, _bytes_out)
module_deserialize = function(
    "wasmtime_module_deserialize", c_void_p, c_void_p, c_void_p, c_size_t, _address_out
)
module_deserialize_file = function(
    "wasmtime_module_deserialize_file", c_void_p, c_void_p, c_char_p, _address_out
)
module_delete = function("wasmtime_module_delete", None, c_void_p)

store_new = function("wasmtime_store_new", c_void_p, c_void_p, c_void_p, c_void_p)
store_delete = function("wasmtime_store_delete", None, c_void_p)
store_context = function("wasmtime_store_context", c_void_p, c_void_p)
store_limiter = function("wasmtime_store_limiter", None, c_void_p, *[c_int64] * 5)
context_set_epoch_deadline = _keeping_gil(
    "wasmtime_context_set_epoch_deadline", None, c_void_p, c_uint64
)
# Without types of parameters: `wasmtime_machine.argument` converts each address or size.
context_set_epoch_deadline_unchecked = _keeping_gil("wasmtime_context_set_epoch_deadline", None)
# Its parameters: context, data, where to write the number of further ticks, and where to write what
# happens at the deadline.
DeadlineCallback = ctypes.CFUNCTYPE(
    c_size_t, c_void_p, c_void_p, ctypes.POINTER(c_uint64), ctypes.POINTER(c_uint8)
)
store_epoch_deadline_callback = function(
    "wasmtime_store_epoch_deadline_callback", None, c_void_p, DeadlineCallback, c_void_p, c_void_p
)

instance_new = function(
    "wasmtime_instance_new",
    *(c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, _address_out),
)
instance_export_get = function(
    "wasmtime_instance_export_get", c_bool, c_void_p, c_void_p, c_char_p, c_size_t, c_void_p
)
# Without types of parameters: `wasmtime_machine.argument` converts each address or size.
func_call_unchecked = function("wasmtime_func_call_unchecked", c_void_p)
func_call_unchecked_keeping_gil = _keeping_gil("wasmtime_func_call_unchecked", c_void_p)
global_get = function("wasmtime_global_get", None, c_void_p, c_void_p, c_void_p)
global_set = function("wasmtime_global_set", c_void_p, c_void_p, c_void_p, c_void_p)

memory_data = _keeping_gil("wasmtime_memory_data", c_void_p, c_void_p, c_void_p)
memory_data_size = _keeping_gil("wasmtime_memory_data_size", c_size_t, c_void_p, c_void_p)
memory_grow = function("wasmtime_memory_grow", c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)
memorytype_new = function(
    "wasmtime_memorytype_new",
    *(c_void_p, c_uint64, c_bool, c_uint64, c_bool, c_bool, c_uint8, _address_out),
)
memorytype_delete = function("wasm_memorytype_delete", None, c_void_p)
sharedmemory_new = function("wasmtime_sharedmemory_new", c_void_p, c_void_p, c_void_p, _address_out)
sharedmemory_delete = function("wasmtime_sharedmemory_delete", None, c_void_p)
sharedmemory_data = _keeping_gil("wasmtime_sharedmemory_data", c_void_p, c_void_p)
sharedmemory_data_size = _keeping_gil("wasmtime_sharedmemory_data_size", c_size_t, c_void_p)

error_new = function("wasmtime_error_new", c_void_p, c_char_p)
error_message = function("wasmtime_error_message", None, c_void_p, _bytes_out)
error_delete = function("wasmtime_error_delete", None, c_void_p)
trap_code = function("wasmtime_trap_code", c_bool, c_void_p, c_void_p)
trap_delete = function("wasm_trap_delete", None, c_void_p)
byte_vec_delete = function("wasm_byte_vec_delete", None, _bytes_out)

# Of CPython: bytes at an address as a memoryview.
memory_view = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_ssize_t, c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
