"""Length of the prompt times number of callers, as operators of inference servers sweep it.

A caller sends its next prompt when it has the ids of the last one. More callers than cores stand in
line: the median says for how long."""

from __future__ import annotations

from collections.abc import Iterator

from ..measure import encoders
from ..rows import Case, Measure, Row
from ..running.session import Bench
from ..running.together import in_crews
from .latency import percentile

__all__ = ["run"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="wall")
MIDDLE = Measure("P50", "ms", higher_is_better=False, clock="wall")
TAIL = Measure("P99", "ms", higher_is_better=False, clock="wall")
ROUNDS = 3


def run(bench: Bench) -> Iterator[Row]:
    plan, corpus = bench.plan, bench.first_corpus
    field = encoders(bench.libraries, "list")
    width = bytes_of_a_token(bench)
    for tokens in plan.inputs:
        size = int(tokens * width)
        for callers in plan.concurrency:
            prompts = max(1, plan.sweep_tokens // tokens // callers)
            turns = [
                [bench.texts(corpus, size, prompts) for _ in range(callers)]
                for _ in range(min(plan.rounds, ROUNDS))
            ]
            warm_up = bench.shares(corpus, callers)
            results, outcomes = in_crews(field, turns, warm_up, bench.rng)
            case: Case = {"text": corpus, "tokens": tokens, "callers": callers}
            for name, result in results.items():
                every = callers * prompts * size / 1e6
                speeds = [every / seconds for seconds in result.times]
                yield bench.row(case, SPEED, name, speeds, result.ids)
            for measured, share in ((MIDDLE, 0.5), (TAIL, 0.99)):
                for name, result in results.items():
                    waits = [percentile(one.latencies, share) / 1000 for one in outcomes[name]]
                    yield bench.row(case, measured, name, waits, result.ids)


def bytes_of_a_token(bench: Bench) -> float:
    text = bench.tape(bench.first_corpus).take(100_000)
    first = encoders(bench.libraries, "list")[0]
    return len(text.encode()) / max(1, len(first.plain(first.call(text))))
