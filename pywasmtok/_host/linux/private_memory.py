"""How much of a guest's memory is its own: the pages that it has written to.

Linux says it page by page: `/proc/self/pagemap` has eight bytes for each, of which the last tells a
page of a file from one that this process alone has. That takes 0.2 ms for an instance; adding up
`smaps` takes as long as the process has maps.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from functools import cache
from typing import Any, Final

from . import ON

PAGE: Final = 4096
_ENTRY: Final = 8
# Of the last byte of an entry.
_OF_A_FILE, _SWAPPED, _PRESENT = 0x20, 0x40, 0x80

# From the kernel's generic headers.
_DONT_NEED: Final = 4
# Takes half a millisecond.
_PIECE: Final = 8 << 20

_RUN: Final = re.compile(b"\x01+")

# Bytes that mean a page of its own: in memory or swapped out, and of no file.
_OWN: Final = bytes(
    int(bool(byte & (_PRESENT | _SWAPPED)) and not byte & _OF_A_FILE) for byte in range(256)
)


def own_bytes(address: int, size: int) -> int | None:
    """Of so many bytes of this process; None where the system does not say."""
    pages = own_pages(address, size)
    return None if pages is None else pages.count(1) * PAGE


def own_ranges(address: int, size: int) -> list[tuple[int, int]] | None:
    """The same: where they begin and end, counted from the address."""
    pages = own_pages(address, size)
    if pages is None:
        return None
    return [(one.start() * PAGE, one.end() * PAGE) for one in _RUN.finditer(pages)]


def own_pages(address: int, size: int) -> bytes | None:
    """A byte for each page: 1 for one of its own."""
    if not ON or os.sysconf("SC_PAGE_SIZE") != PAGE:
        return None
    try:
        file = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        entries = os.pread(file, size // PAGE * _ENTRY, address // PAGE * _ENTRY)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.close(file)
    if len(entries) != size // PAGE * _ENTRY:
        return None
    return entries[_ENTRY - 1 :: _ENTRY].translate(_OWN)


def give_back(address: int, size: int) -> None:
    """Frees pages whose content is no longer needed. It does so in pieces: between them other
    threads can map memory."""
    if not ON:
        return
    advise = _madvise()
    for start in range(0, size, _PIECE):
        advise(address + start, min(_PIECE, size - start), _DONT_NEED)


@cache
def _madvise() -> Any:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def resident_bytes() -> int | None:
    """Of this process; None where the system does not say."""
    if not ON:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def anonymous_bytes() -> int | None:
    """Of this process: memory that is in no file, so that the system cannot drop it. None where it
    does not say."""
    if not ON:
        return None
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            found = [line.split()[1] for line in file if line.startswith("RssAnon:")]
        return int(found[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None


def most_maps() -> int:
    """How many memory maps this process may have."""
    try:
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 65_530
