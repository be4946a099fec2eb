"""Which call runs next, and how many wait and run: the rules of `executor`, without its threads.

There are two queues, fair between tenants. Short calls have one of their own, so that they do
not wait behind a call over megabytes. There are more threads than processors: long calls get half
of them, which keeps the processors busy, and short calls get the others. A single thread serves
both queues alternately, so neither starves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ...tenants.counts import RUNNING, WAITING, Counts
from .round_robin import Entry, FairQueue

__all__ = ["Turn", "Turns"]

T = TypeVar("T")

# The bytes of calls that a tenant may run in one turn.
QUANTUM: Final = 64 << 10

# The bytes that a second of processor time counts for, where that exceeds the stated cost.
BYTES_A_SECOND: Final = 16 << 20
MOST_DEBT: Final = 64 << 20


@dataclass(slots=True, eq=False)
class Turn(Generic[T]):
    tenant: str
    cost: int
    long: bool
    item: T
    entry: Entry[Turn[T]] | None = None
    """While it waits."""


class Turns(Generic[T]):
    def __init__(self, threads: int, counts: Counts | None = None) -> None:
        """`counts`: of calls, in this process and in others."""
        self.threads = threads
        self.counts = counts or Counts()
        self.running = 0
        self._most_long = max(1, threads // 2)
        self._long = FairQueue[Turn[T]](QUANTUM, MOST_DEBT)
        self._short = FairQueue[Turn[T]](QUANTUM, MOST_DEBT)
        self._running_long = 0
        self._long_was_last = False
        # What tenants that have something here may run at once.
        self._most: dict[str, int] = {}

    @property
    def waiting(self) -> int:
        return len(self._long) + len(self._short)

    def short_waiting_of_others(self, tenant: str) -> int:
        return len(self._short) - self._short.waiting(tenant)

    def waiting_of(self, tenant: str) -> int:
        return self._long.waiting(tenant) + self._short.waiting(tenant)

    def running_of(self, tenant: str) -> int:
        return self.counts.own(RUNNING, tenant)

    def add(self, turn: Turn[T], most_running: int) -> None:
        """`most_running`: what the tenant may run at once, from now on."""
        self._most[turn.tenant] = most_running
        turn.entry = self._queue(turn.long).push(turn.tenant, turn.cost, turn)
        self.counts.add(WAITING, turn.tenant, 1)

    def next(self, queue: bool | None = None) -> Turn[T] | None:
        """The next call, counted as running until `ended`; None: no call may run now. `queue`: only
        long calls (True) or only short ones (False)."""
        if self.running >= self.threads or not self.waiting:
            return None
        entry = None
        with self.counts.lock:
            for long in self._order() if queue is None else (queue,):
                entry = self._queue(long).pop(self._may_run)
                if entry is not None:
                    break
            if entry is None:
                return None
            turn = entry.item
            self.counts.add(RUNNING, turn.tenant, 1)
        self.counts.add(WAITING, turn.tenant, -1)
        turn.entry = None
        self.running += 1
        self._running_long += turn.long
        self._long_was_last = turn.long
        return turn

    def remove(self, turn: Turn[T]) -> bool:
        """Takes it out while it waits; False: it does not."""
        if turn.entry is None:
            return False
        removed = self._queue(turn.long).remove(turn.entry)
        turn.entry = None
        if removed:
            self.counts.add(WAITING, turn.tenant, -1)
        self._forget(turn.tenant)
        return removed

    def ended(self, turn: Turn[T], seconds: float) -> None:
        """`seconds` of a processor that it took."""
        self.running -= 1
        self._running_long -= turn.long
        self.counts.add(RUNNING, turn.tenant, -1)
        self._forget(turn.tenant)
        beyond = int(seconds * BYTES_A_SECOND) - turn.cost
        if beyond > 0:
            self._queue(turn.long).charge(turn.tenant, beyond)

    def _queue(self, long: bool) -> FairQueue[Turn[T]]:
        return self._long if long else self._short

    def _order(self) -> tuple[bool, ...]:
        """The order of the queues; the short one alone while long calls have all their threads."""
        if self._running_long >= self._most_long:
            return (False,)
        if self._running_long == 0 and not self._long_was_last:
            return (True, False)
        return (False, True)

    def _may_run(self, tenant: str) -> bool:
        return self.counts.may_start(tenant, self._most[tenant])

    def _forget(self, tenant: str) -> None:
        if not self.running_of(tenant) and not self.waiting_of(tenant):
            self._most.pop(tenant, None)
