"""Lists of ids back to text."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import Contender, measure
from ..rows import Measure, Row
from ..running.session import Bench

__all__ = ["run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="cpu")
# Ids behind one measurement, so that short lists are not measured by the grain of the clock.
IDS = 100_000


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    field = [Contender(one.name, one.decode) for one in bench.libraries if one.decode is not None]
    if not field:
        return
    for corpus in plan.corpora:
        for count in plan.decoded:
            calls = max(1, min(IDS, 20 * plan.volume) // count)
            ids = bench.ids_of(corpus, count * calls)
            lists = [ids[at : at + count] for at in range(0, len(ids), count)]
            size = sum(len((field[0].call(one)).encode()) for one in lists) / len(lists)
            results = measure(field, [lists] * plan.repeats(count), bench.rng)
            yield from bench.rates({"text": corpus, "ids": count}, SPEED, size, results)
