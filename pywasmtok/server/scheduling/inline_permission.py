"""Which calls may run on the event loop, where a slow one would delay all requests."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

from .cost_model import CostModel

__all__ = ["Permission"]

# A larger call never runs there, whatever its expected duration.
MOST_BYTES: Final = 128 << 10

# About the cost of handing a call to a thread and back while the loop is busy.
MOST_SECONDS: Final = 0.001

# The deadline of such a call if it takes much longer than expected: the shortest that the host
# supports.
DEADLINE: Final = 0.01

# A call that took longer is a slow one. One or two prove nothing: the system may have paused the
# process, or the interpreter collected garbage. So many within a minute suspend the tenant's
# permission: for this long, and for twice as long each further time.
SLOW_SECONDS: Final = 0.005
SLOW_CALLS: Final = 3
_REMEMBERED: Final = 60.0
_FIRST_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 3600.0

_MOST_KNOWN: Final = 8192


class _Slow:
    """What is known of a tenant that had slow calls."""

    __slots__ = ("calls", "pause", "since", "until")

    def __init__(self) -> None:
        # The slow calls that count, and since when.
        self.calls, self.since = 0, 0.0
        # Until when the permission is suspended, and for how long the last time.
        self.until, self.pause = 0.0, _FIRST_PAUSE / 2


class Permission:
    """Not for several threads at once."""

    deadline: Final = DEADLINE

    def __init__(self) -> None:
        self._slow: OrderedDict[str, _Slow] = OrderedDict()

    def given(self, tenant: str, cost: int, cost_model: CostModel) -> bool:
        if cost > MOST_BYTES or not cost_model.is_quick(cost, MOST_SECONDS):
            return False
        slow = self._slow.get(tenant)
        return slow is None or slow.until <= time.monotonic()

    def saw(self, tenant: str, seconds: float) -> None:
        if seconds < SLOW_SECONDS:
            return
        now = time.monotonic()
        slow = self._slow.pop(tenant, None) or _Slow()
        self._slow[tenant] = slow
        if now - slow.since > _REMEMBERED:
            slow.calls, slow.since = 0, now
        slow.calls += 1
        if slow.calls >= SLOW_CALLS:
            slow.calls = 0
            slow.pause = min(_LONGEST_PAUSE, 2 * slow.pause)
            slow.until = now + slow.pause
        if len(self._slow) > _MOST_KNOWN:
            self._slow.popitem(last=False)
