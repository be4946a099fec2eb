"""Text by kind and length, fresh and repeated, buffers beside buffers and lists beside lists."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import check_buffers, encoders, measure
from ..rows import Case, Measure, Row
from ..running.plan import Plan
from ..running.session import Bench

__all__ = ["needs", "run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="wall")
WORK = Measure("throughput", "MB/s", higher_is_better=True, clock="cpu")
# Up to this size a call is counted in microseconds, too.
SHORT = 1_000
CALL = Measure("time of a call", "us", higher_is_better=False, clock="wall")


def needs(plan: Plan) -> int:
    """Bytes of each kind of text."""
    return plan.warm_up + sum(
        2 * plan.repeats(size) * plan.group(size) * size for size in plan.sizes
    )


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
    results = measure(field, turns, bench.rng)
    reference = bench.reference()
    if form == "buffer" and reference is not None:
        check_buffers(field, reference, turns[0][:3], results)
    case: Case = {"text": corpus, "bytes": size, "ids as": form}
    repeated = measure(field, [turns[0][:50]] * plan.rounds, bench.rng, warm=True)
    for state, found in (("fresh", results), ("repeated", repeated)):
        for measured in (SPEED, WORK):
            yield from bench.rates({**case, "state": state}, measured, size, found)
        if size <= SHORT:
            yield from bench.times({**case, "state": state}, CALL, found)
