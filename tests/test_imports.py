"""No import cycle in the package: lazy imports count, those for types only do not.

The order of the rooms is checked by `lint-imports`, by the contracts in pyproject.toml.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pywasmtok

PACKAGE = Path(pywasmtok.__file__).parent


def modules(folder: Path) -> dict[str, Path]:
    """The files of a package by the names of their modules."""
    names = {
        path.relative_to(folder.parent).with_suffix("").as_posix().replace("/", "."): path
        for path in folder.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


def imports(node: ast.AST, package: list[str]) -> Iterator[str]:
    """All names that may be modules: of `from a import b` both `a` and `a.b`."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children: list[ast.AST] = [*node.orelse]
    else:
        children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *filter(None, [node.module])])
        yield from (base, *(f"{base}.{name.name}" for name in node.names))
    for child in children:
        yield from imports(child, package)


def graph(folder: Path) -> dict[str, set[str]]:
    known = modules(folder)
    found = {}
    for name, path in known.items():
        parts = name.split(".")
        package = parts if path.name == "__init__.py" else parts[:-1]
        named = {*imports(ast.parse(path.read_bytes()), package)} & known.keys()
        # The packages that a module lies in are there before it.
        found[name] = {one for one in named if not f"{name}.".startswith(f"{one}.")}
    return found


def cycle(folder: Path) -> list[str]:
    """One cycle, from a module back to itself; empty: there is none."""
    try:
        TopologicalSorter(graph(folder)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_package_has_no_cycle() -> None:
    assert cycle(PACKAGE) == []


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("from . import low", True),
        ("def lazy():\n    from .low import thing", True),
        ("def lazy():\n    import p.low", True),
        ("if TYPE_CHECKING:\n    from . import low", False),
        ("from . import VERSION", False),
    ],
)
def test_which_imports_count(line: str, counts: bool, tmp_path: Path) -> None:
    files = {"__init__": "from . import low, high", "low": "from . import high", "high": line}
    for name, text in files.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert bool(cycle(tmp_path / "p")) is counts
