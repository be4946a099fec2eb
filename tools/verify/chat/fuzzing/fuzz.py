"""Random templates and conversations through a renderer and the reference."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pywasmtok.chat.contract import Renderer, RenderRequest

from .. import corpus
from ..outcomes import Case, compare, observe, stable
from ..reference import Reference
from ..report import Difference, difference
from . import grammar, pieces
from .shrink import shrink

Make = Callable[[random.Random], str]


def _mutant(dice: random.Random) -> str:
    source = dice.choice(list(corpus.templates().values()))
    return pieces.mutate(source, dice, dice.choice([1, 1, 1, 2, 3]))


def _mutated_fragment(dice: random.Random) -> str:
    return pieces.mutate(pieces.fragment(dice), dice, dice.choice([0, 1, 1, 2, 4]))


def _mutated_growth(dice: random.Random) -> str:
    return pieces.mutate(grammar.grow(dice), dice, 1)


MAKERS: dict[str, Make] = {
    "real": lambda dice: dice.choice(list(corpus.templates().values())),
    "mutant": _mutant,
    "fragment": _mutated_fragment,
    "grammar": grammar.grow,
    "wild": _mutated_growth,
}


class _TooLongError(BaseException):
    """No error that a renderer could take for one of its own."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Only the main thread of a process can be stopped so. Once is not enough: a callback of the
    garbage collector that is interrupted keeps the exception to itself."""

    def stop(*_: Any) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Findings:
    renders: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    """`equal` is counted apart for texts and for errors."""
    skipped: int = 0
    templates: int = 0
    refused: int = 0
    """Templates of which a render was refused."""
    differences: list[Difference] = field(default_factory=list)


@dataclass
class Fuzzer:
    renderer: Renderer
    requests: Sequence[RenderRequest]
    dice: random.Random
    kept: int = 40
    """Of the same kind no more than a few are kept, and so many in all."""

    def __post_init__(self) -> None:
        self.reference = Reference()
        self.findings = Findings()
        self._seen: Counter[str] = Counter()

    def run(
        self,
        kinds: Sequence[str],
        renders: int,
        seconds: float,
        contexts: int = 8,
        seen: Callable[[Findings], None] = lambda _: None,
    ) -> Findings:
        """`seen` is shown after each template what there is so far."""
        end = time.monotonic() + seconds
        while sum(self.findings.renders.values()) < renders and time.monotonic() < end:
            seen(self.findings)
            kind = self.dice.choice(kinds)
            source = MAKERS[kind](self.dice)
            before = self.findings.verdicts["refused"]
            self.findings.templates += 1
            for number in range(contexts):
                request = self.dice.choice(self.requests)
                case = Case(source, replace(request, generation="generation" in source), kind)
                compiled = self._one(case)
                if not compiled and number >= 1:
                    # Two contexts are enough for what never gets to them.
                    break
            self.findings.refused += self.findings.verdicts["refused"] > before
        return self.findings

    def _one(self, case: Case) -> bool:
        """Whether the reference rendered it."""
        try:
            with _at_most(5):
                expected = observe(self.reference, case)
        except (_TooLongError, MemoryError):
            self.findings.skipped += 1
            return False
        if not stable(expected):
            self.findings.skipped += 1
            return False
        self.findings.renders[case.name] += 1
        found = difference(self.renderer, case, expected)
        if found is None:
            self.findings.verdicts["equal text" if expected.rendered else "equal error"] += 1
            return expected.rendered
        known = " (documented)" if found.entry else ""
        self.findings.verdicts[found.verdict + known] += 1
        if found.entry is None and found.verdict != "refused":
            self._keep(found)
        return expected.rendered

    def _keep(self, found: Difference) -> None:
        # The words of the errors tell causes apart better than the templates do.
        words = "" if found.found.rendered else found.found.text[:40]
        reason = "" if found.expected.rendered else found.expected.text[:40]
        key = f"{found.verdict} {words} {reason}"
        self._seen[key] += 1
        if self._seen[key] <= 3 and len(self.findings.differences) < self.kept:
            self.findings.differences.append(found)

    def smallest(self, found: Difference, seconds: float) -> Difference:
        """The same difference in as little template and context as can be found."""

        def fails(case: Case) -> bool:
            try:
                with _at_most(2):
                    expected = observe(self.reference, case)
            except _TooLongError:
                return False
            if not stable(expected):
                return False
            now = observe(self.renderer, case)
            return compare(expected, now) == found.verdict and now.kind == found.found.kind

        case = shrink(found.case, fails, seconds)
        expected = observe(self.reference, case)
        smaller = difference(self.renderer, case, expected)
        return smaller or found
