"""The memory of an instance that has loaded a tokenizer, kept to make more instances of it.

Parsing a file takes longer than anything else, so it happens once. Between calls everything that
an instance knows lies in its memory (its only mutable global, the stack pointer, is back at its
first value), so a new instance with the same bytes in its memory is a clone.

On Linux the bytes lie in a sealed anonymous file that is mapped copy-on-write over the memory of
each clone: that takes 50 us instead of copying tens of megabytes, and clones share every page that
they do not change. Elsewhere they are copied.
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from typing import Any, Final

from .core import Core
from .instance import Handles, Instance

_CHUNK: Final = 64 * 1024
_ZEROS: Final = bytes(_CHUNK)

# From the kernel's generic headers: the same on every architecture that wasmtime-py runs on.
_PROT_READ_WRITE: Final = 1 | 2
_MAP_PRIVATE_FIXED: Final = 0x02 | 0x10
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class Image:
    """Memory of one loaded tokenizer, and where in it the session and the tokenizer are."""

    def __init__(self, handles: Handles, size: int) -> None:
        self.handles = handles
        self.size = size
        self._file: int | None = None
        self._chunks: list[tuple[int, bytes]] = []

    @classmethod
    def of(cls, instance: Instance) -> Image:
        image = cls(instance.handles(), instance.size)
        memory = instance.read(0, image.size)
        if not image._capture_file(memory):
            image._chunks = [(start, bytes(chunk)) for start, chunk in _not_zero(memory)]
        return image

    @property
    def shared(self) -> bool:
        """Whether clones share the pages that they do not change."""
        return self._file is not None

    def clone(self, core: Core) -> Instance:
        instance = Instance(core)
        instance.grow_to(self.size)
        if self._file is None:
            for start, chunk in self._chunks:
                instance.write(start, chunk)
        else:
            self._map_over(instance)
        instance.adopt(self.handles)
        return instance

    def _capture_file(self, memory: memoryview) -> bool:
        """False where the system has no such files, or no more of them."""
        if not sys.platform.startswith("linux") or not hasattr(os, "memfd_create"):
            return False
        import fcntl

        try:
            file = os.memfd_create("pywasmtok", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError:
            return False
        try:
            os.ftruncate(file, len(memory))
            for start, chunk in _not_zero(memory):
                _write_all(file, chunk, start)
            seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
        except OSError:
            os.close(file)
            return False
        self._file = file
        weakref.finalize(self, os.close, file)
        return True

    def _map_over(self, instance: Instance) -> None:
        base = instance.base()
        # Grown above to at least this size, and wasmtime's mapping never moves: these pages are
        # the guest's. Dropping the instance unmaps its whole reservation, ours with it.
        if instance.size < self.size:
            raise MemoryError("the memory of a clone is smaller than the image")
        mapped = _mmap()(base, self.size, _PROT_READ_WRITE, _MAP_PRIVATE_FIXED, self._file, 0)
        if mapped == _MAP_FAILED:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))


def _not_zero(memory: memoryview) -> Any:
    """(place, chunk) of all chunks in which something is set: freed memory is zeroed and large."""
    for start in range(0, len(memory), _CHUNK):
        chunk = memory[start : start + _CHUNK]
        if chunk != _ZEROS[: len(chunk)]:
            yield start, chunk


def _write_all(file: int, chunk: memoryview, place: int) -> None:
    while chunk:
        written = os.pwrite(file, chunk, place)
        chunk, place = chunk[written:], place + written


def _mmap() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mmap
    function.restype = ctypes.c_void_p
    function.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    return function
