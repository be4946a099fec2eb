"""A copy of a file that nobody can change any more, which the system can map like a file.

Compiled code is mapped by wasmtime faster than it is copied: only those pages are touched that are
used. But mapping the file itself would be a promise of everybody who may write to it to leave it
alone for as long as the process lives: a file that is cut off is a signal that ends the process. So
its bytes go to a file in memory first, which is sealed.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from io import FileIO
from typing import Final

# For people who look at what a process has open.
NAME: Final = "pywasmtok-code"

# One call of `sendfile` copies no more.
_MOST: Final = 0x7FFF_F000


class Sealed:
    """Bytes of a file, and a name under which they can be opened, where there is one."""

    def __init__(self, content: mmap.mmap, behind: int, descriptor: int | None) -> None:
        """The last `behind` bytes are apart."""
        self._content = content
        self._descriptor = descriptor
        self._whole = memoryview(content)
        self.data = self._whole[: len(content) - behind]
        self.behind = self._whole[len(content) - behind :]

    @property
    def path(self) -> str | None:
        """Until this is closed. What has mapped the file by then keeps it."""
        return None if self._descriptor is None else f"/proc/self/fd/{self._descriptor}"

    def close(self) -> None:
        for view in (self.data, self.behind, self._whole):
            view.release()
        self._content.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def sealed_copy(file: FileIO, size: int, behind: int) -> Sealed:
    """Of the first `size` bytes of a file, of which the last ones are apart. What a file that was
    cut off in this moment leaves out is zero."""
    with contextlib.suppress(OSError, AttributeError):
        return _in_memory_file(file, size, behind)
    return _in_memory(file, size, behind)


def _in_memory_file(file: FileIO, size: int, behind: int) -> Sealed:
    if sys.platform != "linux":
        raise OSError("no files in memory")
    import fcntl

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        done = 0
        while done < size:
            step = os.sendfile(descriptor, file.fileno(), done, min(size - done, _MOST))
            if not step:
                os.ftruncate(descriptor, size)
                break
            done += step
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        return Sealed(mmap.mmap(descriptor, size, flags, mmap.PROT_READ), behind, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _in_memory(file: FileIO, size: int, behind: int) -> Sealed:
    content = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    # A page of 2 MB is one fault, and clearing small ones takes longer than reading the file.
    with contextlib.suppress(AttributeError, OSError):
        content.madvise(mmap.MADV_HUGEPAGE)
    file.seek(0)
    file.readinto(content)
    return Sealed(content, behind, None)
