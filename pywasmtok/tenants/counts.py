"""What tenants have at a moment: calls that run or wait, streams, sockets, instances, memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .bucket import Bucket, Clock

__all__ = ["INSTANCES", "MEMORY", "RUNNING", "SOCKETS", "STREAMS", "WAITING", "Counts"]

RUNNING, WAITING, STREAMS, SOCKETS, INSTANCES, MEMORY = range(6)


class Counts:
    """Of one process; `SharedCounts` counts over several. The caller prevents that two threads
    change the same kind at once."""

    is_shared = False

    def __init__(self) -> None:
        self._own: dict[tuple[int, str], int] = {}
        self.lock: AbstractContextManager[Any] = nullcontext()
        """Around a look at a total and the change that follows from it."""

    def own(self, kind: int, tenant: str) -> int:
        return self._own.get((kind, tenant), 0)

    def total(self, kind: int, tenant: str) -> int:
        """In all processes."""
        return self._own.get((kind, tenant), 0)

    def add(self, kind: int, tenant: str, number: int) -> int:
        """What this process has now."""
        now = self._own.get((kind, tenant), 0) + number
        if now:
            self._own[kind, tenant] = now
        else:
            self._own.pop((kind, tenant), None)
        return now

    def put(self, kind: int, tenant: str, number: int) -> None:
        """What this process has now."""
        self.add(kind, tenant, number - self.own(kind, tenant))

    def may_start(self, tenant: str, most: int) -> bool:
        """Whether one more call of the tenant may run, of which `most` may. For a call that
        waits, under the lock."""
        return self.own(RUNNING, tenant) < most

    def bucket(self, tenant: str, rate: float, burst: float, clock: Clock) -> Bucket:
        return Bucket(rate, burst, clock)

    def forget(self, tenant: str) -> None:
        """The tenant was removed."""
