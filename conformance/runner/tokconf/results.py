"""The stream of results: NDJSON. Reports are made from it and from nothing else."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

RED = ("fail", "xpass", "aborted")


@dataclass
class Report:
    """A stream that was read."""

    header: Record = field(default_factory=dict)
    implementations: dict[str, Record] = field(default_factory=dict)
    results: list[Record] = field(default_factory=list)
    footer: Record = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Report:
        report = cls()
        for record in _lines(path):
            match record["kind"]:
                case "header":
                    report.header = record
                case "implementation":
                    report.implementations[record["adapter"]] = record
                case "result":
                    report.results.append(record)
                case "footer":
                    report.footer = record
        return report

    @property
    def areas(self) -> list[str]:
        return sorted({area_of(result["id"]) for result in self.results})

    def matrix(self) -> dict[str, dict[str, Counter[str]]]:
        """Outcomes by adapter and area."""
        table: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for result in self.results:
            table[result["adapter"]][area_of(result["id"])][result["outcome"]] += 1
        return table

    def of(self, adapter: str, area: str | None = None) -> list[Record]:
        return [
            result
            for result in self.results
            if result["adapter"] == adapter and (area is None or area_of(result["id"]) == area)
        ]


def area_of(case_id: str) -> str:
    return case_id.split("/", 1)[0]


def totals(results: Iterable[Record]) -> dict[str, dict[str, int]]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        counted[result["adapter"]][result["outcome"]] += 1
    return {adapter: dict(counter) for adapter, counter in sorted(counted.items())}


def machine() -> Record:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processors": _processors(),
        "python": platform.python_version(),
    }


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _lines(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8") as file:
        for text in file:
            yield json.loads(text)
