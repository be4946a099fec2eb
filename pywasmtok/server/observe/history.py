"""The last minutes in steps of some seconds: how many requests, how many failed, how long they
took. For the plots of the status page; what is older is for a database of metrics."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Histories", "History"]

STEP: Final = 5.0
STEPS: Final = 72

# Each bound is a quarter above the one before: what is read from them is off by that at most.
_BOUNDS: Final = tuple(100e-6 * 1.25**n for n in range(60))


class _Step:
    __slots__ = ("buckets", "failed", "number", "received", "refused", "requests")

    def __init__(self, number: int) -> None:
        self.number = number
        self.requests = self.refused = self.failed = self.received = 0
        self.buckets: dict[int, int] = {}

    def quantile(self, part: float) -> float | None:
        if not self.requests:
            return None
        rank, seen = part * self.requests, 0
        for index in sorted(self.buckets):
            seen += self.buckets[index]
            if seen >= rank:
                return _BOUNDS[min(index, len(_BOUNDS) - 1)]
        return _BOUNDS[-1]


class History:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: deque[_Step] = deque(maxlen=STEPS)

    def add(self, seconds: float, status: int, received: int) -> None:
        self.add_to(int(self._clock() / STEP), bisect_left(_BOUNDS, seconds), status, received)

    def add_to(self, number: int, bucket: int, status: int, received: int) -> None:
        """To the step of this number."""
        step = self._steps[-1] if self._steps else None
        if step is None or step.number != number:
            step = _Step(number)
            self._steps.append(step)
        step.requests += 1
        step.received += received
        if status >= 429:
            step.refused += status in (429, 503)
            step.failed += status >= 500 and status != 503
        step.buckets[bucket] = step.buckets.get(bucket, 0) + 1

    def plain(self) -> dict[str, Any]:
        """Lists of equal length, the oldest step first; `null` where nothing was asked."""
        now = int(self._clock() / STEP)
        by_number = {step.number: step for step in self._steps}
        steps = [
            by_number.get(number) or _Step(number) for number in range(now - STEPS + 1, now + 1)
        ]
        return {
            "step_seconds": STEP,
            "requests": [step.requests for step in steps],
            "refused": [step.refused for step in steps],
            "failed": [step.failed for step in steps],
            "received_bytes": [step.received for step in steps],
            "p50": [step.quantile(0.5) for step in steps],
            "p99": [step.quantile(0.99) for step in steps],
        }


class Histories:
    """One of the process, and one of each of the tenants that asked last."""

    def __init__(self, tenants: int) -> None:
        self._most = tenants
        self.all = History()
        self._of: OrderedDict[str, History] = OrderedDict()

    def add(self, tenant: str | None, seconds: float, status: int, received: int) -> None:
        number, bucket = int(time.monotonic() / STEP), bisect_left(_BOUNDS, seconds)
        self.all.add_to(number, bucket, status, received)
        if tenant is None or not self._most:
            return
        history = self._of.get(tenant)
        if history is None:
            history = self._of[tenant] = History()
            if len(self._of) > self._most:
                self._of.popitem(last=False)
        else:
            self._of.move_to_end(tenant)
        history.add_to(number, bucket, status, received)

    def of(self, tenant: str) -> History:
        return self._of.get(tenant) or History()
