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

import ctypes
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from ...errors import Cancelled

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


_local: Final = _Local()


def current() -> CancelToken | None:
    return _local.token


def check() -> None:
    """Raises if what this thread does has been cancelled."""
    token = _local.token
    if token is not None:
        token.check()


@contextmanager
def cancellable(token: CancelToken | None) -> Iterator[None]:
    """Calls of this thread, until the block ends, end with `Cancelled` once `token.cancel()` was
    called. Those that run then end within some hundredths of a second. Needs bounds on time
    (`Limits(deadline=...)`): without them a call is only looked at before it begins."""
    before = _local.token
    try:
        _local.token = token
        check()
        yield
    finally:
        _local.token = before


class Watch:
    """Decides for one store, at the end of each slice, whether its call goes on."""

    __slots__ = ("__weakref__", "_at", "_number", "_token", "ended", "stopped")

    def __init__(self, store: Any) -> None:
        self._token: CancelToken | None = None
        self._at = 0.0
        # Whether it was decided here that the last call ends.
        self.ended = False
        # Set by another thread that wants the running call to end for a reason of its own.
        self.stopped = False
        self._number = next(_numbers)
        _watches[self._number] = self
        _install(store, self._number)

    def begin(self, seconds: float, token: CancelToken | None) -> float:
        """The first slice of a call that has so much time."""
        self._token, self.ended = token, False
        self._at = time.monotonic() + seconds
        return seconds if token is None else min(seconds, SLICE)

    def next_slice(self) -> float:
        """0: the call ends."""
        left = self._at - time.monotonic()
        token = self._token
        if left <= 0 or self.stopped or (token is not None and token.cancelled):
            self.ended = True
            return 0.0
        return left if token is None else min(left, SLICE)


_numbers: Final = count(1)
_watches: Final[weakref.WeakValueDictionary[int, Watch]] = weakref.WeakValueDictionary()


def _asked(_context: Any, number: int | None, ticks_more: Any, _kind: Any) -> int:
    """What the engine calls. Where it raised, the engine would ask again at once."""
    from .ticker import ticks

    watch = _watches.get(number or 0)
    slice_ = 0.0 if watch is None else watch.next_slice()
    if slice_:
        ticks_more[0] = ticks(slice_)
        return 0
    return _error()


class _Engine:
    """The callback, made when it is first needed: it needs wasmtime."""

    callback: Any = None
    no_finalizer: Any = None


def _install(store: Any, number: int) -> None:
    from wasmtime import _ffi as ffi

    if _Engine.callback is None:
        _, callback, _, finalizer = ffi.dll.wasmtime_store_epoch_deadline_callback.argtypes
        _Engine.no_finalizer = finalizer()
        _Engine.callback = callback(_asked)
    ffi.wasmtime_store_epoch_deadline_callback(
        store.ptr(), _Engine.callback, ctypes.c_void_p(number), _Engine.no_finalizer
    )


def _error() -> int:
    from wasmtime import _ffi as ffi

    from ..wasm.raw import address_of

    text = ctypes.create_string_buffer(b"ended on request")
    return address_of(ffi.wasmtime_error_new(text))
