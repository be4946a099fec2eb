"""One static page: what each implementation supports, and where it fails."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import Any

from ..results import Record, Report, area_of
from ..suite import Suite

# Passing cases need no details; a thousand skips for one reason need it once.
_KEPT = ("id", "outcome", "level", "reason", "known", "why", "sent", "expected", "got")


def page(report: Report, suite: Suite) -> str:
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(_data(report, suite), ensure_ascii=False, separators=(",", ":"))
    # A text of a case may look like the end of the script that it stands in.
    return template.replace("__DATA__", data.replace("<", "\\u003c"))


def _skips(results: list[Record]) -> list[Record]:
    """One entry for an area and a reason: there may be thousands of each."""
    counted = Counter(
        (area_of(result["id"]), result.get("reason", ""))
        for result in results
        if result["outcome"] == "skip"
    )
    return [
        {"id": f"{area}/** ({count} cases)", "outcome": "skip", "reason": reason}
        for (area, reason), count in counted.items()
    ]


def _data(report: Report, suite: Suite) -> dict[str, Any]:
    matrix = report.matrix()
    return {
        "header": report.header,
        "footer": report.footer,
        "areas": report.areas,
        "adapters": [
            {
                "name": name,
                "available": record["available"],
                "reason": record.get("reason", ""),
                "hello": record.get("hello"),
                "cells": {area: dict(counts) for area, counts in matrix.get(name, {}).items()},
            }
            for name, record in sorted(report.implementations.items())
        ],
        "results": {
            name: [
                {key: result[key] for key in _KEPT if key in result}
                for result in report.of(name)
                if result["outcome"] not in ("pass", "skip")
            ]
            + _skips(report.of(name))
            for name in matrix
        },
    }
