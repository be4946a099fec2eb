"""Checks answers against the schema, and reports violations of the protocol."""

from __future__ import annotations

import difflib
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from .process import AdapterFailureError

Message = dict[str, Any]

# Large answers are lists of numbers. A general validator would take longer for them than the rest
# of the run, so they are checked directly.
_LARGE = 256
_schemas: Path | None = None


def use(folder: Path) -> None:
    global _schemas  # noqa: PLW0603
    _schemas = folder
    _validator.cache_clear()


def check(op: str, answer: Message) -> None:
    ok = answer.get("ok")
    if not isinstance(ok, bool):
        raise AdapterFailureError("protocol_violation", f"{op}: the answer has no ok")
    looked_at = {key: _fewer(value) for key, value in answer.items()}
    problem = next(_validator(op if ok else "error").iter_errors(looked_at), None)
    if problem is not None:
        where = "/".join(map(str, problem.absolute_path))
        text = _unknown_name(problem) or problem.message[:200]
        raise AdapterFailureError("protocol_violation", f"{op}: {where}: {text}")


def features(schemas: Path) -> list[str]:
    """What `hello` may declare beside operations and formats."""
    document = json.loads((schemas / "protocol.json").read_text())
    return list(document["$defs"]["hello"]["properties"]["features"]["items"]["enum"])


def _unknown_name(problem: Any) -> str:
    """A sentence about a misspelt name; empty where the problem is another one."""
    if problem.validator != "enum" or not isinstance(problem.instance, str):
        return ""
    near = difflib.get_close_matches(problem.instance, problem.validator_value, 1)
    hint = (
        f"; is {near[0]!r} meant?" if near else f"; known are {', '.join(problem.validator_value)}"
    )
    return f"{problem.instance!r} is not known to this suite{hint}"


@cache
def _validator(name: str) -> Any:
    if _schemas is None:
        raise RuntimeError("use() comes first")
    document = json.loads((_schemas / "protocol.json").read_text())
    schema = document["$defs"].get(name)
    if schema is None:
        raise AdapterFailureError("protocol_violation", f"{name} is no operation")
    return jsonschema.Draft202012Validator(schema)


def _fewer(value: Any) -> Any:
    if not isinstance(value, list) or len(value) <= _LARGE:
        return value
    usual = _kind(value[0])
    return [*value[:_LARGE], *(one for one in value[_LARGE:] if _kind(one) != usual)]


def _kind(one: Any) -> object:
    """Items of one kind are right or wrong together; an odd one is a kind of its own."""
    if type(one) is int and 0 <= one < 1 << 32:
        return int
    if isinstance(one, list):
        return [_kind(part) for part in one]
    return str if isinstance(one, str) else object()
