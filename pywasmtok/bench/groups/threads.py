"""One tokenizer, several threads: work of its own for each (encode, decode), or the same work
shared out among more and more of them (scaling). Beside them, the same in as many processes: what
threads could gain at best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..measure import Contender, encoders
from ..rows import Case, Measure, Row
from ..running.apart import processes_of
from ..running.session import Bench
from ..running.together import Runner, in_crews

__all__ = ["decode", "encode", "scaling"]

SPEED = Measure("throughput", "MB/s", higher_is_better=True, clock="wall")
GAIN = Measure("gain over one thread", "x", higher_is_better=True, clock="wall")
TEXT = 200_000
DECODED = 20_000  # ids
SMALL = 1_000


def encode(bench: Bench) -> Iterator[Row]:
    """Independent texts for each thread, buffers out, lists out."""
    plan, corpus = bench.plan, bench.first_corpus
    size = min(TEXT, plan.thread_volume // 2)
    for form in ("buffer", "list"):
        field = encoders(bench.libraries, form)
        if not field:
            continue
        with processes_of(bench, form) as processes:
            for threads in plan.threads:
                count = max(1, plan.thread_volume // size // 2)
                turns = [
                    [bench.texts(corpus, size, count) for _ in range(threads)]
                    for _ in range(min(plan.rounds, 5))
                ]
                case: Case = {"text": corpus, "bytes": size, "ids as": form, "threads": threads}
                yield from crews(bench, field, turns, size, case, processes=processes)


def decode(bench: Bench) -> Iterator[Row]:
    plan, corpus = bench.plan, bench.first_corpus
    field = [Contender(one.name, one.decode) for one in bench.libraries if one.decode is not None]
    if not field:
        return
    count = min(DECODED, plan.thread_volume // 100)
    ids = bench.ids_of(corpus, 5 * count)
    lists = [ids[at : at + count] for at in range(0, len(ids), count)]
    size = sum(len(field[0].call(one).encode()) for one in lists) / len(lists)
    with processes_of(bench, "") as processes:
        for threads in plan.threads:
            turns = [[lists] * threads] * min(plan.rounds, 5)
            case: Case = {"text": corpus, "ids": count, "threads": threads}
            yield from crews(bench, field, turns, size, case, processes=processes)


def scaling(bench: Bench) -> Iterator[Row]:
    """The same texts, shared out: small ones, in which calls weigh most, and long ones."""
    plan = bench.plan
    form = "buffer" if encoders(bench.libraries, "buffer") else "list"
    with processes_of(bench, form) as processes:
        for size in (SMALL, min(TEXT, plan.thread_volume // 4)):
            yield from shared_out(bench, encoders(bench.libraries, form), size, processes)


def shared_out(
    bench: Bench, field: Sequence[Contender], size: int, processes: Mapping[str, Runner]
) -> Iterator[Row]:
    plan, corpus = bench.plan, bench.first_corpus
    count = max(*plan.threads, plan.thread_volume // size)
    alone: dict[str, float] = {}
    for threads in plan.threads:
        turns = []
        for _ in range(min(plan.rounds, 5)):
            texts = bench.texts(corpus, size, count)
            turns.append([texts[number::threads] for number in range(threads)])
        results, _ = in_crews(field, turns, bench.shares(corpus, threads), bench.rng, processes)
        case: Case = {"text": corpus, "bytes": size, "threads": threads}
        for name, result in results.items():
            speeds = [count * size / seconds / 1e6 for seconds in result.times]
            row = bench.row(case, SPEED, name, speeds, result.ids)
            yield row
            value = row.value or 0.0
            alone.setdefault(name, value)
            if threads > min(plan.threads) and alone[name]:
                gains = [speed / alone[name] for speed in speeds]
                yield bench.row(case, GAIN, name, gains, result.ids)


def crews(
    bench: Bench,
    field: Sequence[Contender],
    turns: Sequence[Sequence[Sequence[Any]]],
    size: float,
    case: Case,
    *,
    processes: Mapping[str, Runner],
) -> Iterator[Row]:
    texts = isinstance(turns[0][0][0], str)
    warm_up = bench.shares(str(case["text"]), len(turns[0])) if texts else turns[0]
    results, _ = in_crews(field, turns, warm_up, bench.rng, processes)
    for name, result in results.items():
        calls = sum(len(share) for share in turns[0])
        speeds = [calls * size / seconds / 1e6 for seconds in result.times]
        yield bench.row(case, SPEED, name, speeds, result.ids)
