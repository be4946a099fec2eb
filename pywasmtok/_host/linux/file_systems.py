"""Where a file may be mapped for as long as a process lives, and locks on files.

On a local file system a mapping keeps its file, even when that is deleted. On a network file system
another machine may delete it, and a process that then touches such a page is killed by SIGBUS.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

from . import ON

# From the kernel's magic.h.
_LOCAL: Final = {
    0x0000EF53,  # ext2, ext3, ext4
    0x58465342,  # xfs
    0x9123683E,  # btrfs
    0x01021994,  # tmpfs
    0x858458F6,  # ramfs
    0x794C7630,  # overlayfs
    0x2FC12FC1,  # zfs
    0xF2F52010,  # f2fs
    0xCA451A4E,  # bcachefs
}

# `struct statfs` begins with its type and has about 120 bytes.
_ROOM: Final = 512


def may_be_mapped(file: int) -> bool:
    if not ON:
        return False
    about = ctypes.create_string_buffer(_ROOM)
    if _fstatfs()(file, about) != 0:
        return False
    # A long where longs have 64 bits, but for s390x, whose bytes come in the other order.
    width = 4 if sys.byteorder == "big" else ctypes.sizeof(ctypes.c_long)
    return int.from_bytes(about.raw[:width], sys.byteorder) & 0xFFFF_FFFF in _LOCAL


@cache
def _fstatfs() -> Any:
    function = ctypes.CDLL(None).fstatfs
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_int, ctypes.c_void_p]
    return function


def try_to_lock(file: int) -> bool:
    """For this process alone, until it closes the file. False: another one has the lock."""
    if sys.platform == "win32":
        # There, an open file cannot be deleted.
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
