"""A lock that a fork does not leave locked for ever."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

__all__ = ["ForkSafeLock"]


class ForkSafeLock:
    """In a child process the thread that held the lock is gone, and the lock is open again.

    So what it guards must be consistent at every step, not only when the lock is released.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    # `with` calls the methods of the inner lock, which are written in C. An exception of a signal
    # handler comes between two instructions of Python: behind a method of Python it would leave the
    # lock locked for ever.
    @property
    def __enter__(self) -> Callable[[], bool]:
        return self._lock.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:  # noqa: PLE0302
        return self._lock.__exit__


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _reopen() -> None:
    for lock in _locks:
        lock._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen)
