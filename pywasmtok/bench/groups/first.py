"""The first text of a new process, on one core: ours after a second load, with the stored snapshot.

A fresh process for each figure. Modules are imported before the clock starts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import machine
from ..libraries.peers import LeftOutError, names_of, opened
from ..measure import calmly
from ..rows import Case, Measure, Row
from ..running.child import ChildFailedError
from ..running.plan import Plan
from ..running.session import Bench, Setup
from .load import importing, in_process

__all__ = ["in_child", "needs", "run"]

SPEED = Measure("throughput of the first text", "MB/s", higher_is_better=True, clock="wall")
READY = Measure("load and first encode", "ms", higher_is_better=False, clock="wall")


def needs(plan: Plan) -> int:
    return plan.loads * sum(plan.first)


def run(bench: Bench) -> Iterator[Row]:
    plan = bench.plan
    libraries: list[str] = []
    for name in names_of(bench.setup.builds, bench.setup.only):
        try:
            in_process(bench, "load", name)  # so that the next ones find the snapshot
            libraries.append(name)
        except ChildFailedError as error:
            yield bench.row({"bytes": min(plan.first)}, SPEED, name, note=str(error))
        except LeftOutError as reason:
            bench.absent.append(str(reason))
    for corpus in plan.corpora:
        place = 0
        for size in plan.first:
            yield from of_size(bench, libraries, corpus, place, size)
            place += plan.loads * size


def of_size(
    bench: Bench, libraries: Sequence[str], corpus: str, place: int, size: int
) -> Iterator[Row]:
    """Libraries alternate; each round has another text."""
    case: Case = {"text": corpus, "bytes": size}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in libraries}
    notes: dict[str, str] = {}
    for turn in range(bench.plan.loads):
        text: dict[str, Any] = {"corpus": corpus, "place": place + turn * size, "size": size}
        for name in libraries:
            try:
                found[name].append(in_process(bench, "first", name, **text))
            except ChildFailedError as error:
                notes[name] = str(error)
    for name, lines in found.items():
        speeds = [size / 1e6 / line["encode"] for line in lines]
        yield bench.row(case, SPEED, name, speeds, note=notes.get(name))
        spent = [1000 * (line["load"] + line["encode"]) for line in lines]
        yield bench.row(case, READY, name, spent, note=notes.get(name))


def in_child(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    setup, name = Setup.from_json(job["setup"]), job["library"]
    tape = setup.tape(job["corpus"])
    tape.take(job["place"])
    text = tape.take(job["size"])
    importing(name)
    with machine.one_core(), calmly():
        start = time.perf_counter()
        try:
            library = opened(name, setup.file, setup.builds)[0]
        except LeftOutError as reason:
            yield {"absent": str(reason)}
            return
        ready = time.perf_counter()
        (encode, *_) = library.encode.values()  # a buffer, where the library gives one
        encode(text)
        spent = time.perf_counter() - ready
    yield {"load": ready - start, "encode": spent}
