from __future__ import annotations

import ctypes
import os
import platform
import struct
import threading

import pytest

from pywasmtok._host.linux import ON
from pywasmtok._host.linux.priority import keep_off, step_back

pytestmark = pytest.mark.skipif(not ON, reason="threads have no priority here")

_NUMBERS = {"x86_64": 315, "aarch64": 275, "riscv64": 275}


def _seen(*, gives_way: bool) -> tuple[int, float]:
    """Levels below the process, and the slice in seconds, of a thread that has stepped back."""
    found: list[tuple[int, float]] = []

    def look() -> None:
        before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        step_back(3, gives_way=gives_way)
        said = ctypes.create_string_buffer(48)
        ctypes.CDLL(None).syscall(_NUMBERS[platform.machine()], 0, said, 48, 0)
        _, _, _, nice, _, runtime, _, _ = struct.unpack("=IIQiIQQQ", said.raw)
        found.append((nice - before, runtime / 1e9))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(platform.machine() not in _NUMBERS, reason="the number of a call is not known")
def test_who_gives_way_has_longer_slices_and_the_same_priority() -> None:
    (steps, usual), (steps_too, asked) = _seen(gives_way=False), _seen(gives_way=True)
    assert steps == steps_too == min(3, 19 - os.getpriority(os.PRIO_PROCESS, 0))
    release = tuple(int(part) for part in platform.release().split(".")[:2])
    if release < (6, 12):
        pytest.skip("this kernel has the same slices for all")
    assert asked == 0.008 > usual


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_who_keeps_off_leaves_the_first_and_has_one_in_any_case(count: int) -> None:
    before = os.sched_getaffinity(0)
    found: list[set[int]] = []

    def look() -> None:
        keep_off(count)
        # What it starts keeps off, too.
        inner = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        inner.start()
        inner.join()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    left = sorted(before)[count:] or [max(before)]
    assert found == [set(left)]
    assert os.sched_getaffinity(0) == before
