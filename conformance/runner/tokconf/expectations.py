"""Known differences of each adapter. An expectation that no longer holds is as red as a failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .suite import Adapter, Case, Suite, SuiteError, matches, toml

Outcome = Literal["pass", "fail", "skip", "xfail", "xpass", "unavailable", "aborted"]


@dataclass(frozen=True)
class Expectation:
    match: str
    outcome: str
    reason: str
    variant: str = ""
    issue: str = ""
    reproduce: str = ""


class Expectations:
    def __init__(self, suite: Suite, adapter: Adapter) -> None:
        path = adapter.folder / "expectations.toml"
        document = toml(path)
        for wrong in suite.violations("expectations.json", document):
            raise SuiteError(f"{path}: {wrong}")
        entries = [one for entry in document.get("case", []) for one in _unfolded(entry)]
        self._entries = [e for e in entries if e.variant in ("", adapter.variant)]
        self._used: set[Expectation] = set()

    def of(self, case: Case) -> Expectation | None:
        for entry in self._entries:
            if matches(entry.match, case.id):
                self._used.add(entry)
                return entry
        return None

    def stale(self) -> list[Expectation]:
        """Expectations that match no case of the run; meaningful after a run of all cases only."""
        return [entry for entry in self._entries if entry not in self._used]


def _unfolded(entry: dict[str, Any]) -> Iterator[Expectation]:
    """One expectation for each pattern: each pattern must match a case."""
    patterns = entry.get("match", [])
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        yield Expectation(**{**entry, "match": pattern})


def judged(raw: Outcome, expectation: Expectation | None) -> Outcome:
    if expectation is None or raw not in ("pass", "fail"):
        return raw
    if expectation.outcome == "flaky":
        return "pass" if raw == "pass" else "xfail"
    return "xfail" if raw == "fail" else "xpass"
