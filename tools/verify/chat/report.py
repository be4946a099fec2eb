"""Runs cases through a renderer, and counts how its answers compare with the reference's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pywasmtok.chat.contract import Renderer

from . import corpus, matrix
from .differences import Entry, explanation
from .outcomes import Case, Outcome, Verdict, compare, observe, stable


@dataclass(frozen=True)
class Difference:
    case: Case
    expected: Outcome
    found: Outcome
    verdict: Verdict
    entry: Entry | None

    def __str__(self) -> str:
        known = f" ({self.entry.id})" if self.entry else ""
        return (
            f"{self.verdict}{known}: {self.case.name}\n"
            f"  template  {self.case.source!r}\n"
            f"  reference {self.expected}\n"
            f"  here      {self.found}"
        )


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def equal(self) -> float:
        return self.counts["equal"] / self.total if self.total else 1.0

    @property
    def unexplained(self) -> list[Difference]:
        """What neither the reference nor the list of differences accounts for."""
        return [one for one in self.differences if one.entry is None and one.verdict != "refused"]

    @property
    def silent(self) -> list[Difference]:
        """Wrong text without an error."""
        return [
            one
            for one in self.differences
            if one.entry is None and one.verdict in {"text", "spans"}
        ]


def difference(renderer: Renderer, case: Case, expected: Outcome) -> Difference | None:
    found = observe(renderer, case)
    verdict = compare(expected, found)
    if verdict == "equal":
        return None
    entry = explanation(renderer.name, case, expected, found, verdict)
    return Difference(case, expected, found, verdict, entry)


def run(renderer: Renderer, cases: Iterable[tuple[Case, Outcome]]) -> Tally:
    tally = Tally()
    for case, expected in cases:
        found = difference(renderer, case, expected)
        tally.counts["equal" if found is None else found.verdict] += 1
        if found is not None:
            tally.differences.append(found)
    return tally


def vectors() -> Iterator[tuple[Case, Outcome]]:
    for vector in corpus.vectors():
        yield vector.case, vector.expected


def asked(cases: Iterable[Case]) -> Iterator[tuple[Case, Outcome]]:
    """The reference's answers, where it has one that two runs agree on."""
    from .reference import Reference

    reference = Reference()
    for case in cases:
        expected = observe(reference, case)
        if stable(expected):
            yield case, expected


def probes() -> Iterator[tuple[Case, Outcome]]:
    return asked(probe.case for probe in corpus.micro())


def section(name: str, share: float = 1.0) -> Iterator[tuple[Case, Outcome]]:
    """All one-liners of a section, or so many of them, always the same."""
    dice = random.Random(name)
    return asked(case for case in matrix.SECTIONS[name]() if dice.random() < share)
