"""A lock that a fork does not leave locked for ever."""

from __future__ import annotations

import os
import threading
import weakref

__all__ = ["ForkSafeLock"]


class ForkSafeLock:
    """In a child process the thread that held the lock is gone, and the lock is open again.

    So what it guards must be consistent at every step, not only when the lock is released.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _reopen() -> None:
    for lock in _locks:
        lock._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen)
