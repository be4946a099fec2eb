"""Requests at once: short texts from several callers of one tokenizer, as in a server with threads.

What a caller sees is in the percentiles; what the server does, in the requests of a second."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import encoders
from ..rows import Case, Measure, Row
from ..running.session import Bench
from ..running.together import in_crews
from .latency import percentile

__all__ = ["run"]

RATE = Measure("requests in a second", "k/s", higher_is_better=True, clock="wall")
TAIL = Measure("P99", "us", higher_is_better=False, clock="wall")
SIZES = (201, 2_000)


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    field = encoders(bench.libraries, "list")
    for size in SIZES:
        for threads in plan.threads:
            requests = max(5, min(plan.calls, plan.thread_volume // size) // 4)
            turns = [
                [bench.texts(bench.first_corpus, size, requests) for _ in range(threads)]
                for _ in range(min(plan.rounds, 5))
            ]
            warm_up = bench.shares(bench.first_corpus, threads)
            results, outcomes = in_crews(field, turns, warm_up, bench.rng)
            case: Case = {"text": bench.first_corpus, "bytes": size, "callers": threads}
            for name, result in results.items():
                rates = [threads * requests / seconds / 1000 for seconds in result.times]
                yield bench.row(case, RATE, name, rates, result.ids)
            for name, result in results.items():
                tails = [percentile(one.latencies, 0.99) for one in outcomes[name]]
                yield bench.row(case, TAIL, name, tails, result.ids)
