"""Schemas of functions against transformers' own."""

# ruff: noqa: UP006, UP007, UP042, UP045  # the old spellings of hints are what this is about

from __future__ import annotations

import enum
import random
import typing
from collections.abc import Callable
from typing import Any, Literal, Optional, Union

import pytest

reference = pytest.importorskip("transformers.utils.chat_template_utils")

import pywasmtok  # noqa: E402
from pywasmtok.chat.docstrings import describe  # noqa: E402
from pywasmtok.chat.tools_schema import get_json_schema, tools_as_dicts  # noqa: E402

from .environment import needs_reference  # noqa: E402

pytestmark = needs_reference


class Colour(enum.Enum):
    RED = "red"
    NUMBER = 1


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Words(str, enum.Enum):
    A = "a"


class Nothing(enum.Enum):
    pass


class Odd(enum.Enum):
    PAIR = (1, 2)


class Own:
    pass


T = typing.TypeVar("T")

HINTS: list[Any] = [
    int, float, str, bool, None, type(None), list, tuple, dict, Any, bytes, object, Own, set,
    list[int], list[Any], list[list[str]], list[Own], typing.List, typing.Dict, typing.Tuple,
    dict[str, int], dict[int, list[float]], typing.Dict[str, Any], tuple[int, str], tuple[int],
    tuple[int, ...], tuple[()], Optional[int], Optional[list[int]], int | None, int | str,
    str | int | None, int | list[int], list[int] | None, Union[list, tuple], Union[int, Own],
    Union[None, None], Colour, Level, Words, Nothing, Odd, Colour | None, Optional[Literal["a"]],
    Literal["a", "b"], Literal[1, "a", None, True], Literal[b"x"], Literal[Colour.RED], T,
    Callable[[int], int], type[int], set[int], frozenset, Literal["a"] | int, dict[str, Colour],
    typing.Annotated[int, "about"], typing.Union[int, float, bool], "int", "list[int] | None", ...,
]  # fmt: skip


def both(function: Callable[..., Any]) -> None:
    same(lambda: reference.get_json_schema(function), lambda: get_json_schema(function))


def same(theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
    try:
        expected = theirs()
    except Exception as error:
        name = type(error).__name__
        names = {"JSONDecodeError": "DocstringParsingException"}
        with pytest.raises(Exception) as caught:  # noqa: PT011
            ours()
        assert type(caught.value).__name__ == names.get(name, name), str(error)  # noqa: PT017
        return
    assert ours() == expected
    # Order is what a template prints.
    assert repr(ours()) == repr(expected)


@pytest.mark.parametrize("hint", HINTS, ids=repr)
def test_every_hint(hint: Any) -> None:
    def tool(x: Any, y: Any = None) -> Any:
        """Does it.

        Args:
            x: The one
            y: The other
        """

    for hints in ({"x": hint, "y": int}, {"x": int, "y": str, "return": hint}):
        tool.__annotations__ = hints
        both(tool)


def test_nothing_is_lost_in_a_deep_hint() -> None:
    rng = random.Random(3)
    plain: list[Any] = [int, str, float, bool, None, Colour, Literal["a", 2], Any, list, dict]

    def grow(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(plain)
        kind = rng.randrange(4)
        if kind == 0:
            return list[grow(depth - 1)]  # type: ignore[misc]
        if kind == 1:
            return dict[str, grow(depth - 1)]  # type: ignore[misc]
        if kind == 2:
            return tuple[grow(depth - 1), grow(depth - 1)]  # type: ignore[misc]
        return Union[grow(depth - 1), grow(depth - 1)]

    for _ in range(2000):

        def tool(x: Any) -> None:
            """Does it.

            Args:
                x: The one
            """

        tool.__annotations__ = {"x": grow(4)}
        both(tool)


def no_docstring(x: int) -> None: ...


def no_hint(x) -> None:  # type: ignore[no-untyped-def]
    """A.

    Args:
        x: y
    """


def no_description(x: int, z: int) -> None:
    """A.

    Args:
        x: y
    """


def everything(
    a: int, /, b: str = "x", *rest: int, c: bool = False, **more: str
) -> Optional[list[int]]:
    """Two lines
    of text.

    And a paragraph.

    Args:
        a: one
            that: goes on
          and on
        b (str): not seen
        b: tea or (choices: ["tea ", "coffee", 3])
        rest: x
        c: y (Choices: [true])
        more: z

    Returns:
        A list
        of numbers

    Raises:
        ValueError: never
    """


def bad_choices(x: int) -> None:
    """A.

    Args:
        x: y (choices: [1, )
    """


def choices_that_are_a_number(x: int) -> None:
    """A.

    Args:
        x: y (choices: 1)
    """


def heading_in_a_sentence(x: int) -> str:
    """Takes Args: and Returns: them.

    Args:
        x: what Raises: eyebrows

    Returns:
        str: Raises: nothing
    """
    return ""


def nothing_taken() -> None:
    """Only words."""


def returns_own() -> Own:
    """Words.

    Returns:
        It
    """
    return Own()


class Tools:
    def method(self, x: int) -> int:
        """A method.

        Args:
            x: y
        """
        return x

    @classmethod
    def of_class(cls, x: int) -> int:
        """Of the class.

        Args:
            x: y
        """
        return x

    def odd(self: int, x: int) -> None:  # type: ignore[misc]
        """A receiver with a hint.

        Args:
            x: y
            self: z
        """


FUNCTIONS = [
    no_docstring, no_hint, no_description, everything, bad_choices, heading_in_a_sentence,
    nothing_taken, returns_own, Tools.method, Tools().method, Tools.of_class, Tools.odd,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions(function: Callable[..., Any]) -> None:
    both(function)


def test_choices_that_are_no_array() -> None:
    with pytest.raises(pywasmtok.DocstringParsingException, match="no JSON array"):
        get_json_schema(choices_that_are_a_number)


_PARTS = (
    "Args:", "Returns:", "Raises:", "\n", "\n    ", "\n  ", "\n\t", "a:", "b: text", " x: y (z):",
    " word", "name: ", "\n    n1: desc", "\n        deeper: x", " (choices: [1])", "\n\n", "\x0b",
    "\u2028", "\r", "é:", "\x1c", "\nArgs:\n", "\n  Args:\n    a: b\n", "\nReturns:\n   text", "  ",
    ":", "\nRaises:\n E: x",
)  # fmt: skip


def test_docstrings_are_cut_where_the_reference_cuts_them() -> None:
    rng = random.Random(5)
    for _ in range(20_000):
        text = "".join(rng.choices(_PARTS, k=rng.randint(1, 14))).strip()
        if text:
            description, arguments, returned = describe(text, "f")
            expected = reference.parse_google_format_docstring(text)
            assert (description, dict(arguments.said), returned) == expected, text


def test_tools_of_a_request() -> None:
    schema = {"type": "function"}
    assert tools_as_dicts(None) is None
    made = tools_as_dicts([schema, nothing_taken])
    assert made is not None
    assert made[0] is schema
    assert made[1]["function"]["name"] == "nothing_taken"
    for wrong in ("f", 3, len, Tools, None):
        with pytest.raises(pywasmtok.InvalidArgument, match=r"tools\[1\]"):
            tools_as_dicts([schema, wrong])


def test_errors_are_of_the_family() -> None:
    for function in (no_docstring, no_hint, no_description):
        with pytest.raises(pywasmtok.TokenizerError):
            get_json_schema(function)
