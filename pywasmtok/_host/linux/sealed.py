"""An immutable copy of the beginning of a file, and its checksum.

Mapping compiled code is faster for wasmtime than copying it: only the pages in use are touched. But
a mapped file must not change while the process lives: one that is truncated raises SIGBUS, which
ends the process. So the bytes are first copied to a file in memory, which is then sealed. The
checksum is taken of the bytes that were copied.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import zlib
from collections.abc import Callable
from functools import cached_property
from io import FileIO
from typing import Final

from . import ON

# For people who look at what a process has open.
NAME: Final = "pywasmtok-code"

# Copied at a time: small enough to be in the processor's cache when its checksum is taken.
_BLOCK: Final = 512 * 1024


class Sealed:
    """Bytes of a file, and a name under which they can be opened, where there is one."""

    def __init__(self, size: int, checksum: int, content: mmap.mmap | int) -> None:
        """`content`: a file in memory, or the memory itself."""
        self.checksum = checksum
        """CRC-32."""
        self._size = size
        self._content = content

    @property
    def path(self) -> str | None:
        """A path to open the content, valid until this is closed. Mappings made by then stay
        valid."""
        content = self._content
        return f"/proc/self/fd/{content}" if isinstance(content, int) and content >= 0 else None

    @cached_property
    def data(self) -> mmap.mmap:
        """The bytes in memory of this process. Other mappings do not see what is written to it."""
        content = self._content
        if not isinstance(content, int):
            return content
        return mmap.mmap(content, self._size, access=mmap.ACCESS_COPY)

    def close(self) -> None:
        content, self._content = self._content, -1
        if not isinstance(content, int):
            content.close()
        elif content >= 0:
            os.close(content)
            if "data" in self.__dict__:
                self.data.close()


def sealed_copy(file: FileIO, size: int) -> Sealed:
    """Of the first `size` bytes of a file, which is then read to there. EOFError: it has fewer."""
    with contextlib.suppress(OSError, AttributeError):
        return _in_memory_file(file, size)
    return _in_memory(file, size)


def sealed_file(name: str, fill: Callable[[int], None]) -> int:
    """A file in memory with what `fill` writes into it, and nothing changes it afterwards. OSError:
    the system has no such files, or no more of them."""
    if not ON or not hasattr(os, "memfd_create"):
        raise OSError("no files in memory")
    import fcntl

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    made = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        fill(made)
        fcntl.fcntl(made, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(made)
        raise
    return made


def _in_memory_file(file: FileIO, size: int) -> Sealed:
    checksum = 0

    def fill(copy: int) -> None:
        nonlocal checksum
        left = size
        buffer = memoryview(bytearray(min(_BLOCK, size)))
        file.seek(0)
        while left:
            block = _filled(file, buffer[:left])
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
            while block:
                block = block[os.write(copy, block) :]

    made = sealed_file(NAME, fill)
    return Sealed(size, checksum, made)


def _in_memory(file: FileIO, size: int) -> Sealed:
    content = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    # A page of 2 MB is one fault. Clearing small pages takes longer than reading the file.
    with contextlib.suppress(AttributeError, OSError):
        content.madvise(mmap.MADV_HUGEPAGE)
    file.seek(0)
    with memoryview(content) as room:
        place = 0
        while place < size:
            place += len(_filled(file, room[place:]))
    return Sealed(size, zlib.crc32(content), content)


def _filled(file: FileIO, room: memoryview) -> memoryview:
    """The part of it that has been read now."""
    count = file.readinto(room)
    if not count:
        raise EOFError("the file was cut off")
    return room[:count]
