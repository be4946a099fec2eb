"""How threads with long computations share the processors with threads that serve requests.

A lower priority alone is not enough: on Linux a running thread may finish its time slice of some
milliseconds, whatever the priority of a thread that has just woken up. Since Linux 6.12 a thread
with longer slices is preempted by threads with shorter ones at once; older versions ignore the
setting. Its share of processor time stays the same, in fewer slices.

A whole process can do better: it can leave some processors to others.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import threading
from contextlib import suppress
from typing import Final

from . import ON

__all__ = ["keep_off", "step_back"]

# Longer than the default slice, which is 3 ms at most; and short, since two such threads on one
# processor wait for each other so long.
_SLICE_SECONDS: Final = 0.008

_LOWEST: Final = 19

# `sched_setattr` has no function in most C libraries.
_NUMBERS: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_KEEP_POLICY: Final = 0x08
# Size, policy, flags, nice, priority, runtime, deadline, period.
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")


def step_back(steps: int, *, gives_way: bool = False) -> None:
    """The calling thread gets a priority so many levels below that of the process. `gives_way`:
    threads with shorter slices preempt it at once."""
    # Elsewhere a thread id is no process id, and another process's priority would be changed.
    if not ON:
        return
    nice = min(_LOWEST, os.getpriority(os.PRIO_PROCESS, os.getpid()) + steps)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        if gives_way:
            _ask_for_slices(nice)


def keep_off(count: int) -> None:
    """The calling thread, and the threads that it starts, leave `count` of the processors that they
    may use to others; they always keep one.

    The kernel gives a busy thread of any priority a share of its processor, a tick at once (4 ms on
    many systems). On processors of their own, threads that serve requests do not wait for it."""
    if not ON:
        return
    there = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        os.sched_setaffinity(0, there[min(count, len(there) - 1) :])


def _ask_for_slices(nice: int) -> None:
    """A request only: kernels that do not know it ignore it."""
    number = _NUMBERS.get(platform.machine())
    if number is None or struct.calcsize("P") != 8:
        return
    asked = _ATTRIBUTES.pack(
        _ATTRIBUTES.size, 0, _KEEP_POLICY, nice, 0, int(_SLICE_SECONDS * 1e9), 0, 0
    )
    ctypes.CDLL(None).syscall(number, 0, asked, 0)
