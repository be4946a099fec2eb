"""The instances of one loaded tokenizer, handed to one thread at a time.

`idle` is a plain list: `pop` and `append` are atomic, and a call that finds an instance there takes
no lock. Everything else (waiting, making, closing) is done with the lock. A thread that returns an
instance reads `attention` afterwards; a thread that is about to wait sets `attention` before it
reads `idle` a last time. So no thread waits while an instance is idle.

A thread that calls again at once takes an idle instance before a waiting thread has woken up. That
is fast, and could go on for ever: once the first in the line has waited for `_PATIENCE`, it is
handed the next instance.
"""

from __future__ import annotations

import os
import threading
import weakref
from time import monotonic
from typing import Final, Protocol

from ...errors import CoreTrap, HostError, TokenizerClosed, TokenizerError
from ..linux import processors, trap_handlers
from ..linux.trap_handlers import faulthandler_enabled
from ..wasm.instance import Instance
from . import cancel
from .deadline import End

# A clone costs little memory, and a waiting thread costs time. With more instances than processors,
# short calls do not queue behind long ones.
_PER_PROCESSOR: Final = 2
_FEWEST: Final = 4
_MOST: Final = 32

# A safety net only: every change wakes the first in the line.
_WAIT_SECONDS: Final = 1.0

_PATIENCE: Final = 0.005


class Source(Protocol):
    """Where new instances with the tokenizer in them come from."""

    def new_instance(self) -> Instance: ...

    @property
    def stoppable(self) -> bool:
        """Whether calls of new instances can be ended from outside."""
        ...

    def limited(self, with_clock: bool, memory_cap: int | None) -> Source:
        """The same tokenizer in instances with bounds."""
        ...

    def with_stops(self) -> Source:
        """The same tokenizer in instances whose calls can be ended from outside."""
        ...

    def usable(self, instance: Instance) -> bool:
        """Whether an instance that did nothing wrong itself may go on working."""

    def bloated(self, instance: Instance) -> bool:
        """Whether a new one is worth more than the memory that this one keeps."""

    def broken(self, instance: Instance) -> bool:
        """This one trapped or was interrupted; True if that makes others unusable too."""

    def after_fork(self, some_were_busy: bool) -> None:
        """In the child: threads that were inside instances are gone, with the instances."""


def default_limit() -> int:
    return max(_FEWEST, min(_MOST, _PER_PROCESSOR * processors.allowed()))


class _Turn:
    """A thread's place in the line."""

    __slots__ = ("_asleep", "instance", "since")

    def __init__(self) -> None:
        self.since = monotonic()
        self.instance: Instance | None = None
        """That it was handed."""
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def wait(self, seconds: float) -> None:
        """Returns at once if it was woken since it returned last."""
        self._asleep.acquire(timeout=seconds)

    def wake(self) -> None:
        """The lock of the pool is taken."""
        if self._asleep.locked():
            self._asleep.release()


class Pool:
    def __init__(self, source: Source, limit: int | None = None) -> None:
        self.idle: list[Instance] = []
        self.attention = False
        self.limit = limit or default_limit()
        self._source: Source | None = source
        self._new_lock()
        # Busy instances may have become unusable: each is looked at when it comes back.
        self._suspicious, self._suspicions = False, 0
        self._retired = False
        self._until_look, self._faulthandler = 0, faulthandler_enabled()
        # A weak set: an instance that gets lost in any way leaves it.
        self._live: weakref.WeakSet[Instance] = weakref.WeakSet()
        _pools.add(self)

    @property
    def closed(self) -> bool:
        return self._source is None

    @property
    def size(self) -> int:
        """How many instances there are, idle and busy."""
        return len(self._live)

    def acquire(self, end: End | None = None) -> Instance:
        """An idle instance, or a new one, or the next that becomes idle before `end`."""
        self._until_look -= 1
        if self._until_look < 0 or faulthandler_enabled() is not self._faulthandler:
            self.look_at_handlers()
        try:
            return self.idle.pop()
        except IndexError:
            pass
        with self._lock:
            instance = self._idle_or_new()
        return instance or self._next(end)

    def acquire_new(self) -> Instance:
        """An unused instance, for a call whose own was just dropped."""
        self.look_at_handlers()
        with self._lock:
            return self._new()

    def release(self, instance: Instance) -> None:
        if self.attention:
            self.come_back(instance)
        else:
            self.idle.append(instance)
            if self.attention:
                self.attend()

    def come_back(self, instance: Instance) -> None:
        """`release` where `attention` is set: an instance that is no longer usable is dropped."""
        source = self._source
        if source is None or self._retired or not source.usable(instance):
            self._drop(instance)
        elif not self._handed_over(instance):
            self.idle.append(instance)
        self.attend()

    def release_after_long_call(self, instance: Instance) -> None:
        """Large inputs leave large buffers behind: a fresh clone is cheaper than keeping them."""
        source = self._source
        if source is not None and source.bloated(instance):
            self._drop(instance)
        else:
            self.release(instance)

    def settle(self, instance: Instance, error: BaseException) -> None:
        """Decides what becomes of an instance whose call raised."""
        harmless = isinstance(error, TokenizerError) and not isinstance(error, CoreTrap)
        if harmless and not instance.broken:
            self.release(instance)
            return
        source = self._source
        # Outside of the lock: a thread that makes an instance holds it, and may wait for this.
        if source is not None and source.broken(instance):
            self.suspect()
        self._drop(instance)

    def lose(self, instance: Instance) -> None:
        """The pool forgets a busy instance. Its call goes on, and frees it at its end."""
        self._drop(instance)

    def attend(self) -> None:
        """After an instance has come back: drops what is unusable and wakes a waiting thread."""
        with self._lock:
            source, seen = self._source, self._suspicions
            if source is None or self._retired:
                self._clear()
            else:
                self._sort_out(source)
                all_usable = all(map(source.usable, tuple(self._live)))
                # `suspect` does not wait for the lock.
                self._suspicious = not all_usable or seen != self._suspicions
            if self._line:
                self._line[0].wake()
            else:
                self.attention = source is None or self._retired or self._suspicious

    def retire(self) -> None:
        """Keeps no idle instance any more, from now on: calls go on, each with a new one."""
        with self._lock:
            self._retired = self.attention = True
            self._clear()

    def close(self) -> None:
        """Drops the idle instances now, and each busy one when its call is over."""
        with self._lock:
            self._source = None
            self.attention = True
            self._clear()
            for turn in self._line:
                turn.wake()

    def look_at_handlers(self) -> None:
        """If other code has replaced the signal handlers, instances that need them are dropped."""
        enabled = faulthandler_enabled()
        trap_handlers.look()
        # Set these last: threads that see them valid skip the check.
        self._faulthandler, self._until_look = enabled, trap_handlers.CALLS

    def suspect(self) -> None:
        """Instances may have become unusable: idle ones now, busy ones when they come back. The
        lock is not taken: the caller may hold another one, and the thread with this one wait for
        that."""
        self._suspicions += 1
        self._suspicious = self.attention = True
        source = self._source
        if source is not None:
            self._sort_out(source)
            if self._source is None or self._retired:
                self._clear()

    def after_fork(self) -> None:
        # Only the forking thread lives on; what the others held is never given back.
        some_were_busy = len(self._live) > len(self.idle)
        self._new_lock()
        self.attention = self.closed or self._retired
        self._live = weakref.WeakSet(self.idle)
        if self._source is not None:
            self._source.after_fork(some_were_busy)
            self._sort_out(self._source)

    def _new_lock(self) -> None:
        # Not a condition, whose `__enter__` is Python: an exception of a signal handler at its end
        # would leave the lock locked.
        self._lock = threading.RLock()
        self._line: list[_Turn] = []

    def _idle_or_new(self) -> Instance | None:
        self.open_source()
        try:
            return self.idle.pop()
        except IndexError:
            pass
        if len(self._live) >= self.limit:
            return None
        try:
            return self._new()
        except (HostError, OSError, MemoryError):
            # Address space is bounded, too: the pool goes on with the instances that it has.
            if self._live:
                return None
            raise

    def _new(self) -> Instance:
        instance = self.open_source().new_instance()
        self._live.add(instance)
        return instance

    def open_source(self) -> Source:
        if self._source is None:
            raise TokenizerClosed("this tokenizer has been closed")
        return self._source

    def _next(self, end: End | None) -> Instance:
        """The next instance that comes back, or is new, or is handed over."""
        turn = _Turn()
        try:
            with self._lock:
                self._line.append(turn)
            while True:
                self.attention = True
                with self._lock:
                    # An instance that came back before `attention` was set woke no thread.
                    instance, turn.instance = turn.instance or self._idle_or_new(), None
                if instance is not None:
                    return instance
                turn.wait(_WAIT_SECONDS if end is None else min(_WAIT_SECONDS, end.check()))
                cancel.check()
        finally:
            with self._lock:
                if turn in self._line:
                    self._line.remove(turn)
            if turn.instance is not None:
                # The call was given up at the moment of the handing over.
                self.come_back(turn.instance)

    def _handed_over(self, instance: Instance) -> bool:
        with self._lock:
            if not self._line or monotonic() - self._line[0].since < _PATIENCE:
                return False
            turn = self._line.pop(0)
            turn.instance = instance
            turn.wake()
        return True

    def _sort_out(self, source: Source) -> None:
        """Drops idle instances that may not go on. One by one: others take from the list too."""
        good = []
        while True:
            try:
                instance = self.idle.pop()
            except IndexError:
                break
            # One that is not kept dies, and leaves `_live` by that.
            if source.usable(instance):
                good.append(instance)
        self.idle.extend(reversed(good))

    def _clear(self) -> None:
        while True:
            try:
                self._live.discard(self.idle.pop())
            except IndexError:
                return

    def _drop(self, instance: Instance) -> None:
        with self._lock:
            self._live.discard(instance)
            if self._line:
                self._line[0].wake()


_pools: Final[weakref.WeakSet[Pool]] = weakref.WeakSet()


def _suspect_all() -> None:
    for pool in list(_pools):
        pool.suspect()


trap_handlers.when_lost(_suspect_all)


def _after_fork() -> None:
    for pool in list(_pools):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
