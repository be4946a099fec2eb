"""What tenants have at a moment, counted over all processes of a server.

For each tenant and kind, each process has a cell in shared memory, which it alone writes. The total
is the sum. When a process has ended, its cells are set to 0: what it held is given back.

The level of a bucket is one number for all processes. A process takes some bytes more than it needs
out of it, as a lease, so that most calls need no lock. A lease ends with its process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from .bucket import Bucket, Clock
from .counts import MEMORY, RUNNING, Counts

__all__ = ["Board", "SharedCounts"]

_log = logging.getLogger("pywasmtok")

# Beside the kinds of counts: whether a process has the tenant, and when a call of it last found no
# place.
_KNOWN, _ASKED = MEMORY + 1, MEMORY + 2
_KINDS: Final = MEMORY + 3

_TENANTS: Final = 16_384
"""The most at a time. Limits of more tenants are counted in each process."""

# A process that is stopped while it has the lock must not stop the others. Without the lock a total
# may be off by one, and bytes are admitted, to be taken from the level later.
_LOCK_SECONDS: Final = 0.005

# If calls of a tenant wait in several processes, each starts them for so long, and then leaves
# a place to a process that has just asked for one.
_TURN_SECONDS: Final = 0.02
_YIELD_SECONDS: Final = 0.02
_JUST_NOW_SECONDS: Final = 0.05

# A lease, as a part of the burst, and at most.
_LEASES: Final = 1024
_MOST_LEASE: Final = 64 << 10


class Board:
    """The memory, which goes to each process. Made by the process that starts them."""

    def __init__(self, make: Callable[[str, int], Any], processes: int, lock: Path) -> None:
        """`make`: an array in shared memory, of a type code and a length. `lock`: a file."""
        self.processes = processes
        self.names = make("Q", _TENANTS)
        self.buckets = make("d", _TENANTS * 3)
        self.cells = make("d", _TENANTS * _KINDS * processes)
        self.lock = lock

    def clear(self, process: int) -> None:
        """It has ended: what it held is given back."""
        self.cells[process :: self.processes] = [0.0] * (_TENANTS * _KINDS)


class SharedCounts(Counts):
    is_shared = True

    def __init__(self, board: Board, process: int) -> None:
        """`process`: the number of this one."""
        super().__init__()
        self.lock = _Lock(board.lock)
        self._board = board
        self._process = process
        self._processes = board.processes
        self._cells = memoryview(board.cells).cast("B").cast("d")
        self.buckets = memoryview(board.buckets).cast("B").cast("d")
        # By tenant, its place among the names.
        self._places: dict[str, int] = {}
        # By tenant: since when its calls start here, and since when others are let through.
        self._turns: dict[str, tuple[float, float]] = {}
        self._is_full = False

    def total(self, kind: int, tenant: str) -> int:
        place = self._places.get(tenant)
        if place is None:
            place = self.place(tenant)
            if place is None:
                return self.own(kind, tenant)
        first = (place * _KINDS + kind) * self._processes
        return int(sum(self._cells[first : first + self._processes]))

    def add(self, kind: int, tenant: str, number: int) -> int:
        now = super().add(kind, tenant, number)
        if number > 0 or tenant in self._places:
            self._write(kind, tenant, now)
        return now

    def may_start(self, tenant: str, most: int) -> bool:
        now = time.monotonic()
        if self.total(RUNNING, tenant) >= most:
            self._turns.pop(tenant, None)
        elif not self._yields(tenant, now):
            self._write(_ASKED, tenant, 0.0)
            return True
        self._write(_ASKED, tenant, now)
        return False

    def bucket(self, tenant: str, rate: float, burst: float, clock: Clock) -> Bucket:
        return _SharedBucket(self, tenant, rate, burst, clock)

    def forget(self, tenant: str) -> None:
        place = self._places.pop(tenant, None)
        self._turns.pop(tenant, None)
        if place is not None:
            # A tenant that is made anew by this name has its burst.
            self.buckets[place * 3 + 1] = 0.0
            for kind in range(_KINDS):
                self._cells[self._cell(place, kind)] = 0.0

    def place(self, tenant: str) -> int | None:
        """Where the tenant is in the shared memory; None: there is no room."""
        place = self._places.get(tenant)
        if place is None:
            name = int.from_bytes(blake2b(tenant.encode(), digest_size=8).digest()) or 1
            with self.lock:
                place = self._found(name)
                if place is None:
                    return None
                self._cells[self._cell(place, _KNOWN)] = 1.0
            self._places[tenant] = place
        return place

    def _found(self, name: int) -> int | None:
        names = self._board.names
        known = names[:]
        if name in known:
            return int(known.index(name))
        place = known.index(0) if 0 in known else self._unused()
        if place is None:
            if not self._is_full:
                _log.warning("limits of more than %d tenants are counted in each worker", _TENANTS)
            self._is_full = True
            return None
        self.buckets[place * 3 + 1] = 0.0
        names[place] = name
        return int(place)

    def _unused(self) -> int | None:
        """The place of a tenant that no process has any more."""
        for place in range(_TENANTS):
            first = (place * _KINDS + _KNOWN) * self._processes
            if not any(self._cells[first : first + self._processes]):
                return place
        return None

    def _yields(self, tenant: str, now: float) -> bool:
        began, since = self._turns.setdefault(tenant, (now, 0.0))
        if now - began < _TURN_SECONDS or not self._others_ask(tenant, now):
            return False
        since = since or now
        ends = now - since >= _YIELD_SECONDS
        self._turns[tenant] = (now, 0.0) if ends else (began, since)
        return not ends

    def _others_ask(self, tenant: str, now: float) -> bool:
        place = self.place(tenant)
        if place is None:
            return False
        own = self._cell(place, _ASKED)
        first = own - self._process
        return any(
            self._cells[cell] > now - _JUST_NOW_SECONDS
            for cell in range(first, first + self._processes)
            if cell != own
        )

    def _write(self, kind: int, tenant: str, value: float) -> None:
        place = self.place(tenant)
        if place is not None:
            self._cells[self._cell(place, kind)] = value

    def _cell(self, place: int, kind: int) -> int:
        return (place * _KINDS + kind) * self._processes + self._process


class _Lock:
    """Of a file, so it ends with its process. A thread may take it again."""

    def __init__(self, path: Path) -> None:
        import fcntl

        self._flock = fcntl.flock
        self._try, self._release = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN
        # In a folder for temporary files, which the system may have cleaned since the server began.
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        # Open as long as the process is there.
        self._file = path.open("ab")
        self._threads = threading.RLock()
        self._depth = 0
        self._has = False

    def __enter__(self) -> bool:
        """False: another process has it, for too long."""
        self._threads.acquire()
        self._depth += 1
        if self._depth == 1:
            self._has = self._tried()
        return self._has

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth and self._has:
            self._flock(self._file, self._release)
        self._threads.release()

    def _tried(self) -> bool:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                self._flock(self._file, self._try)
            except OSError:
                if time.monotonic() > end:
                    return False
                time.sleep(0.0001)
            else:
                return True


class _SharedBucket(Bucket):
    def __init__(
        self, counts: SharedCounts, tenant: str, rate: float, burst: float, clock: Clock
    ) -> None:
        super().__init__(rate, burst, clock)
        self._counts = counts
        self._tenant = tenant
        self._lease = 0.0
        self._state = _Level(self)

    def take(self, cost: float) -> None:
        with self._lock:
            if cost < self._lease:
                self._lease -= cost
                return
        with self._state as is_locked:
            wait = self._wait(cost)
            if wait <= 0:
                self._level -= cost
                if not is_locked:
                    self._lease -= cost
                    return
                self._lease = max(0.0, min(self._most_lease(), self._level))
                self._level -= self._lease
                return
        raise self._too_many(cost, wait)

    def give_back(self, cost: float) -> None:
        with self._lock:
            self._lease += cost

    def set(self, rate: float, burst: float) -> None:
        with self._lock:
            self._rate, self._burst = rate, burst
            self._lease = min(self._lease, self._most_lease())
        # The first process that comes here changes the level.
        with self._state:
            pass

    def _most_lease(self) -> float:
        return min(_MOST_LEASE, self._burst // _LEASES)

    def load(self) -> None:
        """The level of all, and what this process holds of it."""
        place = self._counts.place(self._tenant)
        if place is not None:
            level, at, burst = self._counts.buckets[place * 3 : place * 3 + 3]
            if at:
                self._level, self._at = level, at
                self._level = min(self._burst, level + max(0.0, self._burst - burst))
        self._level += self._lease
        self._lease = 0.0

    def save(self) -> None:
        place = self._counts.place(self._tenant)
        if place is not None:
            for number, value in enumerate((self._level, self._at, self._burst)):
                self._counts.buckets[place * 3 + number] = value


class _Level:
    """Around each use of the level: locks it, reads it and writes it. Without the lock the level
    is as this process has last seen it."""

    def __init__(self, bucket: _SharedBucket) -> None:
        self._bucket = bucket
        self._lock = bucket._counts.lock
        self._is_locked = False

    def __enter__(self) -> bool:
        self._bucket._lock.__enter__()
        self._is_locked = bool(self._lock.__enter__())
        try:
            if self._is_locked:
                self._bucket.load()
        except BaseException:
            self._unlock()
            raise
        return self._is_locked

    def __exit__(self, *_: object) -> None:
        try:
            if self._is_locked:
                self._bucket.save()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        self._lock.__exit__(None, None, None)
        self._bucket._lock.__exit__(None, None, None)
