"""A draft of known differences: `tokconf known`.

People write the reasons. The patterns are exact, so that each covers only its own cases.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from .results import RED, Record, Report


def draft(report: Report, adapter: str) -> str:
    """expectations.toml without reasons, a group of cases an entry."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for result in report.of(adapter):
        area, group, _ = result["id"].split("/", 2)
        groups[area, group].append(result)
    return "\n".join(text for key, results in groups.items() for text in _entry(key, results))


def _entry(key: tuple[str, str], results: list[Record]) -> Iterator[str]:
    played = [one for one in results if one["outcome"] != "skip"]
    red = [one for one in played if one["outcome"] in RED]
    if not red:
        return
    place = "/".join(key)
    patterns = [f"{place}/*"] if len(red) == len(played) else [one["id"] for one in red]
    shown = ",\n    ".join(json.dumps(pattern) for pattern in patterns)
    first = red[0]
    yield f"# {first['id']}: {first.get('reason', '')}"
    for name in ("sent", "expected", "got"):
        if name in first:
            yield f"#   {name}: {json.dumps(first[name], ensure_ascii=False)[:300]}"
    yield f'[[case]]\nmatch = [\n    {shown},\n]\noutcome = "fail"\nreason = ""\n'
