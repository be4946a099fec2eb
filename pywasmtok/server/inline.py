"""Which calls may run on the event loop, where a slow one would make everybody wait."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

from .pace import Pace

__all__ = ["Permission"]

# More than this is never done there, whatever it is expected to take.
MOST_BYTES: Final = 128 << 10

# What handing a call to a thread and back costs when the loop is busy is of this size.
MOST_SECONDS: Final = 0.001

# What ends a call that takes much longer than expected: the shortest that the host keeps.
DEADLINE: Final = 0.01

# A call that took longer takes the tenant's permission away: for this long, and for twice as long
# each further time.
SLOW_SECONDS: Final = 0.005
_FIRST_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 3600.0

_MOST_KNOWN: Final = 8192


class Permission:
    """Not for several threads at once."""

    deadline: Final = DEADLINE

    def __init__(self) -> None:
        # Until when a tenant has none, and for how long it was taken away.
        self._pauses: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def given(self, tenant: str, cost: int, pace: Pace) -> bool:
        if cost > MOST_BYTES or not pace.proven or (pace.expected(cost) or 0) > MOST_SECONDS:
            return False
        pause = self._pauses.get(tenant)
        return pause is None or pause[0] <= time.monotonic()

    def saw(self, tenant: str, seconds: float) -> None:
        if seconds < SLOW_SECONDS:
            return
        _, last = self._pauses.pop(tenant, (0.0, _FIRST_PAUSE / 2))
        pause = min(_LONGEST_PAUSE, 2 * last)
        self._pauses[tenant] = (time.monotonic() + pause, pause)
        if len(self._pauses) > _MOST_KNOWN:
            self._pauses.popitem(last=False)
