"""Names of models: one table of patterns, which a user may extend or replace.

A name means, in this order: what the table of the user says (the argument `model_map`, then the
file that PYWASMTOK_MODEL_MAP names, then `[tool.pywasmtok.model_map]` in the pyproject.toml of the
current folder), an encoding of tiktoken, what the table of this package says.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidArgument, InvalidFile, SourceNotFound, TokenizerError
from ...tokenizer.limits import Limits
from .paths import as_path, exists, printable, read
from .ranks.encodings import ENCODINGS

if TYPE_CHECKING:
    from .source import Request

__all__ = ["VARIABLE", "Rule", "builtin_table", "find_rule", "tables", "tiktoken_table"]

VARIABLE = "PYWASMTOK_MODEL_MAP"
_PROJECT = "pyproject.toml"
_REPLACE = "replace"
_MAX_BYTES = 1 << 20


class Rule(NamedTuple):
    pattern: str
    source: str
    table: str
    """Where the rule stands, for people."""


class Table(NamedTuple):
    rules: Mapping[str, str]
    name: str
    alone: bool = False
    """Tables after this one are not used."""

    def find(self, name: str) -> Rule | None:
        """The rule of that very name, else the first pattern that fits."""
        if name in self.rules:
            return Rule(name, self.rules[name], self.name)
        for pattern, source in self.rules.items():
            if "*" in pattern and fnmatchcase(name, pattern):
                return Rule(pattern, source, self.name)
        return None


def find_rule(name: str, request: Request) -> Rule | None:
    for table in tables(request):
        rule = table.find(name)
        if rule is not None:
            return rule
    return None


def tables(request: Request) -> list[Table]:
    """The tables in the order of their precedence."""
    found = []
    for table in _of_the_user(request):
        found.append(table)
        if table.alone:
            return found
    encodings = {name: name for name in ENCODINGS}
    return [*found, Table(encodings, "encodings of tiktoken"), builtin_table()]


def _of_the_user(request: Request) -> list[Table]:
    found = []
    if isinstance(request.model_map, Mapping):
        found.append(_table(dict(request.model_map), "model_map"))
    elif request.model_map is not None:
        found.append(_read_table(as_path(request.model_map)))
    if file := os.environ.get(VARIABLE):
        try:
            found.append(_read_table(as_path(file)))
        except TokenizerError as error:
            error.message = f"{VARIABLE}: {error.message}"
            raise
    project = os.fsencode(_PROJECT)
    if exists(project):
        try:
            found.append(_read_table(project))
        except TokenizerError:
            # Another program may use a file of this name: it is ignored.
            return found
    return found


def _read_table(path: bytes) -> Table:
    """A TOML file whose patterns stand in `[models]`, or a pyproject.toml with its own table."""
    name = printable(path)
    data = read(path, Limits(file_bytes=_MAX_BYTES)).data
    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFile(f"no TOML: {error}", source=name) from error
    tool = document.get("tool")
    own = tool.get("pywasmtok") if isinstance(tool, dict) else None
    models = own.get("model_map") if isinstance(own, dict) else document.get("models")
    if models is None:
        models = {}
    if not isinstance(models, dict):
        raise InvalidFile("its models are no table", source=name)
    return _table(models, name)


def _table(models: dict[str, object], name: str) -> Table:
    """`replace = true` among the patterns: tables after this one are not used."""
    alone = models.pop(_REPLACE, False) is True
    rules: dict[str, str] = {}
    for pattern, source in models.items():
        if not isinstance(pattern, str) or not isinstance(source, str | os.PathLike):
            raise InvalidArgument(
                f"{name}: a model map has names and sources, not {pattern!r}: {source!r}"
            )
        rules[pattern] = os.fsdecode(source)
    return Table(rules, name, alone)


def builtin_table() -> Table:
    """The names of tiktoken, and behind them those of other programs."""
    file = _builtin_file()
    return Table({**file["models"], **file["others"]}, "the table of pywasmtok")


def tiktoken_table() -> Table:
    """The names of tiktoken alone."""
    return Table(_builtin_file()["models"], "the table of pywasmtok")


@lru_cache(maxsize=1)
def _builtin_file() -> dict[str, dict[str, str]]:
    from importlib.resources import files

    try:
        text = files("pywasmtok").joinpath("data", "models.toml").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SourceNotFound(
            "the table of models is missing from this installation", hint="Reinstall pywasmtok"
        ) from error
    return tomllib.loads(text)
