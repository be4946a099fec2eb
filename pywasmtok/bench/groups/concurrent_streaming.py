"""Many streams at once, as a server has them: each gets an id in turn, in one thread or more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..libraries.peers import Library
from ..measure import Contender
from ..rows import Case, Measure, Row
from ..running.session import Bench
from ..running.together import in_crews
from .streaming import against_whole

__all__ = ["run"]

SPEED = Measure("ids in a second", "k/s", higher_is_better=True, clock="wall")
IDS = 20_000  # of all streams of a thread together
SHORTEST = 10  # ids of a stream


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    field = [Contender(one.name, in_turn(one)) for one in bench.libraries if one.stream is not None]
    if not field:
        return
    for threads in plan.threads:
        for streams in plan.streams:
            length = max(SHORTEST, min(IDS, plan.thread_volume // 100) // streams)
            ids = bench.ids_of(bench.first_corpus, length * streams)
            work = [ids[at : at + length] for at in range(0, len(ids), length)]
            shares = [[work]] * threads
            results, _ = in_crews(field, [shares] * min(plan.rounds, 5), shares, bench.rng)
            against_whole(field, results, bench.libraries, work)
            every = threads * len(ids) / 1000
            case: Case = {
                "text": bench.first_corpus,
                "threads": threads,
                "streams of each": streams,
            }
            for name, result in results.items():
                speeds = [every / seconds for seconds in result.times]
                yield bench.row(case, SPEED, name, speeds, result.ids)


def in_turn(library: Library) -> Callable[[Sequence[Sequence[int]]], list[str]]:
    """All streams of one thread: the n-th id of each, then the next."""
    assert library.stream is not None
    new = library.stream

    def run(lists: Sequence[Sequence[int]]) -> list[str]:
        streams: list[Any] = [new() for _ in lists]
        steps = [step for step, _ in streams]
        texts: list[list[str]] = [[] for _ in lists]
        for ids in zip(*lists, strict=True):
            for number, token_id in enumerate(ids):
                texts[number].append(steps[number](token_id) or "")
        for number, (_, end) in enumerate(streams):
            texts[number].append(end(None) or "")
        return ["".join(parts) for parts in texts]

    return run
