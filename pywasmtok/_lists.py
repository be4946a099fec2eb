"""Ids as a list of Python integers.

Making an integer for each id, and freeing it again, is nearly all that a list costs. So a process
that makes many long lists keeps the integers, and a list is made of references to them. CPython has
no function that picks many objects by number, but it has the parts of one: NumPy picks their
addresses, checking each number, and a function that takes any number of arguments makes a list of
what it is called with. Where NumPy is not loaded, the plain way serves.
"""

from __future__ import annotations

import ctypes
import sys
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["list_of"]

# From so many bytes of ids on the checks before the quicker ways are repaid.
_SIGNED_BYTES = 1024
_SHARED_BYTES = 2048

# Who has listed so many ids goes on listing. Keeping an integer takes as long as listing eight,
# each of which takes less than half as long afterwards.
_MANY_IDS = 1 << 17

# Integers are kept by steps of so many, and no larger ones: 48 MB, if anybody has such ids.
_STEP = 1 << 16
_MOST = 1 << 20


def list_of(data: bytes) -> list[int]:
    """The ids of a flat buffer of u32."""
    size = len(data)
    if size < _SIGNED_BYTES:
        return memoryview(data).cast("I").tolist()
    if size >= _SHARED_BYTES:
        shared = _kept.listed(data)
        if shared is not None:
            return shared
    return _countable(data).tolist()


def _countable(data: bytes) -> memoryview:
    """With a sign, which takes Python a sixth less time, where no id is so large that it would be
    read as a negative one."""
    is_small = data[3::4].isascii()
    return memoryview(data).cast("i" if is_small else "I")


def _as_list(*items: int) -> list[int]:
    return list(items)


def _caller() -> Any:
    """Calls a function with arguments of which only the addresses are at hand."""
    # Elsewhere `id` is no address.
    if sys.implementation.name != "cpython":
        return None
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    )
    return kind(("PyObject_Vectorcall", ctypes.pythonapi))


class _Kept:
    """The integers from 0 on, and their addresses, once they are worth it."""

    def __init__(self) -> None:
        self._listed = 0
        self._integers: list[int] = []
        self._addresses: NDArray[numpy.uintp] | None = None
        self._call = _caller()
        self._growing = Lock()

    def listed(self, data: bytes) -> list[int] | None:
        """`None` where the plain way has to serve."""
        # Not loaded for this: that takes as long as thousands of lists.
        np = sys.modules.get("numpy")
        if np is None or self._call is None:
            return None
        if self._addresses is None:
            # Threads may count too little, which does not matter.
            self._listed += len(data) // 4
            if self._listed < _MANY_IDS:
                return None
        ids = np.frombuffer(data, dtype=np.uint32)
        # `Any`: for type checkers an array of NumPy has a buffer from Python 3.12 on only.
        found: Any = self._found(ids)
        if found is None:
            if not self._grow(int(ids.max()), np):
                return None
            found = self._found(ids)
            assert found is not None
        first = ctypes.addressof(ctypes.c_char.from_buffer(found))
        listed: list[int] = self._call(_as_list, first, len(ids), None)
        return listed

    def _found(self, ids: NDArray[numpy.uint32]) -> NDArray[numpy.uintp] | None:
        """The address of each, if all are kept: each is compared with their number, since what is
        behind the last address could be the address of anything."""
        addresses = self._addresses
        if addresses is None:
            return None
        try:
            return addresses.take(ids, mode="raise")
        except IndexError:
            return None

    def _grow(self, largest: int, np: Any) -> bool:
        if largest >= _MOST:
            return False
        with self._growing:
            wanted = (largest // _STEP + 1) * _STEP
            # Only ever more of them, and none is moved: others may be using the addresses.
            if wanted > len(self._integers):
                self._integers.extend(range(len(self._integers), wanted))
                self._addresses = np.fromiter(map(id, self._integers), np.uintp, wanted)
        return True


_kept = _Kept()
