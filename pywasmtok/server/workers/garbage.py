"""When garbage is collected: from time to time, a little at once, by the event loop.

Python collects after a number of allocations, in the thread that makes the next one. So requests
decide how often; and a thread of low priority can hold the GIL for long while it collects. Here the
event loop collects on a clock instead: young objects some times a second, and all objects when the
server is idle, or once in a while.

Nearly nothing is found: what requests leave behind is freed at once, but for reference cycles.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from time import monotonic
from typing import Final

__all__ = ["Collector"]

STEP_SECONDS: Final = 0.1

# Enough young objects to collect; and so many that most of them are parts of large requests.
# Collecting these finds nothing, and they are freed in a moment.
_SOME: Final = 5000
_MANY: Final = 20_000
# How often a collection is put off for that reason, at most.
_MOST_WAITS: Final = 10

# After so many collections of young objects, the middle generation is collected, too.
_MIDDLE: Final = 20

# All objects: as soon as the server is idle, and at the latest after so long.
_IDLE_SECONDS: Final = 5.0
_LATEST_SECONDS: Final = 60.0


class Collector:
    """For the event loop. `requests`: counts requests; a count that stands still means idle."""

    def __init__(
        self, requests: Callable[[], int], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._requests = requests
        self._clock = clock
        self._seen = -1
        self._waits = 0
        self._looks = 0
        self._all_at = clock()
        self._handle: asyncio.TimerHandle | None = None
        self._was_enabled = False

    def start(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._wait()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            if self._was_enabled:
                gc.enable()

    def step(self) -> int | None:
        """The generation that was collected; None: nothing was."""
        now, requests = self._clock(), self._requests()
        idle, self._seen = requests == self._seen, requests
        passed = now - self._all_at
        if passed >= _LATEST_SECONDS or (idle and passed >= _IDLE_SECONDS and self._looks):
            generation = 2
        else:
            young = gc.get_count()[0]
            self._waits += 1
            if young < _SOME or (young > _MANY and self._waits < _MOST_WAITS):
                return None
            generation = 1 if self._looks % _MIDDLE == _MIDDLE - 1 else 0
        gc.collect(generation)
        self._waits = 0
        self._looks += 1
        if generation == 2:
            self._looks, self._all_at = 0, self._clock()
        return generation

    def _wait(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(STEP_SECONDS, self._tick)

    def _tick(self) -> None:
        try:
            self.step()
        finally:
            self._wait()
