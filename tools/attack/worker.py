"""The process of the hostile tenants: what they do must not slow down who measures.

Reads from standard input what to do, then lines: `go`, `pause`. Each is answered when it is done.
When that is closed, it writes what came of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from typing import Any

from .hostile import CONTAINED, Attacker, attack

__all__ = ["main"]


# Strangers bring processors of their own. Here there are only these, and neither the server nor
# who measures shall wait because making nonsense is work.
_STEPS_BACK = 15


async def main() -> None:
    if hasattr(os, "nice"):
        os.nice(_STEPS_BACK)
    loop = asyncio.get_running_loop()
    said = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    attackers = [
        Attacker(kind, said["host"], said["port"], key, random.Random(kind))
        for kind, key in said["keys"].items()
    ]
    over = asyncio.Event()
    working: asyncio.Future[Any] | None = None
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        if line.strip() == "go":
            over.clear()
            attacks = [attack(one, said["rate"], over.is_set) for one in attackers]
            working = asyncio.gather(*attacks)
        else:
            over.set()
            if working is not None:
                await working
        print(line.strip(), flush=True)
    over.set()
    if working is not None:
        await working
    found = {
        one.kind: {
            "outcomes": dict(one.outcomes),
            "contained": sum(one.outcomes[outcome] for outcome in CONTAINED),
            "details": dict(one.details.most_common(12)),
        }
        for one in attackers
    }
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
