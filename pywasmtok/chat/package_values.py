"""What values are, on their way through the Python package `minijinja`.

The package loses three things on the way into a Python function: an undefined value arrives as
None, a float without a fraction as int, and a large integer as float. The first is handed over as
`UNDEFINED` (the translated template says so), numbers of the context are put into boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from ..errors import TemplateRuntimeError

__all__ = ["UNDEFINED", "Box", "Undefined", "box", "boxed", "fail", "plain"]

# Beyond this an integer becomes a float inside the package.
_LARGE = 1 << 63


class Undefined:
    """Prints as nothing, is empty and false, and refuses everything else, as in jinja2."""

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "Undefined"

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undefined)

    def __hash__(self) -> int:
        return hash(Undefined)

    def __getitem__(self, key: object) -> NoReturn:
        fail(f"an undefined value has no element {key!r}")


UNDEFINED = Undefined()


class Box:
    """A number that the package would print or hand over otherwise."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < plain(other))


def box(value: Any) -> Any:
    """One value; what the package treats as Python does needs no box."""
    if isinstance(value, float):
        text = repr(value)
        # An exponent, infinity, or no number at all.
        odd = value.is_integer() or "e" in text or "n" in text
        return Box(value) if odd else value
    if isinstance(value, int) and not -_LARGE <= value < _LARGE:
        return Box(value)
    return value


def boxed(value: Any) -> Any:
    """A copy of plain data with its numbers in boxes."""
    if isinstance(value, dict):
        return {key: boxed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [boxed(item) for item in value]
    return box(value)


def plain(value: Any) -> Any:
    return value.value if isinstance(value, Box) else value


def fail(message: str) -> NoReturn:
    raise TemplateRuntimeError(message)
