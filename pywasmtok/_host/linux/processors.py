"""How many threads of this process can compute at the same time, and for how long one has."""

from __future__ import annotations

import logging
import os
import time
from functools import cache
from pathlib import Path
from typing import Final

from . import ON

VARIABLE: Final = "PYWASMTOK_THREADS"

# More than any machine has; a typing error must not start a thread for each of a million.
MOST: Final = 1024

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
        for folder, names in _groups(root)
        for above in (folder, *folder.parents)
        if above.is_relative_to(root / "sys") and (share := _quota(above, names)) is not None
    ]
    return max(1, min(shares)) if shares else None


def _groups(root: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """Folders that may hold a quota, and in which files: version 2 has one, version 1 two."""
    found: list[tuple[Path, tuple[str, ...]]] = []
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        below = path.strip("/")
        if number == "0" and not controllers:
            found.append((root / "sys/fs/cgroup" / below, ("cpu.max",)))
        elif "cpu" in controllers.split(","):
            for name in (controllers, "cpu"):
                folder = root / "sys/fs/cgroup" / name / below
                found.append((folder, ("cpu.cfs_quota_us", "cpu.cfs_period_us")))
    return found


def _quota(folder: Path, names: tuple[str, ...]) -> int | None:
    words = [word for name in names for line in _lines(folder / name) for word in line.split()]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        # "max" in version 2, "-1" in version 1, or no such file.
        return None
    quota, period = map(int, words)
    return -(-quota // period) if quota and period else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
