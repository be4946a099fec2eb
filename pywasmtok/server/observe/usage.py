"""Usage of tenants. Every few seconds it is written where other processes see it: what was done to
the store, what there is now to the counts. What was done is written at the end, too."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Final

from ...errors import TokenizerError
from ...tenants.contract import TenantLike, Usage
from ...tenants.counts import INSTANCES, MEMORY, Counts
from ..contract import Store
from ..errors import NotFound
from ..store.rules import added

__all__ = ["UsageWriter"]

_log = logging.getLogger("pywasmtok")

# Writing the usage of a tenant takes milliseconds.
_WRITE_SECONDS: Final = 0.5


class UsageWriter:
    def __init__(self, store: Store, counts: Counts) -> None:
        self._store = store
        self._counts = counts
        # Around the dictionaries below; never while the store is waited for.
        self._lock = threading.Lock()
        # From a write to the store until it is noted.
        self._writing = threading.Lock()
        self._tenants: dict[str, TenantLike] = {}
        # What of each is in the store.
        self._written: dict[str, Usage] = {}

    def watch(self, tenant: TenantLike) -> None:
        with self._lock:
            self._tenants[tenant.name] = tenant
            self._written[tenant.name] = Usage()

    def forget(self, name: str) -> None:
        with self._lock:
            self._tenants.pop(name, None)
            self._written.pop(name, None)

    def of(self, name: str) -> Usage:
        """NotFound. What is stored, and what came since; what all processes have now."""
        # Usage that is stored and not yet noted would count twice. A write that takes longer waits
        # for another process, and has not stored anything yet.
        is_noted = self._writing.acquire(timeout=_WRITE_SECONDS)
        try:
            with self._lock:
                tenant = self._tenants.get(name)
                if tenant is None:
                    raise NotFound(f"there is no tenant {name[:80]!r}")
                new = _difference(self._now(tenant), self._written[name])
            stored = self._store.usage(name)
        finally:
            if is_noted:
                self._writing.release()
        return replace(
            added(stored, new),
            instances=self._counts.total(INSTANCES, name),
            memory=self._counts.total(MEMORY, name),
        )

    def write(self) -> None:
        """Writes what has changed. What could not be written is tried again the next time."""
        with self._lock:
            names = list(self._tenants)
        try:
            for name in names:
                self._write(name)
        except TokenizerError as error:
            _log.error("usage could not be written: %s", error)

    def _write(self, name: str) -> None:
        with self._writing:
            with self._lock:
                tenant = self._tenants.get(name)
                if tenant is None:
                    return
                now = self._now(tenant)
                new = _difference(now, self._written[name])
            if new == Usage():
                return
            self._store.add_usage(name, new)
            with self._lock:
                # Meanwhile it may have been removed, and another one been made by its name.
                if self._tenants.get(name) is tenant:
                    self._written[name] = now

    def _now(self, tenant: TenantLike) -> Usage:
        now = tenant.usage()
        self._counts.put(INSTANCES, tenant.name, now.instances)
        self._counts.put(MEMORY, tenant.name, now.memory)
        return now


def _difference(new: Usage, old: Usage) -> Usage:
    return Usage(
        new.requests - old.requests,
        new.refused - old.refused,
        new.failed - old.failed,
        new.text_bytes - old.text_bytes,
        new.tokens - old.tokens,
        new.seconds - old.seconds,
    )
