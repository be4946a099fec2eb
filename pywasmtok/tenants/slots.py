"""How many calls of a tenant run at the same time."""

from __future__ import annotations

import os
import weakref

from .._locks import ForkSafeLock
from .errors import TooManyRequests

__all__ = ["Slots"]


class Slots:
    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._lock = ForkSafeLock()
        _all.add(self)

    def enter(self) -> None:
        """TooManyRequests: all are taken."""
        with self._lock:
            if self.taken < self.most:
                self.taken += 1
                return
        raise TooManyRequests.of(
            f"this tenant may run {self.most} calls at once",
            self.most,
            self.most + 1,
            hint="Ask again when one has ended" if self.most else None,
        )

    def leave(self) -> None:
        with self._lock:
            # In the child of a fork none was taken.
            self.taken = max(0, self.taken - 1)


_all: weakref.WeakSet[Slots] = weakref.WeakSet()


def _none_is_taken() -> None:
    """The threads that had slots exist in the parent only."""
    for slots in list(_all):
        slots.taken = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_none_is_taken)
