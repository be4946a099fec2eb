"""How long single short calls take: the middle, and the tail, in wall time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..measure import WALL, Contender, Result, blamed_on, calmly, copies, encoders, judge
from ..rows import Case, Measure, Row
from ..running.plan import Plan
from ..running.session import Bench

__all__ = ["PERCENTILES", "needs", "percentile", "run"]

PERCENTILES = {"P50": 0.50, "P90": 0.90, "P99": 0.99}
LENGTHS = (200, 2_000)
TURNS = 10
REPEATED = "repeated"


def needs(plan: Plan) -> int:
    return plan.warm_up + 2 * sum(LENGTHS) * plan.calls


def run(bench: Bench) -> Iterator[Row]:
    for corpus in bench.plan.corpora:
        bench.warm_up(corpus)
        for form in ("buffer", "list"):
            for size in LENGTHS:
                yield from of_size(bench, corpus, form, size)


def of_size(bench: Bench, corpus: str, form: str, size: int) -> Iterator[Row]:
    plan, field = bench.plan, encoders(bench.libraries, form)
    turns = min(TURNS, plan.rounds)
    case: Case = {"text": corpus, "bytes": size, "ids as": form}
    # Records of before this had a second state have rows of new texts without one.
    cases: list[Case] = [case, {**case, "state": REPEATED}]
    every = [{one.name: list[float]() for one in field} for _ in cases]
    verdicts = {one.name: Result() for one in field}
    for _ in range(turns):
        texts = bench.texts(corpus, size, plan.calls // turns)
        for times_of in every:
            order = list(field)
            bench.rng.shuffle(order)
            answers = {}
            for contender in order:
                times, raw = one_by_one(contender, texts)
                times_of[contender.name] += times
                answers[contender.name] = [contender.plain(one) for one in raw]
            judge(verdicts, answers)
    for case, times_of in zip(cases, every, strict=True):
        for label, share in PERCENTILES.items():
            measured = Measure(label, "us", higher_is_better=False, clock="wall")
            for name, times in times_of.items():
                yield bench.row(
                    case, measured, name, [percentile(times, share)], verdicts[name].ids
                )


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
