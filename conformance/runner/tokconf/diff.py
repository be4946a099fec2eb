"""What has changed between two runs."""

from __future__ import annotations

from dataclasses import dataclass

from .results import RED, Report


@dataclass(frozen=True)
class Change:
    adapter: str
    id: str
    before: str
    after: str

    @property
    def worse(self) -> bool:
        return self.after in RED and self.before not in RED

    def __str__(self) -> str:
        mark = "worse " if self.worse else "better" if self.before in RED else "      "
        return f"{mark} {self.adapter}  {self.id}: {self.before} -> {self.after}"


def compare(old: Report, new: Report) -> list[Change]:
    before = {(result["adapter"], result["id"]): result["outcome"] for result in old.results}
    changes = []
    for result in new.results:
        key = (result["adapter"], result["id"])
        was = before.pop(key, "absent")
        if was != result["outcome"]:
            changes.append(Change(*key, was, result["outcome"]))
    gone = (Change(*key, was, "absent") for key, was in before.items())
    return sorted(
        [*changes, *gone], key=lambda change: (not change.worse, change.adapter, change.id)
    )
