"""The numbers of all workers of one server, whichever of them is scraped.

Each worker writes its own into a folder that they share, once a second and before it shows them,
and reads those of the others when it is scraped. Samples with the same name and labels are added
up: they are counters, histograms, and gauges of things that each worker has for itself. What a
worker that has died counted is kept, and so is what was read last where a file cannot be read: no
counter ever falls. Gauges of the dead are not kept.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["Siblings", "added"]


T = TypeVar("T")

_NO_DESCRIPTOR: Final = (errno.EMFILE, errno.ENFILE)


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
        self._spare = _Spare()
        # By file, as it was read last.
        self._known: dict[Path, list[_Family]] = {}

    def write(self, metrics: Iterable[Metric]) -> None:
        """Replaces the file in one step. On a full disk the old numbers stay, and the server goes
        on."""
        data = msgspec.msgpack.encode([_plain(metric) for metric in metrics])
        begun = self._own.with_suffix(".begun")
        try:
            self._spare.use(lambda: begun.write_bytes(data))
            begun.replace(self._own)
        except OSError:
            with contextlib.suppress(OSError):
                begun.unlink(missing_ok=True)

    def close(self) -> None:
        self._spare.close()

    def others(self) -> Iterator[_Family]:
        with contextlib.suppress(OSError):
            for name in self._spare.use(lambda: os.listdir(self._folder)):
                path = self._folder / name
                if path.suffix == ".numbers" and path != self._own:
                    self._known.setdefault(path, [])
        for path in sorted(self._known):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                data = self._spare.use(path.read_bytes)
                self._known[path] = msgspec.msgpack.decode(data, type=list[_Family])
            alive = _alive(int(path.stem)) if path.stem.isdecimal() else False
            for family in self._known[path]:
                if alive or family.type != "gauge":
                    yield family


class _Spare:
    """A descriptor that is kept, to be given up where a file cannot be opened without it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._keep()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def use(self, call: Callable[[], T]) -> T:
        """`call` opens one file at a time."""
        with self._lock:
            if self._file is None:
                self._keep()
            try:
                return call()
            except OSError as error:
                if error.errno not in _NO_DESCRIPTOR or self._file is None:
                    raise
            os.close(self._file)
            self._file = None
            try:
                return call()
            finally:
                self._keep()

    def _keep(self) -> None:
        with contextlib.suppress(OSError):
            self._file = os.open(os.devnull, os.O_RDONLY)


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
