"""Keeps `os.fork` away from the moments in which a child could not go on.

A lock of wasmtime or of this package that another thread holds while the process forks stays
locked in the child for ever. Everything that takes such locks (engines, compiling, instances)
runs under `creation`, and a fork waits for it.
"""

from __future__ import annotations

import os
import threading
from typing import Final

creation: Final = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=creation.acquire,
        after_in_parent=creation.release,
        after_in_child=creation.release,
    )
