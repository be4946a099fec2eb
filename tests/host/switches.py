"""When a thread went to sleep, as the kernel's own trace of its scheduler says.

Needs `perf`, and the right to use it; then it is exact, while a process that watches the thread is
as late as any other process of a busy machine.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SWITCH = re.compile(r"\s*([\d.]+):\s+sched:sched_switch:.*prev_pid=(\d+) .*prev_state=(\S+) ==>")
_RECORD = ("perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "sched:sched_switch")


def can_trace() -> bool:
    try:
        tried = subprocess.run(
            ["perf", "stat", "-x,", "-e", "sched:sched_switch", "true"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return False
    return tried.returncode == 0 and "not supported" not in tried.stderr


@contextmanager
def sleeps_of(thread: int) -> Iterator[list[float]]:
    """The list is filled in as the block ends: seconds of the monotonic clock, in order. The thread
    must have ended by then, or go on without a switch that matters."""
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        recorder = subprocess.Popen([*_RECORD, "-t", str(thread), "-o", str(trace)])
        try:
            _until_it_records(trace, recorder)
            yield times
        finally:
            recorder.terminate()
            recorder.wait()
        shown = subprocess.run(
            ["perf", "script", "-i", str(trace), "-F", "time,event,trace"],
            capture_output=True,
            text=True,
            check=True,
        )
    for line in shown.stdout.splitlines():
        found = _SWITCH.match(line)
        if found and int(found[2]) == thread and not found[3].startswith("R"):
            times.append(float(found[1]))


def _until_it_records(trace: Path, recorder: subprocess.Popen[bytes]) -> None:
    while recorder.poll() is None and not (trace.exists() and trace.stat().st_size):
        time.sleep(0.01)
    if recorder.poll() is not None:
        raise OSError("perf does not record here")
    # The file begins before the events are on.
    time.sleep(0.5)
