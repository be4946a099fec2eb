"""Records as JSON for people and diffs: what fits into a line is in one line."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["json_text"]

# As the pages of docs.
_WIDTH: Final = 120


def json_text(value: Any, indent: str = "") -> str:
    """The same document as of `json.dumps`; `indent` stands in front of its lines but the first."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, dict | list | tuple):
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        begin, end = "{}"
        parts = [
            f"{json.dumps(str(key), ensure_ascii=False)}: {json_text(item, inner)}"
            for key, item in value.items()
        ]
    else:
        begin, end = "[]"
        parts = [json_text(item, inner) for item in value]
    return f"{begin}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{end}"
