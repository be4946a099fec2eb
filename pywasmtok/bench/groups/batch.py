"""Many texts in one call, on one core: a thousand short messages, and ten long texts."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import batchers, measure
from ..rows import Case, Measure, Row
from ..running.session import Bench

__all__ = ["run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="cpu")
MESSAGE = 176  # bytes: what a message of a chat has on average
LONG = 200_000
LONG_TEXTS = 10


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    for corpus in plan.corpora:
        bench.warm_up(corpus)
        for count, size in ((plan.messages, MESSAGE), (LONG_TEXTS, min(LONG, 20 * plan.volume))):
            batches = [[bench.texts(corpus, size, count)] for _ in range(min(plan.rounds, 6))]
            for form in ("buffer", "list"):
                field = batchers(bench.libraries, form)
                # The lists get other texts: those of the buffers have been seen.
                if form == "list":
                    batches = [[bench.texts(corpus, size, count)] for _ in batches]
                results = measure(field, batches, bench.rng)
                case: Case = {"text": corpus, "texts": count, "bytes": size, "ids as": form}
                yield from bench.rates(case, SPEED, count * size, results)
