"""The carriers of a translated template, as filters of the Python package: operators, subscripts,
methods and loops, each with Python's own answer."""

from __future__ import annotations

import operator
import string
from collections.abc import Callable, Mapping, Sequence
from html import escape as _html
from typing import Any, NoReturn

from .package_values import UNDEFINED, Undefined, box, fail, plain

__all__ = ["FILTERS", "escape", "float_literal", "member", "subscript"]

_TYPES = (str, dict, list, tuple, int, float)
# They change what they are called on, which the reference's sandbox refuses.
_CHANGING = {
    "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
}  # fmt: skip


def float_literal(text: str) -> Any:
    return box(float(text))


def iterable(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, str):
        # The package does not know how many characters there are, and which is the last.
        return list(value)
    if isinstance(value, Undefined):
        return []
    if value is None or isinstance(value, int | float):
        fail(f"'{type(value).__name__}' object is not iterable")
    return value


def concat(*values: Any) -> str:
    """Without escaping, even of safe strings: nothing is escaped automatically in a chat."""
    return "".join(map(str, values))


def add(left: Any, right: Any) -> Any:
    if hasattr(left, "__html__") and isinstance(right, str):
        return _markup(str(left) + _escaped(right))
    if hasattr(right, "__html__") and isinstance(left, str):
        return _markup(_escaped(left) + str(right))
    _defined(left, right)
    return box(plain(left) + plain(right))


def _arithmetic(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def answer(left: Any, right: Any) -> Any:
        _defined(left, right)
        return box(operate(plain(left), plain(right)))

    return answer


def _unary(operate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def answer(value: Any) -> Any:
        _defined(value)
        return box(operate(plain(value)))

    return answer


def equal(left: Any, right: Any) -> bool:
    return bool(plain(left) == plain(right))


def modulo(left: Any, right: Any) -> Any:
    _defined(left)
    if isinstance(left, str):
        values = tuple(map(plain, right)) if isinstance(right, tuple) else plain(right)
        return left % values
    _defined(right)
    return box(plain(left) % plain(right))


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def answer(left: Any, right: Any) -> bool:
        _defined(left, right)
        return bool(compare(plain(left), plain(right)))

    return answer


def contains(needle: Any, values: Any) -> bool:
    return plain(needle) in plain(values)


def slice_of(value: Any, start: Any = None, stop: Any = None, step: Any = None) -> Any:
    if isinstance(value, Undefined):
        fail("an undefined value cannot be sliced")
    try:
        return value[slice(plain(start), plain(stop), plain(step))]
    except (TypeError, KeyError):
        return UNDEFINED


def subscript(value: Any, key: Any) -> Any:
    """`value[key]`: elements before attributes."""
    if isinstance(value, Undefined):
        fail(f"an undefined value has no element {key!r}")
    try:
        return value[plain(key)]
    except (TypeError, LookupError):
        return member(value, key) if isinstance(key, str) else UNDEFINED


def attribute(value: Any, name: str) -> Any:
    """`value.name`: attributes before elements."""
    if isinstance(value, Undefined):
        fail(f"an undefined value has no attribute {name!r}")
    found = member(value, name)
    if not isinstance(found, Undefined):
        return found
    try:
        return value[name]
    except (TypeError, LookupError):
        return UNDEFINED


def method(value: Any, name: str, /, *arguments: Any, **named: Any) -> Any:
    value = plain(value)
    if name in _CHANGING and isinstance(value, dict | list):
        fail(f"{type(value).__name__}.{name} changes its object, which no template may")
    function = attribute(value, name)
    if isinstance(function, Undefined) or not callable(function):
        fail(f"'{type(value).__name__}' object has no method {name!r}")
    arguments = tuple(map(plain, arguments))
    if isinstance(value, str) and name in ("format", "format_map"):
        # With its own formatter, which reads no attributes that begin with an underscore.
        return (
            _FORMATTER.vformat(value, (), arguments[0])
            if name == "format_map"
            else _FORMATTER.vformat(value, arguments, named)
        )
    return box(function(*arguments, **named))


def missing(_: Any, message: str) -> NoReturn:
    """A filter or a test that jinja2 does not know; it fails when it is used."""
    fail(message)


def member(value: Any, name: str) -> Any:
    """An attribute that the reference's sandbox shows."""
    if name.startswith("_") or not isinstance(value, _TYPES):
        return UNDEFINED
    return getattr(value, name, UNDEFINED)


class _Formatter(string.Formatter):
    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, int | str]:
        first, rest = string._string.formatter_field_name_split(field_name)  # type: ignore[attr-defined]
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            value = attribute(value, name) if is_attribute else subscript(value, name)
        return plain(value), first


_FORMATTER = _Formatter()


def _defined(*values: Any) -> None:
    if any(isinstance(value, Undefined) for value in values):
        fail("an undefined value takes part in an operation")


def escape(value: Any) -> Any:
    """A safe string stays what it is."""
    return _markup(_escaped(value))


def _escaped(value: Any) -> str:
    if hasattr(value, "__html__"):
        return str(value)
    return _html(str(value)).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


def _markup(text: str) -> Any:
    import minijinja

    return minijinja.safe(text)


FILTERS: dict[str, Callable[..., Any]] = {
    "__iterable": iterable,
    "__concat": concat,
    "__add": add,
    "__mod": modulo,
    "__sub": _arithmetic(operator.sub),
    "__mul": _arithmetic(operator.mul),
    "__div": _arithmetic(operator.truediv),
    "__floordiv": _arithmetic(operator.floordiv),
    "__pow": _arithmetic(operator.pow),
    "__neg": _unary(operator.neg),
    "__pos": _unary(operator.pos),
    "__eq": equal,
    "__lt": _comparison(operator.lt),
    "__le": _comparison(operator.le),
    "__gt": _comparison(operator.gt),
    "__ge": _comparison(operator.ge),
    "__in": contains,
    "__slice": slice_of,
    "__item": subscript,
    "__attribute": attribute,
    "__method": method,
    "__missing": missing,
}
