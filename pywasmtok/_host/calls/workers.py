"""Instances of the `threads` build: one memory, one tokenizer in it, a session for each.

Each worker has a stack and a block of thread-local variables in the common memory. A fault of one
worker may damage the data of all, so after a trap the whole memory is dropped and the file loaded
anew. Not for untrusted data.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Final

from ...errors import ArtifactError, LimitExceeded, Unsupported
from ..wasm.core import INIT_TLS, Core
from ..wasm.instance import Handles, Instance
from ..wasm.status import OUT_OF_MEMORY, Interrupted
from ..wasm.wasmtime_objects import SharedMemory
from . import interrupt

# As large as the stack that the linker gives the first instance.
STACK_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seat:
    """What a worker occupies in the common memory; the next one can take it over."""

    stack: int
    tls: int
    session: int


class Group:
    """One shared memory with a tokenizer in it."""

    def __init__(self, core: Core, file: bytes, options: bytes = b"") -> None:
        if core.shared_memory_limits is None:
            raise ArtifactError(f"the core build {core.name!r} has no shared memory")
        self._core = core
        self._poisoned = False
        self._free: list[Seat] = []
        self._memory = SharedMemory(core.engine, core.shared_memory_limits)
        # Loads, and hands out memory; never encodes.
        self._leader = Instance(core, self._memory)
        self._tls_bytes = max(1, self._leader.exported_global("__tls_size"))
        interrupt.run(self._leader, lambda leader: _load(leader, file, options))

    @property
    def poisoned(self) -> bool:
        return self._poisoned

    def poison(self) -> None:
        """A call has ended in the middle of its work, perhaps with the guest's allocator locked.
        The leader would wait for that lock for ever, so its call ends too."""
        self._poisoned = True
        self._leader.cancel()

    def worker(self) -> Instance:
        """Raises `Interrupted` if the memory is poisoned meanwhile."""
        seat = self._free.pop() if self._free else self._leader.interruptible(self._new_seat)
        instance = Instance(self._core, self._memory)
        instance.set_exported_global("__stack_pointer", seat.stack + STACK_BYTES)
        instance.call(INIT_TLS, seat.tls)
        instance.adopt(Handles(seat.session, self._leader.handles().tokenizer, 0, 0))
        instance.group, instance.seat = self, seat
        # Knows the list, not the group: a circle would keep its memory until some collection.
        weakref.finalize(instance, self._free.append, seat).atexit = False
        return instance

    def _new_seat(self, leader: Instance) -> Seat:
        # All that takes the allocator's lock is done by the leader, whose calls can be ended.
        return Seat(
            _some(leader.call("pwt_memory_new", STACK_BYTES)),
            _some(leader.call("pwt_memory_new", self._tls_bytes)),
            _some(leader.call("pwt_session_new")),
        )


def _some(address: int) -> int:
    if not address:
        raise LimitExceeded(OUT_OF_MEMORY)
    return address


def _load(leader: Instance, file: bytes, options: bytes) -> None:
    leader.open_session()
    leader.load(file, options)
    leader.close_session()


def no_bounds_here() -> Unsupported:
    # A worker that sleeps in a lock of the guest sees no deadline, and the memory of one is the
    # memory of all.
    return Unsupported(
        "workers that share one memory have no bounds of their own on time and memory",
        feature="limits:threads",
        hint='build="portable" has them',
    )


class SharedSource:
    """Workers of the current group; a new group after a fault."""

    def __init__(self, core: Core, file: bytes, options: bytes = b"") -> None:
        self._core = core
        # Kept to start over: a shared memory cannot be copied while others write to it.
        self._file = file
        self._options = options
        self._group = self._loaded()

    @property
    def stoppable(self) -> bool:
        return True

    def limited(self, with_clock: bool, memory_cap: int | None) -> SharedSource:
        raise no_bounds_here()

    def with_stops(self) -> SharedSource:
        return self

    def new_instance(self) -> Instance:
        while True:
            if self._group.poisoned:
                self._group = self._loaded()
            try:
                return self._group.worker()
            except Interrupted:
                # Perhaps meant for another call. The leader has stopped in the middle all the same.
                self._group.poison()

    def usable(self, instance: Instance) -> bool:
        return instance.group is self._group and not self._group.poisoned

    def bloated(self, instance: Instance) -> bool:
        # Only the end of the whole group would give memory back.
        return False

    def broken(self, instance: Instance) -> bool:
        if isinstance(instance.group, Group):
            instance.group.poison()
        return True

    def after_fork(self, some_were_busy: bool) -> None:
        # Locks of the guest that a vanished thread held would never be released.
        if some_were_busy:
            self._group.poison()

    def _loaded(self) -> Group:
        while True:
            try:
                return Group(self._core, self._file, self._options)
            except Interrupted:
                continue
