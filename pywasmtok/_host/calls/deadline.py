"""The end of what a thread is doing: one for a call and for all that it calls in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import DeadlineExceeded


class End:
    """When something must be done; `outer` is the end of what it is a part of."""

    __slots__ = ("at", "outer", "seconds")

    def __init__(self, seconds: float, at: float, outer: End | None = None) -> None:
        self.seconds = seconds  # what the caller said
        self.at = at  # when that is over, on the monotonic clock
        self.outer = outer

    @classmethod
    def after(cls, seconds: float, outer: End | None = None) -> End:
        return cls(seconds, time.monotonic() + seconds, outer)

    def left(self) -> float:
        return self.at - time.monotonic()

    def check(self) -> float:
        """The seconds that are left; raises if there are none."""
        left = self.left()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> DeadlineExceeded:
        asked = max(self.seconds, self.seconds - self.left())
        return DeadlineExceeded.of(
            f"not done after {asked:.3f} s; a call may take {self.seconds:g} s",
            self.seconds,
            asked,
            hint="Limits(deadline=...) moves the bound",
        )


class _Local(threading.local):
    end: End | None = None


local: Final = _Local()


def current() -> End | None:
    return local.end


def set_current(end: End | None) -> End | None:
    """Sets the deadline of this thread. The caller must set the returned one again; for code in
    which no signal handler raises."""
    before, local.end = local.end, end
    return before


@contextmanager
def paused() -> Iterator[None]:
    """Around work that is not the call's own, such as compiling: no deadline of this thread counts
    the time that it takes."""
    began = time.monotonic()
    try:
        yield
    finally:
        extend(time.monotonic() - began)


def extend(seconds: float) -> None:
    """All deadlines of this thread come so much later."""
    end = local.end
    while end is not None:
        end.at += seconds
        end = end.outer


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Until the block ends; one that is there already stays if it comes first."""
    with until(earlier(current(), seconds)):
        yield


def earlier(end: End | None, seconds: float | None) -> End | None:
    """Whichever comes first: that end, or so many seconds from now."""
    if seconds is None:
        return end
    own = End.after(seconds, end)
    return own if end is None or own.at < end.at else end


@contextmanager
def until(end: End | None) -> Iterator[None]:
    """The same with an end of another thread."""
    before = local.end
    try:
        # In here: an exception of a signal handler must not leave it behind.
        local.end = end
        yield
    finally:
        local.end = before
