from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

from pywasmtok._host.linux import ON
from pywasmtok.server.scheduling.executor import ThreadWork
from server.test_executor import FakeTenant


@pytest.mark.skipif(not ON, reason="threads have no priority of their own here")
@pytest.mark.parametrize(("short", "steps"), [(False, 10), (True, 1)])
def test_threads_step_back_behind_the_event_loop(short: bool, steps: int) -> None:
    tenant: Any = FakeTenant()

    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    work = ThreadWork(2)
    try:
        before = priority()
        inside = asyncio.run(work.run(tenant, 10, priority, inline=short))
    finally:
        work.close()
    assert inside == min(19, before + steps)
    assert priority() == before
