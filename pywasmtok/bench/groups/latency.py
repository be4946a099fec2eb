"""How long single calls take: the middle, and the tail. Wall time, because callers wait for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..measure import WALL, Contender, Result, blamed_on, calmly, copies, encoders, judge
from ..rows import Case, Measure, Row
from ..running.session import Bench

__all__ = ["PERCENTILES", "percentile", "run"]

PERCENTILES = {"P50": 0.50, "P90": 0.90, "P99": 0.99}
# A question, a paragraph, a page, and beyond: the first three are the lengths that the benchmark of
# SGLang's router has.
LENGTHS = (30, 201, 638, 2_000, 20_000)
TURNS = 10
MOST_BYTES = 8_000_000


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    corpus = bench.first_corpus
    bench.warm_up(corpus)
    field = encoders(bench.libraries, "list")
    turns = min(TURNS, plan.rounds)
    for size in LENGTHS:
        calls = max(1, min(plan.calls, MOST_BYTES // size) // turns)
        every: dict[str, list[float]] = {one.name: [] for one in field}
        verdicts = {one.name: Result() for one in field}
        for _ in range(turns):
            texts = bench.texts(corpus, size, calls)
            order = list(field)
            bench.rng.shuffle(order)
            answers = {}
            for contender in order:
                times, raw = one_by_one(contender, texts)
                every[contender.name] += times
                answers[contender.name] = [contender.plain(one) for one in raw]
            judge(verdicts, answers)
        case: Case = {"text": corpus, "bytes": size}
        for label, share in PERCENTILES.items():
            measured = Measure(label, "us", higher_is_better=False, clock="wall")
            for name, times in every.items():
                sample = percentile(times, share)
                yield bench.row(case, measured, name, [sample], verdicts[name].ids)


def one_by_one(contender: Contender, texts: Sequence[str]) -> tuple[list[float], list[Any]]:
    """Microseconds of each call by itself, and the answers."""
    own, call, times, answers = copies(texts), contender.call, [], []
    with blamed_on(contender.name), calmly():
        for text in own:
            start = WALL()
            answer = call(text)
            times.append((WALL() - start) / 1000)
            answers.append(answer)
    return times, answers


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
