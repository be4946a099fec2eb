from __future__ import annotations

import inspect
import pickle

import pytest

from pywasmtok import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("cls", CLASSES, ids=errors.__all__)
def test_an_error_survives_a_pickle(cls: type[errors.TokenizerError]) -> None:
    error = cls("what", path="$.model", offset=7, feature="model:X", source="file", hint="Do so")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    # What a template raises is said in its own words and no others.
    raised = cls is errors.TemplateRaised
    said = "what" if raised else "file: what (at $.model) (byte 7). Do so"
    assert str(again) == str(error) == said
    assert (again.path, again.offset, again.feature) == ("$.model", 7, "model:X")
    assert (again.source, again.hint, again.message) == ("file", "Do so", "what")


def test_kinds_are_distinct() -> None:
    kinds = [cls.kind for cls in CLASSES]
    assert len(set(kinds)) == len(kinds)


def test_the_tree_is_drawn_as_it_is() -> None:
    tree = (errors.__doc__ or "").split("\n\n")[1].splitlines()
    stack: list[tuple[int, str]] = []
    for line in tree:
        name = line.lstrip(" │├└─").split()[0]
        depth = line.index(name)
        while stack and stack[-1][0] >= depth:
            stack.pop()
        cls = getattr(errors, name)
        if stack:
            assert cls.__bases__[0].__name__ == stack[-1][1], name
        stack.append((depth, name))


def test_errors_can_be_caught_as_what_python_calls_them() -> None:
    assert issubclass(errors.SourceNotFound, FileNotFoundError)
    assert issubclass(errors.InvalidArgument, ValueError)
    assert issubclass(errors.BackendUnavailable, ImportError)
    assert inspect.getmro(errors.InvalidToken)[1] is errors.TokenizerError
