"""Exceptions of the program's own signal handlers, which arrive in whatever runs at the time."""

from __future__ import annotations

import signal
from traceback import walk_tb

__all__ = ["raised_by_handler"]


def raised_by_handler(error: BaseException) -> bool:
    """Whether a signal handler raised it: such an exception belongs to the program, and is no
    answer of the code that it interrupted. For handlers that are functions or methods, and still
    installed."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))
