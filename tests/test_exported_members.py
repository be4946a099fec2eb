from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

import pywasmtok
import pywasmtok.errors


def test_all_is_sorted_and_has_no_twins() -> None:
    for module in (pywasmtok, pywasmtok.errors):
        assert module.__all__ == sorted(set(module.__all__))


def test_all_is_complete() -> None:
    exported = {
        name
        for name, value in vars(pywasmtok).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    late = [name for names in pywasmtok._LATE.values() for name in names]
    assert exported | {*late, "__version__", "errors"} == set(pywasmtok.__all__)


def test_what_is_imported_on_first_use_is_there() -> None:
    for module, names in pywasmtok._LATE.items():
        for name in names:
            assert getattr(pywasmtok, name).__module__ == f"pywasmtok.{module}"
            assert name in dir(pywasmtok)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        pywasmtok.Nothing  # noqa: B018


def test_every_error_is_exported_and_stands_in_the_tree() -> None:
    source = Path(pywasmtok.errors.__file__).read_text(encoding="utf-8")
    classes = {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    assert classes == set(pywasmtok.errors.__all__)
    assert classes <= set(pywasmtok.__all__)
    tree = pywasmtok.errors.__doc__ or ""
    assert {name for name in classes if name not in tree.split()} == set()


def test_every_module_states_what_it_exports() -> None:
    package = Path(pywasmtok.__file__).parent
    silent = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "__all__" not in (source := path.read_text(encoding="utf-8"))
        # A room that is a docstring exports nothing.
        and len(ast.parse(source).body) > 1
        and path.name != "__main__.py"
        and "_host" not in path.parts
    ]
    assert silent == []
