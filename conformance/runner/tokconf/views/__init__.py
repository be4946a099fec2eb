"""Reports, all from one stream of results."""

from __future__ import annotations

import json
from pathlib import Path

from ..results import Report
from ..suite import Suite
from . import badge, html, junit, markdown


def write_all(report: Report, suite: Suite, out: Path) -> None:
    (out / "report.html").write_text(html.page(report, suite), encoding="utf-8")
    (out / "junit.xml").write_text(junit.document(report), encoding="utf-8")
    (out / "report.md").write_text(markdown.document(report), encoding="utf-8")
    (out / "report.json").write_text(json.dumps(markdown.summary(report), indent=1) + "\n")
    for name, content in badge.documents(report).items():
        (out / f"badge-{name.replace(':', '-')}.json").write_text(json.dumps(content) + "\n")
