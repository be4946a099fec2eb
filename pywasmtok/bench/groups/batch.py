"""Many texts in one call, on one core: a thousand short messages, and ten long texts."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import batchers, measure
from ..rows import Case, Measure, Row
from ..running.plan import Plan
from ..running.session import Bench

__all__ = ["needs", "run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="cpu")
MESSAGE = 176  # bytes: what a message of a chat has on average
LONG_TEXTS = 10
ROUNDS = 6


def needs(plan: Plan) -> int:
    rounds = 2 * min(plan.rounds, ROUNDS)
    return plan.warm_up + rounds * (plan.messages * MESSAGE + LONG_TEXTS * plan.volume)


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    for corpus in plan.corpora:
        bench.warm_up(corpus)
        for count, size in ((plan.messages, MESSAGE), (LONG_TEXTS, plan.volume)):
            for form in ("buffer", "list"):
                # Other texts for each form: the caches have those of the other.
                rounds = range(min(plan.rounds, ROUNDS))
                batches = [[bench.texts(corpus, size, count)] for _ in rounds]
                results = measure(batchers(bench.libraries, form), batches, bench.rng)
                case: Case = {"text": corpus, "texts": count, "bytes": size, "ids as": form}
                yield from bench.rates(case, SPEED, count * size, results)
