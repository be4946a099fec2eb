"""How threads that compute for long share the processors with those that answer.

A lower priority alone is not enough: on Linux whoever runs may finish a slice of some milliseconds,
whatever the priority of who has just woken up. A thread that asks for longer slices than others
have gives way to them at once (since Linux 6.12; older ones take no notice). It gets as much of a
processor as before, in fewer turns.

A whole process can do better, and keep off some processors.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import threading
from contextlib import suppress
from typing import Final

__all__ = ["keep_off", "step_back"]

# Longer than what threads have that ask for nothing, which is 3 ms at most; and short, since two of
# them on one processor wait for each other so long.
_SLICE_SECONDS: Final = 0.008

_LOWEST: Final = 19

# `sched_setattr` has no function in most C libraries.
_NUMBERS: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_KEEP_POLICY: Final = 0x08
# Size, policy, flags, nice, priority, runtime, deadline, period.
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")


def step_back(steps: int, *, gives_way: bool = False) -> None:
    """The calling thread gets a priority so many levels below that of the process. `gives_way`: to
    whoever has something short to do, at once."""
    # Elsewhere a number of a thread is none of a process, and another's priority would be changed.
    if sys.platform != "linux":
        return
    nice = min(_LOWEST, os.getpriority(os.PRIO_PROCESS, os.getpid()) + steps)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        if gives_way:
            _ask_for_slices(nice)


def keep_off(count: int) -> None:
    """The calling thread, and those that it starts, leave so many of the processors that they may
    use to others; one is always left to them.

    However low its priority, who has work for a whole processor is owed a part of it, and takes
    that part a tick of the kernel at once (4 ms on many). On a processor of their own those that
    answer wait for nobody."""
    if sys.platform != "linux":
        return
    there = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        os.sched_setaffinity(0, there[min(count, len(there) - 1) :])


def _ask_for_slices(nice: int) -> None:
    """A request: where the kernel knows nothing of it, all is as it was."""
    number = _NUMBERS.get(platform.machine())
    if number is None or struct.calcsize("P") != 8:
        return
    asked = _ATTRIBUTES.pack(
        _ATTRIBUTES.size, 0, _KEEP_POLICY, nice, 0, int(_SLICE_SECONDS * 1e9), 0, 0
    )
    ctypes.CDLL(None).syscall(number, 0, asked, 0)
