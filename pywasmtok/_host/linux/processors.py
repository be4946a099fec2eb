"""How many threads of this process can compute at the same time, and for how long one has."""

from __future__ import annotations

import logging
import os
import time
from functools import cache
from pathlib import Path
from typing import Final

from . import ON
from .control_groups import folders, lines

VARIABLE: Final = "PYWASMTOK_THREADS"

# More than any machine has; a typing error must not start a thread for each of a million.
MOST: Final = 1024

# In which files a quota is: version 2 of control groups has one, version 1 two.
_FILES: Final = {True: ("cpu.max",), False: ("cpu.cfs_quota_us", "cpu.cfs_period_us")}

log = logging.getLogger("pywasmtok")


def usable() -> int:
    """What the environment says, or the processors that the system lets this process use."""
    return _stated(os.environ.get(VARIABLE, "").strip()) or _given()


def seconds_of(thread: int | None) -> float:
    """The processor time that a thread has used; 0 if unknown. `thread`: its id in the system."""
    if thread is None or not ON:
        return 0.0
    try:
        # How Linux numbers the clock of a thread. `time.pthread_getcpuclockid` gives the same, and
        # is undefined for a thread that has ended.
        return time.clock_gettime(~thread << 3 | 6)
    except OSError:
        return 0.0


def allowed() -> int:
    """How many processors the system lets this process use, whatever its share of them."""
    # Asked each time: a program may pin itself to some of them at any moment.
    return len(os.sched_getaffinity(0)) if ON else os.cpu_count() or 1


def _given() -> int:
    share = _share()
    return max(1, allowed() if share is None else min(allowed(), share))


@cache
def _stated(value: str) -> int | None:
    if not value:
        return None
    if value.isdecimal() and 1 <= int(value) <= MOST:
        return int(value)
    log.warning("%s=%r is no number from 1 to %d: it is not used", VARIABLE, value, MOST)
    return None


@cache
def _share() -> int | None:
    return share_of_container()


def share_of_container(root: Path = Path("/")) -> int | None:
    """Processors that the quota of the control group is worth, rounded up; None: no quota."""
    shares = [
        share
        for folder, is_second in folders(root, "cpu")
        if (share := _quota(folder, _FILES[is_second])) is not None
    ]
    return max(1, min(shares)) if shares else None


def _quota(folder: Path, names: tuple[str, ...]) -> int | None:
    words = [word for name in names for line in lines(folder / name) for word in line.split()]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        # "max" in version 2, "-1" in version 1, or no such file.
        return None
    quota, period = map(int, words)
    return -(-quota // period) if quota and period else None
