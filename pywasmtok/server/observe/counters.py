"""Counters and histograms as plain numbers, which become metrics at a scrape.

Counting is an addition in a table; the library's own classes take a lock and a look-up of labels
for each. Everything here is called on the event loop only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["SECONDS", "Counter", "Histogram"]

Labels = tuple[str, ...]

SECONDS: Final = (
    *(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512),
    *(1.024, 2.048, 4.096, 8.192, 16.384),
)


class Counter:
    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name = name
        self._about = about
        self._labels = labels
        self.values: dict[Labels, list[float]] = {}

    def add(self, labels: Labels, value: float = 1) -> None:
        self.numbers(labels)[0] += value

    def numbers(self, labels: Labels) -> list[float]:
        """The number of these labels, alone in a list: it can be kept, and added to."""
        return self.values.setdefault(labels, [0.0])

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        family = CounterMetricFamily(self.name, self._about, labels=self._labels)
        for labels, (value,) in tuple(self.values.items()):
            family.add_metric(labels, value)
        yield family


class Histogram:
    def __init__(
        self, name: str, about: str, *labels: str, buckets: tuple[float, ...] = SECONDS
    ) -> None:
        self.name = name
        self._about = about
        self._labels = labels
        self._buckets = buckets
        # The sum, then how many fell into each bucket, and above all.
        self.values: dict[Labels, list[float]] = {}

    def add(self, labels: Labels, value: float) -> None:
        self.add_to(self.numbers(labels), value)

    def numbers(self, labels: Labels) -> list[float]:
        """The numbers of these labels, for `add_to`."""
        numbers = self.values.get(labels)
        if numbers is None:
            numbers = self.values[labels] = [0.0] * (len(self._buckets) + 2)
        return numbers

    def add_to(self, numbers: list[float], value: float) -> None:
        numbers[0] += value
        numbers[1 + bisect_left(self._buckets, value)] += 1

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(self.name, self._about, labels=self._labels)
        bounds = (*(repr(bound) for bound in self._buckets), "+Inf")
        for labels, numbers in tuple(self.values.items()):
            so_far, buckets = 0.0, []
            for bound, count in zip(bounds, numbers[1:], strict=True):
                so_far += count
                buckets.append((bound, so_far))
            family.add_metric(labels, buckets, numbers[0])
        yield family
