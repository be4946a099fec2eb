"""Heartbeats and counts of restarts, in memory that all processes of one server share.

The event loop of each worker writes the time there several times a second. The supervisor replaces
a worker whose heartbeat stands still. Any worker reads all of it, for `/health` and `/metrics`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

    from prometheus_client.core import Metric

__all__ = ["SILENT", "Heartbeats", "Silence", "cause_of", "metrics_of"]

SILENT: Final = "silent"
"""The reason of a restart: the supervisor killed the worker because of its heartbeat."""

_EXIT: Final = "exit"
# A signal without a name.
_OTHER: Final = "signal"
_REASONS: Final = (SILENT, _EXIT, _OTHER, *(one.name for one in signal.Signals))

# `/health` counts a worker as answering if its heartbeat is not older.
_RECENT_SECONDS: Final = 3.0

# The most that one look of the supervisor adds to a silence. A longer gap between two looks is a
# pause of the supervisor, and so most likely of the whole machine or container.
_MOST_SECONDS: Final = 1.0


class Heartbeats:
    def __init__(self, context: SpawnContext, workers: int) -> None:
        # By worker: the monotonic time of the last heartbeat; 0: there was none yet.
        self._times = context.RawArray("d", workers)
        self._restarts = context.RawArray("Q", len(_REASONS))

    def beat(self, worker: int) -> None:
        self._times[worker] = time.monotonic()

    def last(self, worker: int) -> float:
        return float(self._times[worker])

    def restarted(self, worker: int, reason: str) -> None:
        """By the supervisor only, before it starts the next process."""
        self._times[worker] = 0.0
        self._restarts[_REASONS.index(reason)] += 1

    def plain(self) -> dict[str, Any]:
        oldest = time.monotonic() - _RECENT_SECONDS
        return {
            "configured": len(self._times),
            "answering": sum(last > oldest for last in self._times if last),
            "restarts": {
                reason: count
                for reason, count in zip(_REASONS, self._restarts, strict=True)
                if count
            },
        }


class Silence:
    """How long a worker has not beaten. Only time in which the supervisor itself ran counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self._last = 0.0
        self.seconds = 0.0

    def look(self, last: float) -> None:
        """`last`: the worker's last heartbeat."""
        now = self._clock()
        self.seconds += min(now - self._looked, _MOST_SECONDS)
        self._looked = now
        if last != self._last:
            self._last, self.seconds = last, 0.0


def cause_of(code: int) -> tuple[str, str]:
    """The reason for metrics, and what the log says, for an exit code of `multiprocessing`."""
    if code >= 0:
        return _EXIT, f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return _OTHER, f"was ended by signal {-code}"
    return name, f"was ended by {name}"


def metrics_of(heartbeats: Heartbeats | None) -> Iterator[Metric]:
    """Numbers of the whole server, which each worker reads alike. None: it is one process."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    alone: dict[str, Any] = {"answering": 1, "restarts": {}}
    found = alone if heartbeats is None else heartbeats.plain()
    name = "pywasmtok_server_"
    yield GaugeMetricFamily(
        name + "workers_answering",
        "Workers whose event loop has run within the last seconds",
        found["answering"],
    )
    restarts = CounterMetricFamily(
        name + "worker_restarts", "Workers that ended and were replaced", labels=["reason"]
    )
    for reason, count in found["restarts"].items():
        restarts.add_metric([reason], count)
    yield restarts
