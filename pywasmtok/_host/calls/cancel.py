"""Calls that end because their caller has cancelled them.

The epoch of an engine belongs to all its calls: moving it to end one call would interrupt the
others. So a call with a cancel token runs in slices. At the end of each slice the engine calls back
here, in the thread of the call, to learn whether the call goes on; other calls are not affected.
The callback takes the GIL for some microseconds. Calls without a token have no slices, and end by a
trap.

Not in the main thread: an exception of a signal handler that arrives as the engine asks would be
lost. There, long calls are made by the helper thread (`interrupt`), and short ones end as always.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ...errors import Cancelled
from .ticker import ticks

if TYPE_CHECKING:
    from ..wasm.machine import Machine

__all__ = ["CancelToken", "cancellable", "check", "current", "left"]

# How long a cancelled call may go on, and how often one that may be cancelled takes the GIL.
SLICE: Final = 0.03


class CancelToken:
    """`cancel()` may be called from any thread, at any time, and as often as one likes."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def check(self) -> None:
        if self.cancelled:
            raise left()


def left() -> Cancelled:
    return Cancelled("the caller has cancelled this call")


class _Local(threading.local):
    token: CancelToken | None = None


local: Final = _Local()


def current() -> CancelToken | None:
    return local.token


def check() -> None:
    """Raises if what this thread does has been cancelled."""
    token = local.token
    if token is not None:
        token.check()


@contextmanager
def cancellable(token: CancelToken | None) -> Iterator[None]:
    """Calls of this thread, until the block ends, end with `Cancelled` once `token.cancel()` was
    called. Those that run then end within some hundredths of a second. Needs bounds on time
    (`Limits(deadline=...)`): without them a call is only looked at before it begins."""
    before = local.token
    try:
        local.token = token
        check()
        yield
    finally:
        local.token = before


class Watch:
    """Decides for one instance, at the end of each slice, whether its call goes on."""

    __slots__ = ("__weakref__", "_at", "_token", "ended", "stopped")

    def __init__(self, machine: Machine) -> None:
        self._token: CancelToken | None = None
        self._at = 0.0
        # Whether it was decided here that the last call ends.
        self.ended = False
        # Set by another thread that wants the running call to end for a reason of its own.
        self.stopped = False
        machine.ask_at_deadlines(self)

    def begin(self, seconds: float, token: CancelToken | None) -> float:
        """The first slice of a call that has so much time."""
        self._token, self.ended = token, False
        self._at = time.monotonic() + seconds
        return seconds if token is None else min(seconds, SLICE)

    def next_ticks(self) -> int:
        """0: the call ends."""
        left = self._at - time.monotonic()
        token = self._token
        if left <= 0 or self.stopped or (token is not None and token.cancelled):
            self.ended = True
            return 0
        return ticks(left if token is None else min(left, SLICE))
