"""The memory of an instance that has loaded a tokenizer, kept to make more instances of it.

Parsing a file takes longer than anything else, so it happens once. Between calls everything that
an instance knows lies in its memory (its only mutable global, the stack pointer, is back at its
first value), so a new instance with the same bytes in its memory is a clone.

On Linux the bytes lie in a file that is mapped copy-on-write over the memory of each clone: that
takes 50 us instead of copying tens of megabytes, and clones share every page that they do not
change. The file is a snapshot on disk (`snapshots`), or a sealed anonymous one. Elsewhere the bytes
are copied.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from ..._own_file import OwnFile
from ...errors import HostError, MemoryLimit
from ..linux.sealed import sealed_file
from ..wasm.core import Core
from ..wasm.instance import Handles, Instance

# Borders of runs: no system has larger pages, and memory grows by as much.
ALIGNMENT: Final = 64 * 1024

# Memory is scanned in units of this size: each is written, or left out as a hole.
_CHUNK: Final = 16 * 1024
_ZEROS: Final = bytes(_CHUNK)

# Each run is a mapping in every clone, and a process has 65,530 mappings by default.
_MOST_RUNS: Final = 16
# Of an instance: its memory, what is reserved behind it, its store.
_OTHER_MAPS: Final = 4
# A run of zeros of this length is worth one more mapping.
_WORTH_A_GAP: Final = 4 * ALIGNMENT

# From the kernel's generic headers: the same on every architecture that wasmtime-py runs on.
_PROT_READ_WRITE: Final = 1 | 2
_MAP_PRIVATE_FIXED: Final = 0x02 | 0x10
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class Run(NamedTuple):
    """A part of the memory, and where in the file it is. All are multiples of `ALIGNMENT`."""

    start: int
    length: int
    place: int


class Part(NamedTuple):
    """What is in a run."""

    content: memoryview
    stretches: Sequence[tuple[int, int]]
    """From where to where in it something is set; all else are zeros."""

    @classmethod
    def of(cls, content: memoryview) -> Part:
        return cls(content, _not_zero(content))


class Layout(NamedTuple):
    """What is to be known of a memory beside its bytes."""

    handles: Handles
    size: int
    first: int
    """Bytes of memory that an instance starts with, the data of the module among them."""
    runs: list[Run]


class Image:
    """Memory of one loaded tokenizer, and where in it the session and the tokenizer are."""

    def __init__(
        self,
        layout: Layout,
        file: int | None,
        parts: Sequence[Part] = (),
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Owns `file`, in which the runs are; without one they are copied out of `parts`."""
        self.layout = layout
        self.size = layout.size
        # Facts of the file that are known without the image: its format, its number of tokens.
        self.about: Mapping[str, Any] = about or {}
        # Whether it can be loaded again after this process has dropped it.
        self.kept_on_disk = False
        self._file = None if file is None else OwnFile(file)
        self._copies: list[tuple[int, bytes]] = []
        if self._file is not None:
            # Not at the end of the process, which closes it anyway: a thread may still clone then.
            weakref.finalize(self, self._file.close).atexit = False
            return
        for run, part in zip(layout.runs, parts, strict=True):
            # There a fresh instance has something else than zeros.
            kept = min(max(0, layout.first - run.start), run.length)
            stretches = [(0, kept), *((max(begin, kept), end) for begin, end in part.stretches)]
            for begin, end in stretches:
                if begin < end:
                    self._copies.append((run.start + begin, bytes(part.content[begin:end])))

    @classmethod
    def of(cls, instance: Instance, about: Mapping[str, Any] | None = None) -> Image:
        return cls.of_memory(*memory_of(instance), about)

    @classmethod
    def of_memory(
        cls,
        layout: Layout,
        parts: Sequence[Part],
        about: Mapping[str, Any] | None = None,
    ) -> Image:
        """`parts` are the contents of the runs."""
        return cls(layout, _anonymous_file(layout, parts), parts, about)

    @property
    def shared(self) -> bool:
        """Whether clones share the pages that they do not change."""
        return self._file is not None

    @property
    def maps(self) -> int:
        """How many memory maps a clone takes, at most: each run, what is between, and guards."""
        return 2 * len(self.layout.runs) + _OTHER_MAPS if self.shared else _OTHER_MAPS

    def clone(self, core: Core, memory_cap: int | None = None) -> Instance:
        if memory_cap is not None and self.size > memory_cap:
            raise MemoryLimit.of(
                f"the tables of this tokenizer take {self.size} bytes; a call may use {memory_cap}",
                memory_cap,
                self.size,
                hint="Limits(memory=...) moves the bound",
            )
        if self._file is not None and not self._file.is_open:
            raise HostError(
                "no instance can be made: other code has closed the file of the memory",
                hint="A program that closes all descriptors loads its tokenizers afterwards",
            )
        instance = Instance(core, memory_cap=memory_cap)
        instance.grow_to(self.size)
        if self._file is None:
            for start, chunk in self._copies:
                instance.write(start, chunk)
        else:
            self._map_over(instance, self._file)
        instance.adopt(self.layout.handles)
        return instance

    def _map_over(self, instance: Instance, file: OwnFile) -> None:
        base = instance.base()
        # Grown above to at least this size, and wasmtime's mapping never moves: these pages are
        # the guest's. Dropping the instance unmaps its whole reservation, ours with it.
        if instance.size < self.size:
            raise MemoryError("the memory of a clone is smaller than the image")
        mmap = _mmap()
        for start, length, place in self.layout.runs:
            mapped = mmap(
                base + start, length, _PROT_READ_WRITE, _MAP_PRIVATE_FIXED, file.number, place
            )
            if mapped == _MAP_FAILED:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))


def memory_of(instance: Instance) -> tuple[Layout, list[Part]]:
    """The parts of the memory to keep: all but long runs of zeros. Views, not copies."""
    memory = instance.read(0, instance.size)
    first = instance.first_size
    found = _not_zero(memory)
    runs: list[Run] = []
    parts = []
    place = 0
    for begin, end in _used(found, first):
        runs.append(Run(begin, end - begin, place))
        # A stretch ends in the run in which it begins: between two of them are zeros.
        stretches = [(at - begin, to - begin) for at, to in found if begin <= at < end]
        parts.append(Part(memory[begin:end], stretches))
        place += end - begin
    return Layout(instance.handles(), len(memory), first, runs), parts


def _used(found: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int]]:
    """Stretches of the memory, few enough to be mapped one by one. The beginning is always among
    them: zeros of ours must cover the data that a fresh instance has there."""
    stretches: list[tuple[int, int]] = []
    for start, stop in ((0, first), *found):
        begin, end = start // ALIGNMENT * ALIGNMENT, -(-stop // ALIGNMENT) * ALIGNMENT
        if stretches and begin <= stretches[-1][1]:
            stretches[-1] = stretches[-1][0], max(end, stretches[-1][1])
        else:
            stretches.append((begin, end))
    gaps = sorted((after[0] - before[1] for before, after in pairwise(stretches)), reverse=True)
    bridged = max([_WORTH_A_GAP, *gaps[_MOST_RUNS - 1 : _MOST_RUNS]])
    joined: list[tuple[int, int]] = []
    for begin, end in stretches:
        if joined and begin - joined[-1][1] <= bridged:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined


def _not_zero(memory: memoryview) -> list[tuple[int, int]]:
    """From where to where something is set, by chunks."""
    found: list[tuple[int, int]] = []
    for start in range(0, len(memory), _CHUNK):
        # As bytes: views are compared byte by byte, which takes ten times as long.
        chunk = memory[start : start + _CHUNK].tobytes()
        if chunk != _ZEROS[: len(chunk)]:
            if found and found[-1][1] == start:
                found[-1] = found[-1][0], start + len(chunk)
            else:
                found.append((start, start + len(chunk)))
    return found


def write_run(file: int, part: Part, place: int) -> None:
    """Zeros are left out: what is not written to a new file is a hole of zeros."""
    for begin, end in part.stretches:
        write_all(file, part.content[begin:end], place + begin)


def write_all(file: int, content: memoryview, place: int) -> None:
    while content:
        written = os.pwrite(file, content, place)
        content, place = content[written:], place + written


def _anonymous_file(layout: Layout, parts: Sequence[Part]) -> int | None:
    """None where the system has no such files, or no more of them."""

    def fill(file: int) -> None:
        os.ftruncate(file, max(run.place + run.length for run in layout.runs))
        for run, part in zip(layout.runs, parts, strict=True):
            write_run(file, part, run.place)

    try:
        return sealed_file("pywasmtok", fill)
    except OSError:
        return None


@cache
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
