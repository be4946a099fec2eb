"""Room for files that are being read: estimated before, and reserved while it runs.

Reading a file takes several times its size: its bytes, what the reader makes of them, the tables.
The factors are above the peaks that `python -m tools.verify.load_memory FILE...` measures.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from .._locks import ForkSafeLock
from ..errors import MemoryLimit
from .errors import Overloaded, TooManyRequests

__all__ = ["START", "Loads", "needed"]

# What the smallest file takes, and bytes a byte of the file: by what it begins with.
_FLAT: Final = 8 << 20
_OF_JSON: Final = 14
_OF_GGUF: Final = 10
_OF_OTHERS: Final = 16
"""SentencePiece models and files of ranks, whose bytes are dense."""

START: Final = 64
"""Bytes of a file that say what it is."""

# Of the bound, for the loads of one tenant together. One load alone may have all of it.
_SHARE_OF_ONE: Final = 0.5

# How long a load waits for the end of others, and how often it looks.
_WAIT_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.05


def needed(size: int, start: bytes, memory: int | None = None) -> int:
    """Bytes that reading a file of this size takes, at most. `start` is how it begins, `memory` the
    bound on its instance."""
    if start.startswith(b"GGUF"):
        factor = _OF_GGUF
    elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        factor = _OF_JSON
    else:
        factor = _OF_OTHERS
    estimate = _FLAT + factor * size
    # Beside the instance there are the bytes, once as received and once on their way into it.
    return estimate if memory is None else min(estimate, memory + 2 * size)


class Loads:
    """The loads of all tenants of a process, for any number of threads."""

    def __init__(self, most: Callable[[], int], used: Callable[[int], int]) -> None:
        """`most`: the bound. `used`: makes room for so many bytes where it can, and returns the
        bytes that are in use then."""
        self._most = most
        self._used = used
        self._of: Counter[str] = Counter()
        self._lock = ForkSafeLock()
        self._pid = os.getpid()
        # A load inside of another one is the same load: an upload, and the reading of its file.
        self._here = threading.local()

    @property
    def reserved(self) -> int:
        return sum(list(self._of.values())) if os.getpid() == self._pid else 0

    @contextmanager
    def reading(self, tenant: str, size: int, *, bounded: bool = True) -> Iterator[None]:
        """TooManyRequests: loads of this tenant have its share. Overloaded: those of others have
        the rest. MemoryLimit: there is no room for this one, whatever ends. `bounded=False`: counts
        it and refuses nothing, for files of the program itself."""
        if getattr(self._here, "loads", False):
            yield
            return
        self._reserve(tenant, size, bounded)
        self._here.loads = True
        try:
            yield
        finally:
            self._here.loads = False
            with self._lock:
                self._of[tenant] -= size
                if self._of[tenant] <= 0:
                    del self._of[tenant]

    def _reserve(self, tenant: str, size: int, bounded: bool) -> None:
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            with self._lock:
                if os.getpid() != self._pid:
                    # The threads that had reserved are those of the parent.
                    self._pid = os.getpid()
                    self._of.clear()
                most = self._most()
                if bounded:
                    self._check_share(tenant, size, most)
                others = self.reserved
                used = self._used(size + others) if bounded else 0
                if not bounded or used + others + size <= most:
                    self._of[tenant] += size
                    return
            if not others:
                raise MemoryLimit.of(
                    f"reading this file may take {size} bytes, and {max(0, most - used)} of {most}"
                    " are free",
                    most,
                    used + size,
                    hint="Remove tokenizers, or raise the bound: bounds.memory of a server",
                )
            if time.monotonic() >= end:
                raise Overloaded(
                    "files that are being read take all memory there is for them",
                    hint="Ask again when they are ready",
                )
            time.sleep(_LOOK_SECONDS)

    def _check_share(self, tenant: str, size: int, most: int) -> None:
        mine = self._of.get(tenant, 0)
        if mine and mine + size > most * _SHARE_OF_ONE:
            raise TooManyRequests.of(
                f"reading files of this tenant may take {mine + size} bytes at once",
                int(most * _SHARE_OF_ONE),
                mine + size,
                hint="Ask again after the answers to earlier uploads",
            )
