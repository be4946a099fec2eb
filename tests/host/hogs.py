"""How late deadlines are while four threads hog the GIL: `python -m tests.host.hogs 5000`.

A caller knows that its call has ended when it has the GIL again, which may take much longer than
the call. While the guest runs, its thread runs, and then it sleeps until it has the GIL: the
kernel's trace says when. Without the right to trace, another process watches the thread, which
makes what it sees late by its own waiting for a processor.
"""

from __future__ import annotations

import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Callable
from itertools import count
from multiprocessing import shared_memory
from pathlib import Path
from typing import NamedTuple

from .processes import start
from .switches import can_trace, sleeps_of

DEADLINE = 0.03

CODE = """
import sys, threading, time
from multiprocessing import resource_tracker, shared_memory
import cores
import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.linux import timer
if {by_hand}:
    timer.EngineTimer.start = lambda self, period: False

def hog():
    n = 0
    while True:
        n += 1

board = shared_memory.SharedMemory({name!r})
resource_tracker.unregister(board._name, "shared_memory")
words = board.buf.cast("d")
tok = host.load_with(cores.sample_core(False), b"a file", deadline={deadline})
words[1] = 0.5
while words[2] == 0:
    time.sleep(0.01)
for _ in range(4):
    threading.Thread(target=hog, daemon=True).start()
for trial in range(1, {trials} + 1):
    words[0] = time.monotonic()
    words[1] = trial
    try:
        tok.encode_ids(cores.SPIN)
    except errors.DeadlineExceeded:
        words[2 + 2 * trial] = words[0]
        words[3 + 2 * trial] = time.monotonic()
words[1] = -1
words.release()
board.close()
"""


# From when a call began and its caller went on to when its guest ended.
Ended = Callable[[float, float], float]


class Late(NamedTuple):
    """Seconds after the deadline, in order."""

    guest: list[float]
    caller: list[float]

    def text(self) -> str:
        rows = []
        for name, values in (("guest", self.guest), ("caller", self.caller)):
            at = [values[int(share * (len(values) - 1))] for share in (0, 0.5, 0.9, 0.99, 1)]
            rows.append(f"{name}: " + " ".join(f"{1000 * value:.1f}" for value in at))
        return f"{len(self.guest)} trials, ms late (least, 50 %, 90 %, 99 %, most); " + "; ".join(
            rows
        )


def measured(trials: int, *, by_hand: bool = False) -> Late:
    board = shared_memory.SharedMemory(create=True, size=8 * (2 * trials + 8))
    words = board.buf.cast("d")
    process = start(CODE.format(name=board.name, deadline=DEADLINE, trials=trials, by_hand=by_hand))
    try:
        while process.poll() is None and words[1] == 0:
            time.sleep(0.01)
        ended = _traced(words, process) if can_trace() else _watch(words, process)
        process.communicate(timeout=60)
        assert process.returncode == 0
        calls = [(words[2 + 2 * one], words[3 + 2 * one]) for one in range(1, trials + 1)]
        return Late(
            sorted(ended(*call) - call[0] - DEADLINE for call in calls),
            sorted(end - begin - DEADLINE for begin, end in calls),
        )
    finally:
        process.kill()
        words.release()
        board.close()
        board.unlink()


def _traced(words: memoryview, process: subprocess.Popen[str]) -> Ended:
    with sleeps_of(process.pid) as sleeps:
        words[2] = 1
        while process.poll() is None and words[1] >= 0:
            time.sleep(0.1)

    def ended(begin: float, end: float) -> float:
        # What is before the deadline is Python on its way into the guest.
        first = bisect_left(sleeps, begin + DEADLINE)
        return min([*sleeps[first : first + 1], end])

    return ended


def _watch(words: memoryview, process: subprocess.Popen[str]) -> Ended:
    """For how long the calling thread, the first of its process, ran without a sleep in each trial:
    the longest time is the guest's, since Python is made to give up the GIL before that."""
    state = Path(f"/proc/{process.pid}/task/{process.pid}/stat")
    longest: dict[int, float] = {}
    running_since: float | None = None
    words[2] = 1
    while process.poll() is None and words[1] >= 0:
        trial, now = int(words[1]), time.monotonic()
        letter = state.read_text().rpartition(")")[2].split()[0]
        if letter != "R":
            running_since = None
        elif running_since is None:
            running_since = now
        else:
            longest[trial] = max(longest.get(trial, 0), now - running_since)
        time.sleep(0.0005)
    trials = count(1)
    return lambda begin, end: min(begin + longest.get(next(trials), end), end)


if __name__ == "__main__":
    for hand in (False, True)[: 1 + ("both" in sys.argv)]:
        print(
            "a thread of Python" if hand else "timers",
            measured(int(sys.argv[1]), by_hand=hand).text(),
        )
