"""A stream of text for ids that come one by one: what a step costs, also far behind the start and
on ids that are no text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..libraries.peers import Library
from ..measure import REFERENCE, Contender, Result, measure
from ..rows import Case, Measure, Row
from ..running.session import Bench

__all__ = ["against_whole", "run"]

STEP = Measure("time of an id", "us", higher_is_better=False, clock="cpu")
BATCH = 16

Run = Callable[[Sequence[int]], str]


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    ids = bench.ids_of(bench.first_corpus, max(plan.streamed))
    for count in plan.streamed:
        yield from of_ids(bench, ids[:count], {"text": bench.first_corpus, "ids": count})
    wrong = invalid_id(bench)
    for count in plan.invalid if wrong is not None else ():
        yield from of_ids(bench, [wrong] * count, {"text": "invalid bytes", "ids": count})


def of_ids(bench: Bench, ids: list[Any], case: Case) -> Iterator[Row]:
    rounds = min(bench.plan.rounds, 3)
    turns = [[ids] * max(1, 2_000 // len(ids))] * rounds
    for feeding, field in contenders(bench.libraries).items():
        if not field:
            continue
        results = measure(field, turns, bench.rng)
        against_whole(field, results, bench.libraries, ids)
        yield from bench.times({**case, "fed": feeding}, STEP, results, per=len(ids))


def against_whole(
    field: Sequence[Contender],
    results: Mapping[str, Result],
    libraries: Sequence[Library],
    work: Any,
) -> None:
    """Streams are held against decoding everything at once, and not against each other: the
    reference's own stream loses what it holds back at the end."""
    whole = {one.name: one.decode for one in libraries if one.decode is not None}
    decode = whole.get(REFERENCE) or next(iter(whole.values()))
    many = isinstance(work[0], list)
    expected = [decode(ids) for ids in work] if many else decode(work)
    for contender in field:
        results[contender.name].equal = contender.call(work) == expected
        results[contender.name].checked = True


def contenders(libraries: Sequence[Library]) -> dict[str, list[Contender]]:
    """A whole stream each; of ours also what it costs at first, and when it is fed in batches."""
    streams = [library for library in libraries if library.stream is not None]
    own = [library for library in streams if library.tokenizer is not None]
    return {
        "one by one": [Contender(one.name, stepping(one)) for one in streams],
        "one by one, nothing remembered": [Contender(one.name, first(one)) for one in own],
        f"{BATCH} at a time": [Contender(one.name, batches(one)) for one in own],
    }


def stepping(library: Library) -> Run:
    assert library.stream is not None
    new = library.stream

    def run(ids: Sequence[int]) -> str:
        step, end = new()
        return "".join([step(token_id) or "" for token_id in ids]) + (end(None) or "")

    return run


def first(library: Library) -> Run:
    again = stepping(library)

    def run(ids: Sequence[int]) -> str:
        library.tokenizer.streaming.forget()
        return again(ids)

    return run


def batches(library: Library) -> Run:
    def run(ids: Sequence[int]) -> str:
        stream = library.tokenizer.decode_stream()
        parts = [stream.step_batch(ids[at : at + BATCH]) for at in range(0, len(ids), BATCH)]
        return "".join(parts) + str(stream.flush())

    return run


def invalid_id(bench: Bench) -> int | None:
    """A token that is the middle of a character and nothing else."""
    for library in bench.ours:
        tokenizer = library.tokenizer
        for number in range(tokenizer.get_vocab_size()):
            if tokenizer.decode_bytes([number]) == b"\x80":
                return number
    return None
