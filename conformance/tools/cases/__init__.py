"""Makers of cases: a module an area, a file of cases a group."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Case = dict[str, Any]


@dataclass
class Group:
    """One file of cases."""

    area: str
    name: str
    about: str
    spec: list[str]
    origin: dict[str, Any]
    tokenizer: str = ""
    level: str = "must"
    requires: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)

    def add(self, name: str, why: str, op: str, **fields: Any) -> None:
        fields.setdefault("since", "1.0")
        self.cases.append(
            {"id": f"{self.area}/{self.name}/{slug(name)}", "why": why, "op": op, **fields}
        )

    def document(self) -> dict[str, Any]:
        shared = {
            "area": self.area,
            "group": self.name,
            "about": self.about,
            "tokenizer": self.tokenizer,
            "spec": self.spec,
            "level": self.level,
            "requires": self.requires,
            "origin": {**self.origin, "by": "tools/generate"},
        }
        return {**{key: value for key, value in shared.items() if value}, "cases": self.cases}


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "none"
