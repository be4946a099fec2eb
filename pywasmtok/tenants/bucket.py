"""A token bucket over bytes: a rate in the long run, and a burst after a rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .._locks import ForkSafeLock
from .errors import FOREVER, TooManyRequests

__all__ = ["Bucket", "Clock"]

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""

_SHORTEST_WAIT = 0.001


class Bucket:
    """A token is a byte. The bucket fills with time, up to the burst. A call larger than the burst
    is admitted when the bucket is full, and leaves a debt that later calls wait for. So the rate
    holds for calls of every size, and no call is refused for ever."""

    def __init__(self, rate: float, burst: float, clock: Clock = time.monotonic) -> None:
        self._rate, self._burst = rate, burst
        self._clock = clock
        self._level = burst
        self._at = clock()
        self._lock = ForkSafeLock()
        # Around each use of the level.
        self._state: Any = self._lock

    def take(self, cost: float) -> None:
        """TooManyRequests, with the time after which there is room."""
        with self._lock:
            wait = self._wait(cost)
            if wait <= 0:
                self._level -= cost
                return
        raise self._too_many(cost, wait)

    def wait(self, cost: float) -> float:
        """Seconds until `take` would succeed; 0: it would now."""
        with self._state:
            return self._wait(cost)

    def give_back(self, cost: float) -> None:
        """Returns the bytes of a call that was not made."""
        with self._lock:
            self._fill()
            self._level = min(self._burst, self._level + cost)

    def set(self, rate: float, burst: float) -> None:
        """Sets other numbers; the level stays, as far as the new burst allows."""
        with self._lock:
            self._fill()
            self._level = min(burst, self._level + max(0.0, burst - self._burst))
            self._rate, self._burst = rate, burst

    @property
    def level(self) -> float:
        """Bytes that are available now; below 0: a debt."""
        with self._state:
            self._fill()
            return self._level

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._burst, self._level + max(0.0, now - self._at) * self._rate)
        self._at = now

    def _wait(self, cost: float) -> float:
        self._fill()
        missing = min(cost, self._burst) - self._level
        if missing <= 0:
            return 0.0
        return max(_SHORTEST_WAIT, missing / self._rate) if self._rate else float("inf")

    def _too_many(self, cost: float, wait: float) -> TooManyRequests:
        error = TooManyRequests.of(
            f"{cost:.0f} bytes now are more than this tenant may have done:"
            f" {self._rate:.0f} bytes a second, {self._burst:.0f} at once",
            self._rate,
            cost,
            hint=f"There is room in {wait:.3g} s" if wait < FOREVER else None,
        )
        error.retry_after = min(wait, FOREVER)
        return error
