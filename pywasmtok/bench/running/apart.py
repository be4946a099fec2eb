"""The same shares as a crew's, each in a process of its own: what the machine itself gives.

Processes share nothing, so how they gain is what threads could gain at best, at that moment and on
that machine. They take turns with the crews, since a virtual machine gives less at some times.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from ..libraries.files import TokenizerFile
from ..libraries.peers import Call, load
from ..measure import Contender, calmly, flat, same
from .session import Bench
from .together import Outcome, Runner, Share

__all__ = ["PROCESSES", "Processes", "processes_of"]

PROCESSES = "processes"

# Makes, in the child, what a contender of this name would call.
Maker = Callable[[], Contender]


class Processes:
    """Some children, each with a tokenizer of its own, that live on from turn to turn."""

    def __init__(self, size: int, make: Maker) -> None:
        context = multiprocessing.get_context("spawn")
        self._links: list[Connection] = []
        self._children = []
        for _ in range(size):
            ours, theirs = context.Pipe()
            child = context.Process(target=_serve, args=(theirs, make), daemon=True)
            child.start()
            theirs.close()
            self._links.append(ours)
            self._children.append(child)
        for link in self._links:
            _answer(link)

    def run(self, shares: Sequence[Share]) -> Outcome:
        links = self._links[: len(shares)]
        for link, share in zip(links, shares, strict=True):
            link.send(share)
        for link in links:
            _answer(link)
        # All are ready: now they begin.
        for link in links:
            link.send(None)
        ends = [_answer(link) for link in links]
        first, last = min(start for start, _ in ends), max(end for _, end in ends)
        answers, latencies = [], list[float]()
        for link in links:
            given, times = _answer(link)
            answers.append(given)
            latencies += [spent / 1000 for spent in times]
        return Outcome((last - first) / 1e9, answers, latencies)

    def dismiss(self) -> None:
        for link in self._links:
            link.close()
        for child in self._children:
            child.join()


def _answer(link: Connection) -> Any:
    """What the child says next; raises what it could not do."""
    try:
        said = link.recv()
    except EOFError:
        raise RuntimeError("a process of the benchmark has died") from None
    if isinstance(said, BaseException):
        raise said
    return said


def _serve(link: Connection, make: Maker) -> None:
    """The child's side: a share, a word that all may begin, and then what came of it."""
    try:
        contender = make()
        link.send(True)
        while True:
            # Strings that have just arrived: their UTF-8 form is not cached yet.
            share = link.recv()
            with calmly():
                link.send(True)
                link.recv()
                answers, times, start, end = _work(contender.call, share)
                # The clock first: making the rest ready would disturb those that are at work.
                link.send((start, end))
            link.send(([contender.plain(one) for one in answers], times))
    except EOFError:
        return
    except BaseException as error:
        link.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _work(call: Call, share: Share) -> tuple[list[Any], list[int], int, int]:
    answers, times, now = [], [], time.perf_counter_ns
    start = before = now()
    for one in share:
        answers.append(call(one))
        after = now()
        times.append(after - before)
        before = after
    return answers, times, start, before


@contextmanager
def processes_of(bench: Bench, form: str) -> Iterator[dict[str, Runner]]:
    """As a contender beside crews: the first of ours. `form` of the ids; "" decodes."""
    if not bench.ours:
        yield {}
        return
    setup, name = bench.setup, bench.ours[0].name
    make = partial(_contender, setup.file, setup.builds, name, form)
    processes = Processes(max(setup.plan.threads), make)
    try:
        yield {PROCESSES: processes.run}
    finally:
        processes.dismiss()


def _contender(file: TokenizerFile, builds: Sequence[str], name: str, form: str) -> Contender:
    (library,) = load(name, file, builds)
    call = library.encode[form] if form else library.decode
    assert call is not None
    return Contender(name, call, flat if form == "buffer" else same)
