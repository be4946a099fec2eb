"""Keeps `os.fork` away from the moments in which a child could not go on.

A lock of wasmtime or of this package that another thread holds while the process forks stays
locked in the child for ever. Everything that takes such locks (engines, compiling, instances)
runs under `creation`, and a fork waits for it. Compiling takes seconds: no deadline counts the time
for which a thread waits here for another one.
"""

from __future__ import annotations

import os
import threading
from typing import Final

from ..calls.deadline import paused


class _Creation:
    def __init__(self) -> None:
        self._lock = threading.RLock()

    def acquire(self) -> None:
        if not self._lock.acquire(blocking=False):
            with paused():
                self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


creation: Final = _Creation()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=creation.acquire,
        after_in_parent=creation.release,
        after_in_child=creation.release,
    )
