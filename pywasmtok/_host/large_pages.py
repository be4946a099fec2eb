"""Large pages for what a busy instance writes to.

The core looks into tables of megabytes, anywhere in them, and with pages of 4 KB it needs more
translations of addresses than a processor remembers. Pages of a snapshot's file cannot be larger.
But what an instance has written to is its own in any case, above all its cache of pieces. So once
an instance has been busy for a while, such parts of its memory move to pages of 2 MB, one by one:
moving one takes one to five milliseconds, for which somebody's call has to wait.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._choice import is_off
from .private_memory import PAGE, own_pages
from .trap_handlers import BETWEEN_LOOKS

if TYPE_CHECKING:
    from .instance import Instance

VARIABLE: Final = "PYWASMTOK_LARGE_PAGES"

_SIZE: Final = 2 << 20
_PAGES: Final = _SIZE // PAGE

# After 64 MB, and whenever it is twice as much again: moving saves as much time in as much text as
# it takes.
_BUSY: Final = (64 << 20) // BETWEEN_LOOKS

# The rest of a large page is memory that the instance would not have of its own otherwise.
_WORTH_MOVING: Final = _PAGES // 4

# From the kernel's headers; the same on x86-64 and on 64-bit ARM.
_READ_WRITE: Final = 1 | 2
_PRIVATE_ANONYMOUS: Final = 0x02 | 0x20
_MAY_MOVE_FIXED: Final = 1 | 2
_USE_LARGE_PAGES: Final = 14
_FAILED: Final = ctypes.c_void_p(-1).value

_SYSTEM: Final = "/sys/kernel/mm/transparent_hugepage/"


class Settling:
    """How far one instance has come."""

    __slots__ = ("_looks", "_moved", "_waiting")

    def __init__(self) -> None:
        self._looks = 0
        self._moved: set[int] = set()
        self._waiting: list[int] = []

    def look(self, instance: Instance) -> None:
        """After every so much of input. Nobody else may be using the instance."""
        self._looks += 1
        if self._looks >= _BUSY and not self._looks & (self._looks - 1):
            base = instance.base()
            found = set(worth_moving(base, instance.size)) - self._moved
            self._waiting = sorted(found, reverse=True)
        if self._waiting:
            start = self._waiting.pop()
            if move(start):
                self._moved.add(start)


def worth_moving(base: int, size: int) -> list[int]:
    """Addresses of parts of this memory, as large as a large page, with enough pages of its own."""
    own = own_pages(base, size) if _system_calls() is not None else None
    if own is None:
        return []
    first = -base % _SIZE
    return [
        base + start
        for start in range(first, size - _SIZE + 1, _SIZE)
        if own.count(1, start // PAGE, start // PAGE + _PAGES) >= _WORTH_MOVING
    ]


def move(address: int) -> bool:
    """Copies one part to a large page elsewhere and puts that in its place. Until then it is as it
    was, whatever fails."""
    system = _system_calls()
    if system is None:
        return False
    # Twice as much: somewhere in there a large page can begin.
    found = system.mmap(None, 2 * _SIZE, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if found == _FAILED:
        return False
    page = found + -found % _SIZE
    end, behind = page + _SIZE, found + 2 * _SIZE
    for start, length in ((found, page - found), (end, behind - end)):
        if length:
            system.munmap(start, length)
    system.madvise(page, _SIZE, _USE_LARGE_PAGES)
    ctypes.memmove(page, address, _SIZE)
    if system.mremap(page, _SIZE, _SIZE, _MAY_MOVE_FIXED, address) == _FAILED:
        system.munmap(page, _SIZE)
        return False
    return True


class _System(NamedTuple):
    mmap: Callable[..., int]
    mremap: Callable[..., int]
    munmap: Callable[..., int]
    madvise: Callable[..., int]


@cache
def _system_calls() -> _System | None:
    """None where there are no large pages, or nobody wants them."""
    if not sys.platform.startswith("linux") or is_off(VARIABLE):
        return None
    try:
        with open(_SYSTEM + "enabled", encoding="ascii") as file:
            refused = "[never]" in file.read()
        with open(_SYSTEM + "hpage_pmd_size", encoding="ascii") as file:
            fits = int(file.read()) == _SIZE
    except (OSError, ValueError):
        return None
    if refused or not fits:
        return None
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int

    def function(name: str, result: Any, *parameters: Any) -> Any:
        found = library[name]
        found.restype, found.argtypes = result, parameters
        return found

    return _System(
        function("mmap", pointer, pointer, size, number, number, number, ctypes.c_long),
        function("mremap", pointer, pointer, size, size, number, pointer),
        function("munmap", number, pointer, size),
        function("madvise", number, pointer, size, number),
    )
