"""The matrix as a table of Markdown, and as numbers for programs."""

from __future__ import annotations

from typing import Any

from ..results import Report


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
    return "\n".join(lines) + "\n"


def cell(counts: dict[str, int]) -> str:
    played = sum(counts.get(name, 0) for name in ("pass", "fail", "xfail", "xpass", "aborted"))
    if not played:
        return "-"
    known = f" ({counts['xfail']})" if counts.get("xfail") else ""
    return f"{counts.get('pass', 0)}/{played}{known}"
