"""All tenants of a process, and the memory that they may have together."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from .._locks import ForkSafeLock
from ..errors import InvalidArgument
from .bucket import Clock
from .contract import Files
from .counts import Counts
from .limits import TenantLimits
from .loads import Loads
from .tenant import Tenant

if TYPE_CHECKING:
    from .._host.snapshots.store import SnapshotStore
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["TenantPool"]

# The share of the process's memory maps that tenants get.
_SHARE_OF_MAPS = 0.75

# After so many new tokenizers the pool evicts by itself, for programs that never call `evict`.
_MAKINGS_BETWEEN = 64


class TenantPool:
    """Safe to share among threads and to fork with."""

    def __init__(
        self,
        snapshots: SnapshotStore | Literal[False] | None = None,
        *,
        max_memory: int = 4 << 30,
        idle_seconds: float = 600.0,
        max_maps: int | None = None,
        process_memory: Callable[[], int | None] | None = None,
        clock: Clock = time.monotonic,
        counts: Counts | None = None,
    ) -> None:
        """snapshots     where what was read is kept: a SnapshotStore; None: the user's (see
                      docs/cache.md); False: in memory only
        max_memory    bytes of instances that are not shared, above which idle tenants lose theirs
        idle_seconds  after which a tenant loses them in any case
        max_maps      the same for memory maps; None: three quarters of what the system allows
        process_memory
                      bytes that the process has, which count where a file is to be read; None or
                      None as its answer: only those of instances do
        clock         for tests
        counts        what tenants hold of their limits, such as over several processes
        """
        from .._host import refuse_subinterpreter
        from .._host.linux import private_memory
        from .._host.snapshots.store import SnapshotStore

        refuse_subinterpreter()
        if not (snapshots is None or snapshots is False or isinstance(snapshots, SnapshotStore)):
            raise InvalidArgument("snapshots must be a pywasmtok.SnapshotStore, False or None")
        self.snapshots = SnapshotStore.for_user() if snapshots is None else snapshots or None
        self.max_memory = max_memory
        self.idle_seconds = idle_seconds
        allowed = int(private_memory.most_maps() * _SHARE_OF_MAPS)
        self.max_maps = allowed if max_maps is None else max_maps
        self.loads = Loads(lambda: self.max_memory, self._used)
        self.counts = counts or Counts()
        self._process_memory = process_memory or (lambda: None)
        self._clock = clock
        self._tenants: dict[str, Tenant] = {}
        self._lock = ForkSafeLock()
        self._makings = 0
        self._outside: WeakValueDictionary[str, Tokenizer] = WeakValueDictionary()
        self._outside_lock = ForkSafeLock()

    def add(
        self, name: str, limits: TenantLimits | None = None, files: Files | None = None
    ) -> Tenant:
        """A new tenant. `files`: where its files are kept; None: in its memory."""
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a tenant's name is a text, not {name!r}")
        made = Tenant(name, limits or TenantLimits(), files, pool=self, clock=self._clock)
        with self._lock:
            if name in self._tenants:
                raise InvalidArgument(f"there is a tenant {name!r} already")
            self._tenants[name] = made
        return made

    def get(self, name: str) -> Tenant:
        """KeyError: there is none."""
        return self._tenants[name]

    def names(self) -> list[str]:
        return list(self._tenants)

    def __len__(self) -> int:
        return len(self._tenants)

    def set_limits(self, name: str, limits: TenantLimits) -> None:
        """For calls from now on."""
        self.get(name).set_limits(limits)

    def remove(self, name: str) -> None:
        """Calls and streams of it are finished. KeyError: there is none."""
        with self._lock:
            tenant = self._tenants.pop(name)
        self.counts.forget(name)
        tenant.evict()

    def evict(self, room: int = 0) -> int:
        """Drops the instances of the tenants that were idle for longest, until the pool's memory is
        within its bound, less `room`. Returns how many tenants lost theirs. Cheap enough for every
        few seconds."""
        now = self._clock()
        idle_first = sorted(self._with_instances(), key=lambda one: one.last_use)
        evicted = 0
        memory = maps = 0
        rest: list[Tenant] = []
        for tenant in idle_first:
            if now - tenant.last_use > self.idle_seconds:
                tenant.evict()
                evicted += 1
            else:
                memory += tenant.instances.measured(tenant.last_use)
                maps += tenant.instances.maps
                rest.append(tenant)
        for tenant in rest:
            if memory <= self.max_memory - room and maps <= self.max_maps:
                break
            took_maps = tenant.instances.maps
            memory -= tenant.evict().memory
            maps -= took_maps
            evicted += 1
        return evicted

    def usage(self) -> tuple[int, int, int]:
        """Instances, bytes that they have for themselves as last measured, memory maps."""
        tenants = list(self._tenants.values())
        return (
            sum(len(one.instances) for one in tenants),
            sum(one.instances.memory for one in tenants),
            sum(one.instances.maps for one in tenants),
        )

    def memory(self) -> dict[str, int]:
        """The same bytes by tenant, of those that have instances."""
        return {one.name: one.instances.memory for one in self._with_instances()}

    def close(self) -> None:
        """Removes all tenants."""
        for name in self.names():
            with self._lock:
                tenant = self._tenants.pop(name, None)
            if tenant is not None:
                tenant.evict()

    def _used(self, room: int) -> int:
        """Bytes in use, after what is idle has made room for so many more, if it can."""
        instances = sum(one.instances.measured(one.last_use) for one in self._with_instances())
        beside = max(0, (self._process_memory() or 0) - instances)
        if instances + beside + room > self.max_memory >= beside + room:
            self.evict(beside + room)
        return max(self.usage()[1], self._process_memory() or 0)

    # For tenants.

    def before_making(self) -> None:
        """Evicts now and then, for programs that never call `evict`."""
        self._makings += 1
        if self._makings % _MAKINGS_BETWEEN == 0:
            self.evict()

    def outside(self, digest: str, make: Callable[[], Tokenizer]) -> Tokenizer:
        """A tokenizer of another library: one for all tenants, as long as one of them has it."""
        with self._outside_lock:
            found = self._outside.get(digest)
            if found is None:
                found = self._outside[digest] = make()
            return found

    def make_room(self) -> bool:
        """Called when the system has no more address space or memory maps: half of the tenants with
        instances lose them, the longest idle ones. False: no tenant had any."""
        having = sorted(self._with_instances(), key=lambda one: one.last_use)
        for tenant in having[: (len(having) + 1) // 2]:
            tenant.evict()
        return bool(having)

    def _with_instances(self) -> list[Tenant]:
        return [one for one in list(self._tenants.values()) if len(one.instances)]
