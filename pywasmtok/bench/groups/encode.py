"""Fresh text by kind and length, buffers beside buffers and lists beside lists; and the floor of a
call: texts that were all seen."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import WALL, check_buffers, encoders, measure
from ..rows import Case, Measure, Row
from ..running.session import Bench

__all__ = ["run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="wall")
CALL = Measure("time of a call", "us", higher_is_better=False, clock="wall")
# Up to this size a call is counted in microseconds, too.
SHORT = 1_000


def run(bench: Bench) -> Iterator[Row]:
    for corpus in bench.plan.corpora:
        bench.warm_up(corpus)
        for form in ("buffer", "list"):
            for size in bench.plan.sizes:
                yield from of_size(bench, corpus, form, size)


def of_size(bench: Bench, corpus: str, form: str, size: int) -> Iterator[Row]:
    plan, field = bench.plan, encoders(bench.libraries, form)
    if not field:
        return
    turns = [bench.texts(corpus, size, plan.group(size)) for _ in range(plan.repeats(size))]
    results = measure(field, turns, bench.rng, clock=WALL)
    reference = bench.reference()
    if form == "buffer" and reference is not None:
        check_buffers(field, reference, turns[0][:3], results)
    case: Case = {"text": corpus, "bytes": size, "ids as": form, "state": "fresh"}
    yield from bench.rates(case, SPEED, size, results)
    if size <= SHORT:
        yield from bench.times(case, CALL, results)
    if size == min(plan.sizes):
        results = measure(field, [turns[0][:50]] * plan.rounds, bench.rng, warm=True, clock=WALL)
        yield from bench.times({**case, "state": "warm"}, CALL, results)
