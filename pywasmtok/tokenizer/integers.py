"""Lists of integers that exist already.

Making an integer for each id, and freeing it again, is nearly all that a list costs. So a process
that makes many long lists keeps the integers, and a list is made of references to them. CPython has
no function that picks many objects by number, but it has the parts of one: NumPy picks their
addresses, checking each number, and a function that takes any number of arguments makes a list of
what it is called with.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from .._locks import ForkSafeLock

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Integers"]

# Integers are kept in steps of `_STEP`, up to `_MOST`: at most 48 MB, if ids are that large.
_STEP = 1 << 16
_MOST = 1 << 20

_Call = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)


def _as_list(*items: int) -> list[int]:
    return list(items)


class Integers:
    """The integers from 0 to the largest that was asked for, and their addresses."""

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._addresses: NDArray[np.uintp] = np.empty(0, np.uintp)
        # Calls a function with arguments of which only the addresses are at hand. It counts the
        # references to them, as every call does.
        self._call = _Call(("PyObject_Vectorcall", ctypes.pythonapi))
        self._growing = ForkSafeLock()

    def __len__(self) -> int:
        return len(self._kept)

    def listed(self, data: bytes) -> list[int] | None:
        """A flat buffer of u32 as a list; `None` if one is so large that it is not kept."""
        ids = np.frombuffer(data, dtype=np.uint32)
        found = self._find(ids)
        if found is None:
            largest = int(ids.max())
            if largest >= _MOST:
                return None
            self._grow(largest)
            found = self._find(ids)
        first = ctypes.addressof(ctypes.c_char.from_buffer(found))
        listed: list[int] = self._call(_as_list, first, len(ids), None)
        return listed

    # `Any`: for type checkers an array of NumPy has a buffer from Python 3.12 on only.
    def _find(self, ids: NDArray[np.uint32]) -> Any:
        """The address of each; `None` if not all are kept. Each is compared with how many there
        are, since behind the last address could be anything."""
        try:
            return self._addresses.take(ids, mode="raise")
        except IndexError:
            return None

    def _grow(self, largest: int) -> None:
        with self._growing:
            wanted = (largest // _STEP + 1) * _STEP
            # Only ever more of them, and none is moved: others may be using the addresses. An
            # exception of a signal handler may come between the two steps.
            if wanted > len(self._kept):
                self._kept.extend(range(len(self._kept), wanted))
            if len(self._addresses) < len(self._kept):
                self._addresses = np.fromiter(map(id, self._kept), np.uintp, len(self._kept))
