"""Work without turns and threads: for tests of what stands above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pywasmtok.server.scheduling.executor import ThreadWork
from pywasmtok.tenants.contract import TenantLike

__all__ = ["DirectWork"]

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
