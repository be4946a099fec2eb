"""Ids as a list of Python integers, by the way that takes the least time for so many."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .integers import Integers

__all__ = ["list_of"]

# From this number of bytes on, the checks for the faster ways cost less than they save.
_SIGNED_BYTES = 1024
_SHARED_BYTES = 2048

# A process that has listed so many ids keeps integers from then on. Keeping an integer costs as
# much as listing eight; each later use costs less than half.
_MANY_IDS = 1 << 17

_listed = 0
_integers: Integers | None = None


def list_of(data: bytes) -> list[int]:
    """The ids of a flat buffer of u32."""
    size = len(data)
    if size < _SIGNED_BYTES:
        return memoryview(data).cast("I").tolist()
    if size >= _SHARED_BYTES:
        shared = _shared(data)
        if shared is not None:
            return shared
    return _countable(data).tolist()


def _countable(data: bytes) -> memoryview:
    """With a sign, which takes Python a sixth less time, where no id is so large that it would be
    read as a negative one."""
    is_small = data[3::4].isascii()
    return memoryview(data).cast("i" if is_small else "I")


def _shared(data: bytes) -> list[int] | None:
    """A list of shared integers, if this process keeps them by now."""
    global _listed, _integers  # noqa: PLW0603
    if _integers is None:
        # Threads that count at once may count too little, which does not matter.
        _listed += len(data) // 4
        # On other interpreters `id` is no address. NumPy is used only if it is loaded: importing it
        # takes as long as hundreds of lists.
        if (
            _listed < _MANY_IDS
            or "numpy" not in sys.modules
            or sys.implementation.name != "cpython"
        ):
            return None
        from .integers import Integers

        _integers = Integers()
    return _integers.listed(data)
