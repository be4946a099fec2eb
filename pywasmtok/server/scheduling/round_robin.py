"""Deficit round robin over bytes: the order in which queued calls run.

Keys with waiting calls form a ring. At its turn a key gets a quantum of bytes of credit and runs
calls while the credit lasts. The rest is kept for its next turn, unless no call of the key waits.
So in the long run each key that always has waiting calls gets the same number of bytes, whatever
their sizes. A key with a rare call waits for at most one turn of each other key.

If a call was more work than its bytes said, `charge` takes the difference from its key's credit.

No clock, no thread, no I/O: threads that share a queue need a lock around it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Entry", "FairQueue"]

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Entry(Generic[T]):
    key: str
    cost: int
    item: T


@dataclass(slots=True)
class _Flow(Generic[T]):
    """What waits for one key."""

    credit: int
    entries: deque[Entry[T]] = field(default_factory=deque)
    begun: bool = False
    """Whether this turn's quantum has been given."""


class FairQueue(Generic[T]):
    def __init__(self, quantum: int, most_debt: int = 0) -> None:
        """`most_debt`: what a key owes at most for calls that were more work than they said."""
        if quantum < 1:
            raise ValueError("a quantum is at least one byte")
        self._quantum = quantum
        self._most_debt = most_debt
        # In the order of turns; the first one has its turn now.
        self._ring: OrderedDict[str, _Flow[T]] = OrderedDict()
        self._debts: dict[str, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def waiting(self, key: str) -> int:
        flow = self._ring.get(key)
        return len(flow.entries) if flow is not None else 0

    def push(self, key: str, cost: int, item: T) -> Entry[T]:
        flow = self._ring.get(key)
        if flow is None:
            flow = self._ring[key] = _Flow(-self._debts.pop(key, 0))
        entry = Entry(key, max(0, cost), item)
        flow.entries.append(entry)
        self._size += 1
        return entry

    def pop(self, ready: Callable[[str], bool]) -> Entry[T] | None:
        """The next one of a key that is `ready`; None: no such key has anything waiting."""
        rounds = self._one_round(ready)
        if isinstance(rounds, int):
            # No key had enough credit. The rounds that would end the same way are credited at once.
            for key, flow in self._ring.items():
                if ready(key):
                    flow.credit += (rounds - 1) * self._quantum
            rounds = self._one_round(ready)
        assert not isinstance(rounds, int)
        return rounds

    def remove(self, entry: Entry[T]) -> bool:
        """False: it is not in here any more."""
        flow = self._ring.get(entry.key)
        if flow is None or entry not in flow.entries:
            return False
        flow.entries.remove(entry)
        self._shrunk(entry.key, flow)
        return True

    def charge(self, key: str, cost: int) -> None:
        """`cost` more than was said has been done for the key."""
        flow = self._ring.get(key)
        if flow is not None:
            flow.credit = max(-self._most_debt, flow.credit - cost)
        elif self._size:
            # Only while other calls wait: otherwise the work has delayed no call.
            self._debts[key] = min(self._most_debt, self._debts.get(key, 0) + cost)

    def _one_round(self, ready: Callable[[str], bool]) -> Entry[T] | int | None:
        """One turn of each key: the next call; or after how many more rounds there is one; or None
        if no key is ready."""
        fewest: int | None = None
        for key in list(self._ring):
            flow = self._ring[key]
            if ready(key):
                cost = flow.entries[0].cost
                if not flow.begun and flow.credit < cost:
                    flow.credit += self._quantum
                flow.begun = True
                if flow.credit >= cost:
                    return self._taken(key, flow)
                rounds = -((flow.credit - cost) // self._quantum)
                fewest = rounds if fewest is None else min(fewest, rounds)
            flow.begun = False
            self._ring.move_to_end(key)
        return fewest

    def _taken(self, key: str, flow: _Flow[T]) -> Entry[T]:
        entry = flow.entries.popleft()
        flow.credit -= entry.cost
        self._shrunk(key, flow)
        return entry

    def _shrunk(self, key: str, flow: _Flow[T]) -> None:
        self._size -= 1
        if not flow.entries:
            del self._ring[key]
            if flow.credit < 0:
                self._debts[key] = -flow.credit
        if not self._size:
            self._debts.clear()
