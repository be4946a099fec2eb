"""Moves the epoch of engines on, so that calls with a deadline end.

Where the system has timers that need no Python, each engine has one: it ticks even while a thread
holds the GIL. Elsewhere a Python thread ticks. Calls of the core release the GIL, so they do not
delay it; other threads that hold the GIL for long do. Then the thread makes up for all missed
ticks, so a deadline is late once and not once a tick.

In either case the thread stops all ticks while no call with a deadline runs.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..linux.timer import EngineTimer

PERIOD: Final = 0.01

# A call that is cancelled ends by as many ticks as its deadline is away: so many take 50 ms.
LONGEST: Final = 3600.0

# How long ticking goes on after the end of the last call that could still be running.
_LINGER: Final = 1.0

# A rounding error of a float division must not cost a tick.
_ROUNDING: Final = 1e-6


def ticks(seconds: float) -> int:
    """The deadline of a call, in ticks; one more, since the next tick may come at once."""
    return max(1, math.ceil(seconds / PERIOD - _ROUNDING)) + 1


class Ticker:
    def __init__(self) -> None:
        self._by_hand: list[Callable[[], None]] = []
        # Whether the fork that is under way holds the lock.
        self._held = False
        self._timed: list[tuple[EngineTimer, Callable[[], None]]] = []
        self._reset()

    def _reset(self) -> None:
        # A thread that begins a call writes `used` before it reads `asleep`; the ticker writes
        # `asleep` before it reads `used` a last time. So the ticker misses no call.
        self.used = False
        self.asleep = True
        self._longest = 0.0
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, tick: Callable[[], None], timer: EngineTimer | None = None) -> None:
        """`tick` moves an engine's epoch on by one, and so does `timer`, without Python."""
        with self._lock:
            if timer is None:
                self._by_hand.append(tick)
                return
            self._timed.append((timer, tick))
            if not self.asleep:
                self._start_timers()

    def begin(self, seconds: float) -> None:
        """A call that has so much time begins: from now on the epoch moves."""
        self.used = True
        # `max` would take as long as the rest of this function.
        if seconds > self._longest:  # noqa: PLR1730
            self._longest = seconds
        if self.asleep:
            with self._lock:
                self._start()

    def _start(self) -> None:
        self._start_timers()
        self.asleep = False
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="pywasmtok-deadlines", daemon=True
            )
            self._thread.start()
        self._wake.set()

    def _start_timers(self) -> None:
        for one in tuple(self._timed):
            timer, tick = one
            if not timer.start(PERIOD):
                self._timed.remove(one)
                self._by_hand.append(tick)

    def _run(self) -> None:
        while True:
            self._tick_while_used()
            self._wake.wait()

    def _tick_while_used(self) -> None:
        done = 0
        began = last_use = time.monotonic()
        while True:
            time.sleep(PERIOD if self._by_hand else _LINGER / 2)
            now = time.monotonic()
            due = int((now - began) / PERIOD)
            for tick in tuple(self._by_hand):
                for _ in range(due - done):
                    tick()
            done = due
            if self.used:
                self.used = False
                last_use = now
            elif now - last_use > self._longest + _LINGER and self._fall_asleep():
                return

    def _fall_asleep(self) -> bool:
        """False if a call has begun meanwhile. The lock orders this and the ticker's start."""
        with self._lock:
            self.asleep = True
            if self.used:
                self.asleep = False
                return False
            self._wake.clear()
            for timer, _ in self._timed:
                timer.stop()
            return True

    def before_fork(self) -> None:
        """No timer expires while the process forks; see `timer.settle`."""
        # Not for ever: a signal handler may fork in the middle of anything.
        self._held = self._lock.acquire(timeout=_LINGER)
        for timer, _ in self._timed:
            timer.stop()
        if any(timer.made for timer, _ in self._timed):
            from ..linux.timer import settle

            settle()

    def after_fork_in_parent(self) -> None:
        if not self.asleep:
            self._start_timers()
        if self._held:
            self._lock.release()

    def after_fork(self) -> None:
        # The thread and the timers exist in the parent only; the engines were copied.
        for timer, _ in self._timed:
            timer.forget()
        self._reset()

    def at_exit(self) -> None:
        for timer, _ in self._timed:
            timer.delete()


ticker: Final = Ticker()

atexit.register(ticker.at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=ticker.before_fork,
        after_in_parent=ticker.after_fork_in_parent,
        after_in_child=ticker.after_fork,
    )
