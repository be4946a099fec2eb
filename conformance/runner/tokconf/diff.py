"""What has changed between two runs."""

from __future__ import annotations

from dataclasses import dataclass

from .results import RED, Record, Report

# How good an outcome is. A case that is skipped or not there shows nothing.
_WORTH = {**dict.fromkeys(RED, 0), "absent": 1, "skip": 1, "xfail": 1, "pass": 2}
_ABSENT: Record = {"outcome": "absent"}


@dataclass(frozen=True)
class Change:
    adapter: str
    id: str
    before: str
    after: str
    level: str = "must"

    @property
    def worse(self) -> bool:
        """As in a run, a case of level `may` is never red."""
        return self.level != "may" and _WORTH[self.after] < _WORTH[self.before]

    @property
    def better(self) -> bool:
        there = "absent" not in (self.before, self.after)
        return there and _WORTH[self.after] > _WORTH[self.before]

    def __str__(self) -> str:
        mark = "worse " if self.worse else "better" if self.better else "      "
        return f"{mark} {self.adapter}  {self.id}: {self.before} -> {self.after}"


def compare(old: Report, new: Report) -> list[Change]:
    before, after = (
        {(one["adapter"], one["id"]): one for one in report.results} for report in (old, new)
    )
    changes = []
    for key in before | after:
        was, now = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if was["outcome"] != now["outcome"]:
            level = {**was, **now}.get("level", "must")
            changes.append(Change(*key, was["outcome"], now["outcome"], level))
    return sorted(changes, key=lambda change: (not change.worse, change.adapter, change.id))
