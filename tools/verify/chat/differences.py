"""The documented differences: `differences.toml` beside this file, each entry with its reason."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .outcomes import Case, Outcome, Verdict

FILE = Path(__file__).with_name("differences.toml")


@dataclass(frozen=True)
class Entry:
    """What both answers must look like for the entry to speak for them."""

    id: str
    why: str
    renderers: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    source: re.Pattern[str]
    expected: re.Pattern[str]
    found: re.Pattern[str]

    def explains(
        self, renderer: str, case: Case, expected: Outcome, found: Outcome, verdict: Verdict
    ) -> bool:
        return (
            renderer in self.renderers
            and verdict in self.verdicts
            and self.source.search(case.source) is not None
            and self.expected.search(str(expected)) is not None
            and self.found.search(str(found)) is not None
        )


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("difference", [])
    return tuple(
        Entry(
            id=row["id"],
            why=row["why"],
            renderers=tuple(row["renderers"]),
            verdicts=tuple(row["verdicts"]),
            source=re.compile(row.get("source", ""), re.DOTALL),
            expected=re.compile(row.get("expected", ""), re.DOTALL),
            found=re.compile(row.get("found", ""), re.DOTALL),
        )
        for row in rows
    )


def explanation(
    renderer: str, case: Case, expected: Outcome, found: Outcome, verdict: Verdict
) -> Entry | None:
    return next(
        (entry for entry in entries() if entry.explains(renderer, case, expected, found, verdict)),
        None,
    )
