"""Chat templates: compiling them, rendering them, and rendering with encoding."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import machine
from ..inputs.chats import LINES, OWN_TEMPLATE
from ..libraries import chat_libraries
from ..libraries.chat_libraries import ChatLibrary
from ..libraries.peers import Call, LeftOutError
from ..measure import REFERENCE, Contender, measure
from ..rows import Case, Measure, Row
from ..running.child import lines_of
from ..running.session import Bench, Setup

__all__ = ["compiling", "encoding", "in_child", "rendering"]

COMPILE = Measure("time to compile", "us", higher_is_better=False, clock="cpu")
RENDER = Measure("time of a render", "us", higher_is_better=False, clock="cpu")
ENCODE = Measure("time of a render with its ids", "us", higher_is_better=False, clock="cpu")
# Compiles behind one measurement.
SOURCES = 10
# Plans with less text than this only show that it works.
FULL = 50_000


def compiling(bench: Bench) -> Iterator[Row]:
    yield from _child(bench, "compile")


def rendering(bench: Bench) -> Iterator[Row]:
    yield from _child(bench, "text")


def encoding(bench: Bench) -> Iterator[Row]:
    yield from _child(bench, "ids")


def _child(bench: Bench, what: str) -> Iterator[Row]:
    job = {"setup": bench.setup.as_json(), "group": bench.group, "what": what}
    for line in lines_of("chat", job):
        if "absent" in line:
            bench.absent.append(line["absent"])
        else:
            yield Row.from_json(line["row"])


def in_child(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All libraries in one process, on one processor, alternating."""
    setup = Setup.from_json(job["setup"])
    bench = Bench(setup, job["group"], [])
    with machine.one_core() as problem:
        if problem:
            print(problem, file=sys.stderr)
        found: list[ChatLibrary] = []
        for name in _names(setup):
            try:
                found.append(chat_libraries.load(name, setup.file, _build(setup)))
            except LeftOutError as reason:
                yield {"absent": str(reason)}
        # Before each turn the collector runs: not over all that the libraries hold.
        gc.collect()
        gc.freeze()
        work = {"compile": _compile, "text": _text, "ids": _ids}[job["what"]]
        for name, source in _templates(setup).items():
            for row in work(bench, found, name, source):
                yield {"row": row.as_json()}


def _build(setup: Setup) -> str:
    return setup.builds[0] if setup.builds else "portable"


def _names(setup: Setup) -> list[str]:
    names = [*setup.builds[:1], *chat_libraries.NAMES]
    return [name for name in names if not setup.only or name in setup.only]


def _templates(setup: Setup) -> dict[str, str]:
    """The own one, and what the user named."""
    named = {path.stem: path.read_text(encoding="utf-8") for path in setup.templates}
    return {"own": OWN_TEMPLATE, **named}


def _compile(bench: Bench, found: Sequence[ChatLibrary], name: str, source: str) -> Iterator[Row]:
    """Each source ends with a comment of its own, so no library has compiled it before."""
    made = {one.name: one.compile for one in found if one.compile is not None}
    field, notes = _tried(made, source)
    turns = [
        [f"{source}{{# {turn} {number} #}}" for number in range(SOURCES)]
        for turn in range(bench.plan.rounds)
    ]
    case: Case = {"template": name}
    for library, result in measure(field, turns, bench.rng).items():
        yield bench.row(case, COMPILE, library, result.times)
    for library, note in notes.items():
        yield bench.row(case, COMPILE, library, note=note)


def _text(bench: Bench, found: Sequence[ChatLibrary], name: str, source: str) -> Iterator[Row]:
    yield from _lines(bench, RENDER, name, {one.name: one.text(source) for one in found})


def _ids(bench: Bench, found: Sequence[ChatLibrary], name: str, source: str) -> Iterator[Row]:
    calls = {one.name: one.ids(source) for one in found if one.ids is not None}
    yield from _lines(bench, ENCODE, name, calls)


def _lines(bench: Bench, measured: Measure, name: str, calls: Mapping[str, Call]) -> Iterator[Row]:
    plan = bench.plan
    for line, shape in LINES.items():
        case: Case = {"template": name, "chat": line}
        tape = bench.tape(bench.first_corpus)
        chats = [shape.make(tape.take, bench.rng) for _ in range(shape.variants)]
        field, notes = _tried(calls, chats[0])
        # What the reference refuses has no right answer.
        if REFERENCE in notes:
            yield bench.row(case, measured, REFERENCE, note=notes[REFERENCE])
            continue
        full = plan.volume >= FULL
        repeats = shape.calls // shape.variants if full else 1
        turns = plan.rounds * shape.turns if full else plan.rounds
        results = measure(field, [chats * repeats] * turns, bench.rng)
        yield from bench.times(case, measured, results)
        for library, note in notes.items():
            yield bench.row(case, measured, library, note=note)


def _tried(calls: Mapping[str, Call], one: Any) -> tuple[list[Contender], dict[str, str]]:
    """Those that answer, and what the others say."""
    field, notes = [], {}
    for name, call in calls.items():
        try:
            call(one)
        except Exception as error:
            notes[name] = f"refuses: {type(error).__name__}"
        else:
            field.append(Contender(name, call, _plain))
    return field, notes


def _plain(answer: Any) -> Any:
    """What can be compared: a compiled template is nothing of the kind."""
    return answer if isinstance(answer, str | list) else None
