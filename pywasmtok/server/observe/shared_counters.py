"""The numbers of all workers of one server, whichever of them is scraped.

Each worker writes its own into a folder that they share, at most once a second, and reads those of
the others when it is scraped. Samples with the same name and labels are added up: they are
counters, histograms, and gauges of things that each worker has for itself. What a worker that has
died counted is kept, so that no counter ever falls; its gauges are not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["Siblings", "added"]


class _Sample(msgspec.Struct, array_like=True):
    name: str
    labels: dict[str, str]
    value: float


class _Family(msgspec.Struct, array_like=True):
    name: str
    about: str
    type: str
    samples: list[_Sample]


class Siblings:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._own = folder / f"{os.getpid()}.numbers"

    def write(self, metrics: Iterable[Metric]) -> None:
        """Replaces the file in one step. On a full disk the numbers are lost, and the server goes
        on."""
        data = msgspec.msgpack.encode([_plain(metric) for metric in metrics])
        begun = self._own.with_suffix(".begun")
        try:
            begun.write_bytes(data)
            begun.replace(self._own)
        except OSError:
            begun.unlink(missing_ok=True)

    def others(self) -> Iterator[_Family]:
        for path in sorted(self._folder.glob("*.numbers")):
            if path == self._own:
                continue
            try:
                families = msgspec.msgpack.decode(path.read_bytes(), type=list[_Family])
            except (OSError, msgspec.DecodeError):
                continue
            alive = _alive(int(path.stem)) if path.stem.isdecimal() else False
            for family in families:
                if alive or family.type != "gauge":
                    yield family


def added(own: Iterable[Metric], others: Iterable[_Family]) -> list[Metric]:
    from prometheus_client.core import Metric

    sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    heads: dict[str, _Family] = {}
    for family in (*map(_plain, own), *others):
        heads.setdefault(family.name, family)
        into = sums.setdefault(family.name, {})
        for one in family.samples:
            key = (one.name, tuple(one.labels.items()))
            into[key] = into.get(key, 0.0) + one.value
    found = []
    for name, head in heads.items():
        metric = Metric(name, head.about, head.type)
        for (sample, labels), value in sums[name].items():
            metric.add_sample(sample, dict(labels), value)
        found.append(metric)
    return found


def _plain(metric: Metric) -> _Family:
    # When something was first counted is not a number that can be added up.
    samples = [
        _Sample(one.name, dict(one.labels), float(one.value))
        for one in metric.samples
        if not one.name.endswith("_created")
    ]
    return _Family(metric.name, metric.documentation, metric.type, samples)


def _alive(process: int) -> bool:
    if sys.platform == "win32":
        # On this system the check would end the process; so gauges of dead workers stay.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
