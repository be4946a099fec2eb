"""Keeps `os.fork` away from the moments in which a child could not go on.

A lock of wasmtime or of this package that another thread holds while the process forks stays
locked in the child for ever. Everything that takes such locks (engines, compiling, instances)
runs under `creation`, and a fork waits for it. Compiling takes seconds: no deadline counts the time
for which a thread waits here for another one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..calls import deadline

_lock: Final = threading.RLock()


@contextmanager
def creation() -> Iterator[None]:
    # `with` of a lock of C: an exception of a signal handler comes before it or inside of it. One
    # that came between would leave the lock locked.
    began = time.monotonic()
    with _lock:
        deadline.extend(time.monotonic() - began)
        yield


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_lock.release,
        after_in_child=_lock.release,
    )
