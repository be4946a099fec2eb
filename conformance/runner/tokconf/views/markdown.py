"""The matrix as a table of Markdown, and as numbers for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..results import RED, Report

# Failures of one implementation that the report names; report.html has all.
LISTED = 100


def summary(report: Report) -> dict[str, Any]:
    return {
        "suite": report.header["suite"],
        "started": report.header["started"],
        "ok": report.footer.get("ok"),
        "matrix": {
            adapter: {area: dict(counts) for area, counts in row.items()}
            for adapter, row in report.matrix().items()
        },
    }


def document(report: Report) -> str:
    areas, matrix = report.areas, report.matrix()
    lines = [
        f"# Tokenizer conformance {report.header['suite']}",
        "",
        f"{report.header['cases']} cases, {report.header['started'][:10]}. A cell says how many of "
        "the cases that the implementation takes it passes; in brackets known differences. What it "
        "does not declare is not counted.",
        "",
        "| implementation | " + " | ".join(areas) + " |",
        "|---|" + "---|" * len(areas),
    ]
    for adapter in sorted(report.implementations):
        hello = report.implementations[adapter].get("hello")
        version = f" {hello['implementation']['version']}" if hello else ""
        record = report.implementations[adapter]
        if not record["available"] and adapter not in matrix:
            lines.append(f"| {adapter} | unavailable: {record['reason']} |")
            continue
        cells = [cell(matrix[adapter][area]) for area in areas]
        lines.append(f"| {adapter}{version} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, *_failures(report)]) + "\n"


def _failures(report: Report) -> list[str]:
    """What is red, by implementation: the case and the reason."""
    lines: list[str] = []
    for adapter in report.matrix():
        reasons = Counter[str]()
        shown: list[str] = []
        for one in report.of(adapter):
            if one["outcome"] not in RED:
                continue
            reason = one.get("reason", "")
            if one["outcome"] == "aborted":
                reasons[reason] += 1
                continue
            level = "" if one["level"] == "must" else f" ({one['level']})"
            shown.append(f"- `{one['id']}`{level}: {one['outcome']}: {_plain(reason)}")
        aborted = [f"- {count} cases aborted: {_plain(why)}" for why, count in reasons.items()]
        more = [f"- and {len(shown) - LISTED} more"] if len(shown) > LISTED else []
        if shown or aborted:
            lines += ["", f"## {adapter}", "", *aborted, *shown[:LISTED], *more]
    return lines


def _plain(text: str) -> str:
    """One line without Markdown in it."""
    return "`" + " ".join(text.replace("`", "'").split())[:200] + "`" if text else "no reason"


def cell(counts: dict[str, int]) -> str:
    played = sum(counts.get(name, 0) for name in ("pass", "fail", "xfail", "xpass", "aborted"))
    if not played:
        return "-"
    known = f" ({counts['xfail']})" if counts.get("xfail") else ""
    return f"{counts.get('pass', 0)}/{played}{known}"
