"""The process of the hostile tenants, apart from the process that measures.

Reads a configuration from standard input, then commands: `go`, `compute`, `pause`. Each is answered
when it is done. At the end of the input it writes the results.

`compute` takes as much of a processor as the last `go` did, and sends nothing: the delay of good
tenants is then due to the shared machine, and not to the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from .attacker import CONTAINED, Attacker
from .hostile import attack
from .loops import run_loop
from .place import unverified

__all__ = ["main"]

# How long an act computes before it waits for an answer, about.
_COMPUTE_SECONDS: Final = 0.002


async def main() -> None:
    loop = asyncio.get_running_loop()
    said = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    if said["gives_way"]:
        _run_when_idle()
    tls = unverified() if said["tls"] else None
    attackers = [
        Attacker(kind, said["host"], said["port"], key, tls, random.Random(kind))
        for kind, key in said["keys"].items()
    ]
    work = _Work()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await work.end()
        if line.strip() == "go":
            work.begin([attack(one, said["rate"], work.is_over) for one in attackers])
        elif line.strip() == "compute":
            work.begin([_compute(work.share, work.is_over)])
        print(line.strip(), flush=True)
    await work.end()
    found = {
        one.kind: {
            "outcomes": dict(one.outcomes),
            "contained": sum(one.outcomes[outcome] for outcome in CONTAINED),
            "details": dict(one.details.most_common(12)),
        }
        for one in attackers
    }
    print(json.dumps(found))


def _run_when_idle() -> None:
    """Real attackers use processors of their own. Here all share one machine, and making the attack
    must slow down neither the server nor the measurement. On Linux, threads that wake up count a
    processor with such a process as free, and run on it at once; one with a process of a low
    priority is busy for them."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


class _Work:
    """The work that goes on until the next command."""

    def __init__(self) -> None:
        self.share = 0.0
        """The share of a processor that the last work took."""
        self._over = asyncio.Event()
        self._working: asyncio.Future[Any] | None = None
        self._began = 0.0, 0.0

    def is_over(self) -> bool:
        return self._over.is_set()

    def begin(self, parts: list[Coroutine[Any, Any, None]]) -> None:
        self._over.clear()
        self._began = time.perf_counter(), time.process_time()
        self._working = asyncio.gather(*parts)

    async def end(self) -> None:
        if self._working is None:
            return
        wall, processor = self._began
        self.share = (time.process_time() - processor) / (time.perf_counter() - wall)
        self._over.set()
        await self._working
        self._working = None


async def _compute(share: float, until: Callable[[], bool]) -> None:
    began, spent = time.perf_counter(), time.process_time()
    while not until():
        end = time.process_time() + _COMPUTE_SECONDS
        while time.process_time() < end:
            pass
        # Time in which other processes had the processor is made up for, as with acts.
        ahead = (time.process_time() - spent) / max(share, 0.001)
        await asyncio.sleep(max(0.0, ahead - (time.perf_counter() - began)))


if __name__ == "__main__":
    run_loop(main())
