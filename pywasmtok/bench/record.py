"""A run as one JSON document: what was measured, on what, and how. schema.json describes it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument, LoadError, SourceNotFound
from ..loading.sources.paths import write
from .json_text import json_text
from .rows import Row

__all__ = ["SCHEMA", "Record", "schema"]

SCHEMA = "pywasmtok.bench/1"


@dataclass
class Record:
    date: str
    command: list[str]
    machine: Mapping[str, Any]
    libraries: Mapping[str, str]
    """Versions."""
    plan: Mapping[str, Any]
    builds: list[str]
    """Of ours; the first is what the others are compared with."""
    texts: list[dict[str, Any]] = field(default_factory=list)
    """Name, sha256 and bytes of each."""
    tokenizers: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    """What was run: its name, tokenizer, seconds, and a failure or null."""
    absent: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def ours(self) -> str:
        return self.builds[0] if self.builds else ""

    def has(self, group: str, tokenizer: str) -> bool:
        """Whether the group was measured to its end."""
        return any(
            (one["group"], one["tokenizer"], one["failure"]) == (group, tokenizer, None)
            for one in self.groups
        )

    def without_failed(self) -> None:
        """What a run that goes on measures anew."""
        self.groups = [one for one in self.groups if one["failure"] is None]
        self.rows = [row for row in self.rows if self.has(row.group, row.tokenizer)]

    def as_json(self) -> dict[str, Any]:
        document = {name: getattr(self, name) for name in self.__dataclass_fields__}
        document["rows"] = [row.as_json() for row in self.rows]
        return {"schema": SCHEMA, **document}

    def write(self, path: str) -> None:
        """One row a line: a record is read by people, too, and compared with diff. Complete or not
        at all: a run that goes on needs the record that was there."""
        document = self.as_json()
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in document.pop("rows"))
        # With its names alone, it is longer than a line.
        head = json_text(document).removesuffix("\n}")
        text = f'{head},\n "rows": [\n{rows}\n]\n}}\n'
        write(os.fsencode(path), text.encode())

    @staticmethod
    def read(path: str) -> Record:
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            # Raises for numbers and characters that no JSON has.
            json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        except FileNotFoundError as error:
            raise SourceNotFound("no such file", source=path) from error
        except (OSError, ValueError, RecursionError) as error:
            raise LoadError(f"no record of a benchmark: {error}", source=path) from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise InvalidArgument(f"no record of a benchmark ({SCHEMA})", source=path)
        for where in _breaches(document, schema(), "record"):
            raise InvalidArgument(f"a damaged record of a benchmark: {where}", source=path)
        del document["schema"]
        rows = [Row.from_json(row) for row in document.pop("rows")]
        return Record(**document, rows=rows)


def schema() -> dict[str, Any]:
    """The JSON Schema of a record."""
    text = files("pywasmtok.bench").joinpath("schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: type(value) is int and abs(value) <= sys.maxsize,
    "number": lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max,
}


def _breaches(value: Any, rules: Mapping[str, Any], where: str) -> Iterator[str]:
    """The places that are not as the schema says, by the words of JSON Schema that it uses."""
    types = rules.get("type", [*_TYPES])
    is_good = (
        any(_TYPES[name](value) for name in ([types] if isinstance(types, str) else types))
        and value in rules.get("enum", [value])
        and value == rules.get("const", value)
        and (not isinstance(value, str) or re.search(rules.get("pattern", ""), value))
    )
    if not is_good:
        yield where
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _breaches(item, rules.get("items", {}), f"{where}[{number}]")
    elif isinstance(value, dict):
        known, others = rules.get("properties", {}), rules.get("additionalProperties", {})
        yield from (f"{where}.{name}" for name in rules.get("required", ()) if name not in value)
        for name, item in value.items():
            inner = known.get(name, others)
            if inner is False:
                yield f"{where}.{name}"
            else:
                yield from _breaches(item, inner, f"{where}.{name}")
