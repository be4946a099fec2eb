"""Tenants whose calls have lately been long.

A tenant whose pattern or template took long will probably send it again. So the tenant is marked,
at first for ten seconds. A mark that follows another within the length of that one is longer, up to
ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from time import monotonic
from typing import Final

from ..scheduling.cost_model import LONG_SECONDS

__all__ = ["SlowTenants"]

# Seconds of processor time in long calls within about a second that cause a mark: a fiftieth of the
# time.
_MARKED_SECONDS: Final = 0.02
_WITHIN_SECONDS: Final = 1.0

_FIRST_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 600.0
_FACTOR: Final = 4.0

# Only an admin makes tenants, but the table must have a bound.
_MOST: Final = 4096


@dataclass(slots=True)
class _Mark:
    recent: float = 0.0
    """Seconds of long calls, with exponential decay."""
    seen: float = 0.0
    until: float = 0.0
    length: float = 0.0


class SlowTenants:
    """Written by any thread, read by the event loop. Two writes at the same moment may lose one of
    two calls, which does not matter: the next call will be as long."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._marks: dict[str, _Mark] = {}

    def __bool__(self) -> bool:
        return bool(self._marks)

    def saw(self, tenant: str, seconds: float) -> None:
        """A call took so long."""
        if seconds <= LONG_SECONDS:
            return
        if len(self._marks) >= _MOST and tenant not in self._marks:
            self._marks.clear()
        mark = self._marks.setdefault(tenant, _Mark())
        now = self._clock()
        mark.recent = seconds + mark.recent * exp((mark.seen - now) / _WITHIN_SECONDS)
        mark.seen = now
        if mark.recent < _MARKED_SECONDS or now < mark.until:
            return
        again = now < mark.until + mark.length
        mark.length = min(_MOST_SECONDS, mark.length * _FACTOR) if again else _FIRST_SECONDS
        mark.until = now + mark.length

    def has(self, tenant: str) -> bool:
        mark = self._marks.get(tenant)
        if mark is None:
            return False
        now = self._clock()
        if now >= max(mark.until + mark.length, mark.seen + _FIRST_SECONDS):
            self._marks.pop(tenant, None)
        return now < mark.until
