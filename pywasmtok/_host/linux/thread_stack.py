"""Whether the stack of the current thread can hold the core.

wasmtime stops a guest that uses more than `MAX_WASM_STACK`, but only if the thread has that much:
on a smaller stack the guard page is hit first, and the process dies. Python threads get 8 MiB on
most systems, but `threading.stack_size(...)` or a C extension can make them much smaller.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Final

from ...errors import HostUnsupported
from ..wasm.config import KIB, MAX_WASM_STACK
from . import ON

# Half for the guest, half for Python and wasmtime below and above it.
NEEDED: Final = 2 * MAX_WASM_STACK

# Large enough for pthread_attr_t of every system (56 bytes on Linux, 64 on macOS).
_ATTRIBUTE_BYTES: Final = 256


class _Checked(threading.local):
    """Has the attribute `enough` in threads that were looked at, and lacks it in others."""

    enough: bool


checked: Final = _Checked()


def require() -> None:
    """Refuses a thread whose stack is too small; remembers one that is not."""
    size = stack_size()
    if size is not None and size < NEEDED:
        raise HostUnsupported(
            f"this thread has a stack of {size // KIB} KiB; the core needs {NEEDED // KIB} KiB",
            hint="Start the thread with a larger threading.stack_size()",
        )
    checked.enough = True


def require_once() -> None:
    """The same, checked once a thread: the cost of a check grows with the process's memory maps."""
    if not hasattr(checked, "enough"):
        require()


def stack_size() -> int | None:
    """Bytes of the current thread's stack; None where it cannot be known."""
    if ON:
        return _linux()
    if sys.platform == "darwin":
        libc = ctypes.CDLL(None)
        libc.pthread_self.restype = ctypes.c_void_p
        libc.pthread_get_stacksize_np.argtypes = [ctypes.c_void_p]
        libc.pthread_get_stacksize_np.restype = ctypes.c_size_t
        return int(libc.pthread_get_stacksize_np(libc.pthread_self()))
    return threading.stack_size() or None


def _linux() -> int | None:
    libc = ctypes.CDLL(None)
    libc.pthread_self.restype = ctypes.c_void_p
    libc.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
    if libc.pthread_getattr_np(libc.pthread_self(), attributes):
        return None
    try:
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        if libc.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size)):
            return None
        return size.value
    finally:
        libc.pthread_attr_destroy(attributes)
