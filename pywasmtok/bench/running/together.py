"""Many callers of one tokenizer at once: threads that start together and work off their shares.

The threads live on from turn to turn, as a server's do: libraries keep caches for each thread.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ..libraries.peers import Call
from ..measure import Contender, Result, blamed_on, calmly, copies, judge

__all__ = ["Crew", "Outcome", "Runner", "crew_of", "in_crews"]

Share = Sequence[Any]


@dataclass
class Outcome:
    seconds: float
    """Wall time from the common start to the last end."""
    answers: list[list[Any]]
    latencies: list[float]
    """Microseconds of each call, as its caller saw it."""


# Works off shares of inputs, each at the same time as the others; its answers can be compared.
Runner = Callable[[Sequence[Share]], Outcome]
_NOBODY: Final[Mapping[str, Runner]] = {}


@dataclass
class Errand:
    """What one thread is to do in a turn, and what came of it."""

    call: Call
    share: Share
    gate: threading.Barrier
    done: threading.Semaphore
    answers: list[Any] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    start: int = 0
    end: int = 0
    failure: BaseException | None = None

    def run(self) -> None:
        call, answers, times, now = self.call, self.answers, self.times, time.perf_counter_ns
        try:
            self.gate.wait()
            self.start = before = now()
            for one in self.share:
                answers.append(call(one))
                after = now()
                times.append(after - before)
                before = after
        except BaseException as error:  # of a library; raised in the thread that waits
            self.failure = error
        self.end = now()
        self.done.release()


class Crew:
    def __init__(self, size: int) -> None:
        self._letters: list[queue.SimpleQueue[Errand | None]] = [
            queue.SimpleQueue() for _ in range(size)
        ]
        for letters in self._letters:
            threading.Thread(target=_serve, args=(letters,), daemon=True).start()

    def run(self, call: Call, shares: Sequence[Share]) -> Outcome:
        gate, done = threading.Barrier(len(shares)), threading.Semaphore(0)
        errands = [Errand(call, copies(share), gate, done) for share in shares]
        with calmly():
            for letters, errand in zip(self._letters, errands, strict=True):
                letters.put(errand)
            for _ in errands:
                done.acquire()
        for errand in errands:
            if errand.failure is not None:
                raise errand.failure
        first, last = min(one.start for one in errands), max(one.end for one in errands)
        latencies = [spent / 1000 for errand in errands for spent in errand.times]
        return Outcome((last - first) / 1e9, [errand.answers for errand in errands], latencies)

    def dismiss(self) -> None:
        for letters in self._letters:
            letters.put(None)


def _serve(letters: queue.SimpleQueue[Errand | None]) -> None:
    while (errand := letters.get()) is not None:
        errand.run()


@contextmanager
def crew_of(size: int) -> Iterator[Crew]:
    crew = Crew(size)
    try:
        yield crew
    finally:
        crew.dismiss()


def in_crews(
    field_: Sequence[Contender],
    turns: Sequence[Sequence[Share]],
    warm_up: Sequence[Share],
    rng: random.Random,
    others: Mapping[str, Runner] = _NOBODY,
) -> tuple[dict[str, Result], dict[str, list[Outcome]]]:
    """Contenders take turns; each turn is a share of inputs for each thread, after a share that is
    not counted. Answers are compared as in `measure`; times are seconds of wall time. `others` do
    their shares in a way of their own."""
    with crew_of(len(warm_up)) as crew:
        runners: dict[str, Runner] = {one.name: partial(_in_crew, crew, one) for one in field_}
        runners.update(others)
        results = {name: Result() for name in runners}
        outcomes: dict[str, list[Outcome]] = {name: [] for name in runners}
        for name, run in runners.items():
            with blamed_on(name):
                run(warm_up)
        for shares in turns:
            order = list(runners)
            rng.shuffle(order)
            answers = {}
            for name in order:
                with blamed_on(name):
                    outcome = runners[name](shares)
                answers[name] = outcome.answers
                outcome.answers = []
                results[name].times.append(outcome.seconds)
                outcomes[name].append(outcome)
            judge(results, answers)
    return results, outcomes


def _in_crew(crew: Crew, contender: Contender, shares: Sequence[Share]) -> Outcome:
    outcome = crew.run(contender.call, shares)
    outcome.answers = [[contender.plain(one) for one in each] for each in outcome.answers]
    return outcome
