"""Whether the guest's faults may be left to handlers of signals.

A fault of the guest is a signal (SIGSEGV, SIGILL) that wasmtime's handler turns into a trap. Then
the code needs no checks of its own, and is faster, also by what `config` says of epochs. But
a process has one handler a signal. A handler that is set after wasmtime's, as by
`faulthandler.enable()`, receives the guest's faults instead, and the process dies. So this file
checks whether the handlers are wasmtime's. Once they are not, calls go to code with checks, which
needs no signals, and stay there.

A sound guest never faults: only a fault of the guest and a replaced handler together end a process.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ...errors import InvalidArgument
from ..wasm import fork
from . import ON

VARIABLE: Final = "PYWASMTOK_TRAPS"
HANDLERS: Final = "handlers"
CHECKS: Final = "checks"

# A check of the handlers takes three microseconds, as a short call of the core does, and ten or
# more after the core has evicted its data from the caches. So it is repeated only after so many
# bytes of input; each call counts as `A_CALL` bytes.
BETWEEN_LOOKS: Final = 256 * 1024
A_CALL: Final = 512
CALLS: Final = BETWEEN_LOOKS // A_CALL

# The structure that `sigaction` fills in has 152 bytes on 64-bit Linux.
_ACTION_BYTES: Final = 256
_POINTER_BYTES: Final = ctypes.sizeof(ctypes.c_void_p)

_log: Final = logging.getLogger("pywasmtok")

# Asked in front of each short call.
faulthandler_enabled: Final = faulthandler.is_enabled


class _State:
    """The state of this process when the first engine of the kind was made."""

    __slots__ = ("faulthandler", "lost", "ours", "told")

    def __init__(self) -> None:
        self.ours: tuple[bytes, ...] | None = None
        self.faulthandler = False
        self.lost = False
        self.told = False


_state: Final = _State()
_told: Final[list[Callable[[], None]]] = []


def wanted() -> bool:
    """Whether new engines may rely on handlers: on tested systems, unless a setting forbids it."""
    asked = os.environ.get(VARIABLE) or HANDLERS
    if asked not in (HANDLERS, CHECKS):
        raise InvalidArgument(
            f"{VARIABLE} is {asked!r}", hint=f"It takes {HANDLERS!r} (the default) or {CHECKS!r}"
        )
    if asked != HANDLERS or _reader() is None:
        return False
    if _state.ours is None:
        with fork.creation():
            if _state.ours is None:
                _install()
    return not look()


def _install() -> None:
    """Makes wasmtime set its handlers, and checks that they are in place. It sets them once a
    process: if the program used wasmtime before, other code may have replaced them since."""
    from ..wasm.wasmtime_functions import address_of
    from ..wasm.wasmtime_objects import Engine

    Engine({})
    current = _current()
    library = _library_of(address_of("wasmtime_engine_increment_epoch"))
    owners = {_library_of(int.from_bytes(one, sys.byteorder)) for one in current or ()}
    _state.lost = library is None or owners != {library}
    _state.ours, _state.faulthandler = current, faulthandler_enabled()


def _library_of(address: int | None) -> int | None:
    """The base address of the library that contains this address."""
    info = (ctypes.c_void_p * 4)()
    if not address or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), info):
        return None
    base: int | None = info[1]
    return base


def look() -> bool:
    """Whether the handlers were lost; if so, the functions of `when_lost` have been called."""
    if _state.told or _state.ours is None:
        return _state.lost
    if not _state.lost:
        if faulthandler_enabled() is _state.faulthandler and _current() == _state.ours:
            return False
        _state.lost = True
        _log.info(
            "the handlers of SIGSEGV and SIGILL are no longer wasmtime's: the core goes on in code"
            " that checks its accesses, and is slower (%s=%s does so from the start)",
            VARIABLE,
            CHECKS,
        )
    # Another thread may be in this loop. Calling the functions twice is harmless; returning before
    # they have been called is not.
    for tell in _told:
        tell()
    _state.told = True
    return True


def lost() -> bool:
    """The result of the last check."""
    return _state.lost


def when_lost(tell: Callable[[], None]) -> None:
    _told.append(tell)


def _current() -> tuple[bytes, ...] | None:
    """The present handlers as the C library knows them; None where it cannot be asked."""
    read = _reader()
    return None if read is None else read()


@cache
def _reader() -> Callable[[], tuple[bytes, ...]] | None:
    if not ON or _POINTER_BYTES != 8:
        return None
    # Called with the GIL held and without conversions: the addresses live as long as the process.
    function: Any = ctypes.PYFUNCTYPE(ctypes.c_int)(
        ctypes.cast(ctypes.CDLL(None).sigaction, ctypes.c_void_p).value or 0
    )
    places = []
    for number in (signal.SIGSEGV, signal.SIGILL):
        answer = (ctypes.c_char * _ACTION_BYTES)()
        asked = ctypes.c_int.from_param(number), ctypes.c_void_p.from_param(None)
        place = ctypes.c_void_p.from_param(ctypes.addressof(answer))
        places.append((*asked, place, memoryview(answer).cast("B")[:_POINTER_BYTES]))

    def read() -> tuple[bytes, ...]:
        found = []
        for number, nothing, place, handler in places:
            function(number, nothing, place)
            found.append(bytes(handler))
        return tuple(found)

    return read
