"""Timers of the system that move an engine's epoch on without any Python.

glibc calls a C function in a thread of its own each time a timer expires. That function is
`wasmtime_engine_increment_epoch` itself, and its argument the engine. No Python thread takes part,
so a thread that holds the GIL cannot delay it.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ..wasm import wasmtime_functions as wasmtime
from . import ON

if TYPE_CHECKING:
    from ..wasm.wasmtime_objects import Engine

_CLOCK_MONOTONIC: Final = 1
_SIGEV_THREAD: Final = 2
_NANOSECONDS: Final = 1_000_000_000

# `sem_t` takes 32.
_SEMAPHORE_BYTES: Final = 64
# If even this time is not enough, the fork goes on without the protection.
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.0001


class _Event(ctypes.Structure):
    """`struct sigevent` of 64-bit Linux: 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("unused", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """`struct itimerspec`: the period, and the time until the first tick."""

    _fields_ = (
        ("period_seconds", ctypes.c_long),
        ("period_nanoseconds", ctypes.c_long),
        ("first_seconds", ctypes.c_long),
        ("first_nanoseconds", ctypes.c_long),
    )


@cache
def _library() -> Any:
    """The C library, where it is one whose timers are known; else None."""
    if not ON or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    # Before glibc 2.34 they were in a library of their own.
    for name in (None, "librt.so.1"):
        try:
            library = ctypes.CDLL(name, use_errno=True)
            library.gnu_get_libc_version  # noqa: B018
            library.timer_create, library.sem_trywait  # noqa: B018
        except (OSError, AttributeError):
            continue
        library.timer_settime.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        library.timer_delete.argtypes = [ctypes.c_void_p]
        return library
    return None


def settle() -> None:
    """Waits until glibc has called for all timers that have expired; none may be running.

    The thread that makes these calls holds a lock of glibc's while it begins one. A fork at that
    moment leaves the lock locked in the child, which then waits for it for ever as it makes timers
    of its own. Signals of timers come in order. So this makes one more timer, waits for its signal
    and deletes it, which takes the lock: after that the lock is free.
    """
    library = _library()
    if library is None:
        return
    semaphore = ctypes.create_string_buffer(_SEMAPHORE_BYTES)
    library.sem_init(semaphore, 0, 0)
    event = _Event(
        value=ctypes.addressof(semaphore),
        notify=_SIGEV_THREAD,
        function=ctypes.cast(library.sem_post, ctypes.c_void_p),
    )
    made = ctypes.c_void_p()
    if library.timer_create(
        ctypes.c_int(_CLOCK_MONOTONIC), ctypes.byref(event), ctypes.byref(made)
    ):
        return
    library.timer_settime(made, 0, ctypes.byref(_Times(0, 0, 0, 1)), None)
    end = time.monotonic() + _PATIENCE
    while library.sem_trywait(semaphore):
        if time.monotonic() > end:
            # glibc may still use it at any time, so its memory must stay.
            _never_called.append(semaphore)
            break
        time.sleep(_PAUSE)
    library.timer_delete(made)


_never_called: Final[list[Any]] = []


class EngineTimer:
    """The timer of one engine. It belongs to the process that made it: a fork leaves it behind."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.address
        # A tick may be under way at any time, also while the interpreter ends: the engine must
        # never be freed.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
        self._id: ctypes.c_void_p | None = None

    @property
    def made(self) -> bool:
        return self._id is not None

    def start(self, period: float) -> bool:
        """False: there is no such timer here, or no more of them."""
        return (self._id is not None or self._make()) and self._set(period)

    def stop(self) -> None:
        if self._id is not None:
            self._set(0)

    def delete(self) -> None:
        made, self._id = self._id, None
        if made is not None:
            _library().timer_delete(made)

    def forget(self) -> None:
        """In the child of a fork: the number may soon be that of another timer."""
        self._id = None

    def _make(self) -> bool:
        library = _library()
        if library is None:
            return False
        event = _Event(
            value=self._engine,
            notify=_SIGEV_THREAD,
            function=wasmtime.address_of("wasmtime_engine_increment_epoch"),
        )
        made = ctypes.c_void_p()
        clock = ctypes.c_int(_CLOCK_MONOTONIC)
        if library.timer_create(clock, ctypes.byref(event), ctypes.byref(made)):
            return False
        self._id = made
        return True

    def _set(self, period: float) -> bool:
        seconds, nanoseconds = divmod(round(period * _NANOSECONDS), _NANOSECONDS)
        times = _Times(seconds, nanoseconds, seconds, nanoseconds)
        failed = _library().timer_settime(self._id, 0, ctypes.byref(times), None)
        return not failed
