"""Writes the table of the configuration into docs/serving.md: `python -m tools.build.config_table`

Keys and defaults are those of `pywasmtok/server/config.py`, and what each says is its docstring.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from pywasmtok.server import config

__all__ = ["page_with_table", "rows"]

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
BEGIN: Final = "<!-- table: configuration -->\n"
END: Final = "<!-- end of configuration -->"


class Key(NamedTuple):
    name: str
    default: str
    text: str


def rows() -> list[Key]:
    source = Path(config.__file__).read_text(encoding="utf-8")
    texts = {(owner, name): text for owner, name, text in _docstrings(source)}
    return list(_keys(config.Config, "", texts))


def _keys(kind: type[Any], prefix: str, texts: dict[tuple[str, str], str]) -> Iterator[Key]:
    for field in msgspec.structs.fields(kind):
        name = prefix + field.encode_name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _keys(field.type, f"{name}.", texts)
            continue
        text = texts.get((kind.__name__, field.name), "")
        yield Key(name, _default(field), " ".join(text.split()))


def _default(field: msgspec.structs.FieldInfo) -> str:
    value: Any = None
    if field.default is not msgspec.NODEFAULT:
        value = field.default
    elif field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "" if value in (None, {}, ()) else f"`{value}`"


def _docstrings(source: str) -> Iterator[tuple[str, str, str]]:
    """Each string that stands right behind a field."""
    for kind in ast.parse(source).body:
        if not isinstance(kind, ast.ClassDef):
            continue
        for field, after in zip(kind.body, kind.body[1:], strict=False):
            match field, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    yield kind.name, name, text


def page_with_table(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = ["| key | default | |", "|---|---|---|"]
    table += [f"| `{key.name}` | {key.default} | {key.text} |" for key in rows()]
    return before + BEGIN + "\n".join(table) + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
