"""A badge in the form that shields.io reads from an address."""

from __future__ import annotations

from typing import Any

from ..results import RED, Report


def documents(report: Report) -> dict[str, dict[str, Any]]:
    made = {}
    for adapter in report.matrix():
        results = report.of(adapter)
        played = [one for one in results if one["outcome"] not in ("skip", "unavailable")]
        passed = sum(one["outcome"] == "pass" for one in played)
        # As in a run: skips alone are red, and so is an expectation that means no case.
        stale = any(one["adapter"] == adapter for one in report.footer.get("stale", ()))
        wrong = any(one["outcome"] in RED and one["level"] != "may" for one in played)
        red = wrong or stale or not played
        made[adapter] = {
            "schemaVersion": 1,
            "label": f"tokenizer conformance {report.header['suite']}",
            "message": f"{passed}/{len(played)}",
            "color": "red" if red else "brightgreen" if passed == len(played) else "yellow",
        }
    return made
