"""A service whose work has no turns and no threads: for tests of what stands above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pywasmtok.server.config import Config
from pywasmtok.server.contract import Store
from pywasmtok.server.scheduling.executor import ThreadWork
from pywasmtok.server.service import Service
from pywasmtok.server.store.memory import MemoryStore
from pywasmtok.tenants import TenantPool
from pywasmtok.tenants.contract import TenantLike

__all__ = ["DirectWork", "service_without_threads"]

T = TypeVar("T")


class DirectWork(ThreadWork):
    def __init__(self) -> None:
        """It has no threads."""

    async def run(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool = False,
        about: str = "",
    ) -> T:
        with tenant.admitted(cost):
            return call()

    def run_now(self, tenant: TenantLike, cost: int, call: Callable[[], T], about: str = "") -> T:
        return call()

    def close(self, seconds: float = 5.0) -> None:
        """It has nothing."""


def service_without_threads(config: Config | None = None, store: Store | None = None) -> Service:
    """It has no thread before its `start`, so it need not be closed."""
    return Service(config or Config(), store or MemoryStore(), TenantPool(False), DirectWork())
