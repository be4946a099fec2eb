"""Filters and tests of jinja2 for the package `minijinja`, where its own answer otherwise."""

from __future__ import annotations

import json
import operator
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .package_markup import FILTERS as MARKUP
from .package_operators import escape, member, subscript
from .package_values import UNDEFINED, Box, Undefined, box, fail, plain

__all__ = ["FILTERS", "TESTS"]

_WORD_STARTS = re.compile(r"([-\s({\[<]+)")


def tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        plain(value),
        ensure_ascii=ensure_ascii,
        indent=plain(indent),
        separators=separators,
        sort_keys=sort_keys,
        default=_unboxed,
    )


def _unboxed(value: object) -> object:
    if isinstance(value, Box):
        return value.value
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def default(value: Any, otherwise: Any = "", boolean: bool = False, **named: Any) -> Any:
    otherwise = named.pop("default_value", otherwise)
    if named:
        fail(f"default has no argument {next(iter(named))!r}")
    missing = isinstance(value, Undefined) or (boolean and not value)
    return otherwise if missing else value


def trim(value: Any, chars: str | None = None) -> str:
    return str(value).strip(chars)


def title(value: Any) -> str:
    words = _WORD_STARTS.split(str(value))
    return "".join(word[0].upper() + word[1:].lower() for word in words if word)


def replace(value: Any, old: Any, new: Any, count: int | None = None) -> str:
    return str(value).replace(str(old), str(new), -1 if count is None else count)


def indent(value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    margin = width if isinstance(width, str) else " " * width
    head, *lines = f"{value}\n".splitlines()
    filled = [margin + line if line or blank else line for line in lines]
    return (margin if first else "") + "\n".join([head, *filled])


def truncate(
    value: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = 5
) -> str:
    if length < len(end) or leeway < 0:
        fail(f"truncate cannot end {end!r} within {length} characters")
    text = str(value)
    if len(text) <= length + leeway:
        return text
    kept = text[: length - len(end)]
    return (kept if killwords else kept.rsplit(" ", 1)[0]) + end


def wordwrap(
    value: Any,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    """Each line of the text by itself."""
    between = "\n" if wrapstring is None else wrapstring
    wrapper = textwrap.TextWrapper(
        width=width,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=break_long_words,
        break_on_hyphens=break_on_hyphens,
    )
    return between.join(between.join(wrapper.wrap(line)) for line in value.splitlines())


def attr(value: Any, name: str) -> Any:
    """An attribute, and no element of that name."""
    if isinstance(value, Undefined):
        fail(f"an undefined value has no attribute {name!r}")
    return member(value, name)


def length(value: Any) -> int:
    return len(plain(value))


def join(value: Any, d: Any = "", attribute: Any = None) -> str:
    values = value if attribute is None else map(_getter(attribute), value)
    return str(d).join(map(str, values))


def first(value: Any) -> Any:
    return next(iter(value), UNDEFINED)


def last(value: Any) -> Any:
    return next(iter(reversed(value)), UNDEFINED) if len(value) else UNDEFINED


def reverse(value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else list(value)[::-1]


def items(value: Any) -> Any:
    if isinstance(value, Undefined):
        return iter(())
    if not isinstance(value, Mapping):
        fail("Can only get item pairs from a mapping.")
    return iter(value.items())


def integer(value: Any, default: Any = 0, base: int = 10) -> Any:
    value = plain(value)
    try:
        return box(int(value, base) if isinstance(value, str) else int(value))
    except (TypeError, ValueError):
        try:
            return box(int(float(value)))
        except (TypeError, ValueError, OverflowError):
            return default


def number(value: Any, default: Any = 0.0) -> Any:
    try:
        return box(float(plain(value)))
    except (TypeError, ValueError):
        return box(default)


def absolute(value: Any) -> Any:
    return box(abs(plain(value)))


def dictsort(
    value: Any, case_sensitive: bool = False, by: str = "key", reverse: bool = False
) -> list[Any]:
    if by not in ("key", "value"):
        fail('You can only sort by either "key" or "value"')
    place = 0 if by == "key" else 1
    fold = _same if case_sensitive else _folded
    return sorted(value.items(), key=lambda item: fold(item[place]), reverse=reverse)


def sort(
    value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Any = None
) -> list[Any]:
    fold = _same if case_sensitive else _folded
    if attribute is None:
        return sorted(value, key=fold, reverse=reverse)
    names = str(attribute).split(",") if isinstance(attribute, str) else [attribute]
    getters = [_getter(name) for name in names]
    return sorted(value, key=lambda item: [fold(get(item)) for get in getters], reverse=reverse)


def unique(value: Any, case_sensitive: bool = False, attribute: Any = None) -> Iterator[Any]:
    fold = _same if case_sensitive else _folded
    get = _same if attribute is None else _getter(attribute)
    seen: set[Any] = set()
    for item in value:
        key = fold(get(item))
        if key not in seen:
            seen.add(key)
            yield item


def apply(value: Any, *arguments: Any, **named: Any) -> Iterator[Any]:
    """`map`: with the name of a filter, or with `attribute=`."""
    if not arguments and "attribute" in named:
        get = _getter(named.pop("attribute"), named.pop("default", None))
        if named:
            fail(f"Unexpected keyword argument {next(iter(named))!r}")
    elif not arguments:
        fail("map requires a filter argument")
    else:
        chosen = _BY_NAME.get(arguments[0]) or fail(f"No filter named {arguments[0]!r}.")

        def get(item: Any) -> Any:
            return chosen(item, *arguments[1:], **named)

    return (get(item) for item in value) if value else iter(())


def _choose(wanted: bool, by_attribute: bool) -> Callable[..., Iterator[Any]]:
    def chosen(value: Any, *arguments: Any) -> Iterator[Any]:
        get: Callable[[Any], Any] = _same
        if by_attribute:
            if not arguments:
                fail("Missing parameter for attribute name")
            get, arguments = _getter(arguments[0]), arguments[1:]
        test: Callable[..., Any] = bool
        if arguments:
            test = TESTS.get(arguments[0]) or fail(f"No test named {arguments[0]!r}.")
        rest = arguments[1:]
        if not value:
            return iter(())
        return (item for item in value if bool(test(get(item), *rest)) is wanted)

    return chosen


def _getter(name: Any, default: Any = None) -> Callable[[Any], Any]:
    parts: list[Any] = [name]
    if isinstance(name, str):
        parts = [int(part) if part.isdigit() else part for part in name.split(".")]

    def get(item: Any) -> Any:
        for part in parts:
            item = subscript(item, part)
            if isinstance(item, Undefined) and default is not None:
                item = default
        return item

    return get


def _same(value: Any) -> Any:
    return plain(value)


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else plain(value)


def is_iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return True


def is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _is_number(value: Any) -> bool:
    return isinstance(plain(value), int | float)


def _is_integer(value: Any) -> bool:
    return isinstance(plain(value), int) and not isinstance(value, bool)


def _within(value: Any, values: Iterable[Any]) -> bool:
    return plain(value) in values


FILTERS: dict[str, Callable[..., Any]] = {
    **MARKUP,
    "__default": default,
    "abs": absolute,
    "attr": attr,
    "center": lambda value, width=80: str(value).center(width),
    "capitalize": lambda value: str(value).capitalize(),
    "count": length,
    "dictsort": dictsort,
    "e": escape,
    "escape": escape,
    "first": first,
    "float": number,
    "indent": indent,
    "int": integer,
    "items": items,
    "join": join,
    "last": last,
    "length": length,
    "list": lambda value: list(plain(value)),
    "lower": lambda value: str(value).lower(),
    "map": apply,
    "reject": _choose(wanted=False, by_attribute=False),
    "rejectattr": _choose(wanted=False, by_attribute=True),
    "replace": replace,
    "reverse": reverse,
    "select": _choose(wanted=True, by_attribute=False),
    "selectattr": _choose(wanted=True, by_attribute=True),
    "sort": sort,
    "string": lambda value: value if hasattr(value, "__html__") else str(value),
    "title": title,
    "tojson": tojson,
    "trim": trim,
    "truncate": truncate,
    "unique": unique,
    "upper": lambda value: str(value).upper(),
    "wordcount": lambda value: len(re.findall(r"\w+", str(value))),
    "wordwrap": wordwrap,
}

# What `map` finds: there the translation has not been.
_BY_NAME = {**FILTERS, "default": default, "d": default}

_EQUAL: Callable[..., Any] = operator.eq
# Those that the package has, too, are for `select` and its kin alone; `OWN` are for both.
OWN: dict[str, Callable[..., Any]] = {
    "callable": callable,
    "defined": lambda value: not isinstance(value, Undefined),
    "float": lambda value: isinstance(plain(value), float),
    "integer": _is_integer,
    "iterable": is_iterable,
    "mapping": lambda value: isinstance(value, Mapping),
    "number": _is_number,
    "sequence": is_sequence,
    "string": lambda value: isinstance(value, str),
    "undefined": lambda value: isinstance(value, Undefined),
}
TESTS: dict[str, Callable[..., Any]] = {
    **OWN,
    **dict.fromkeys(("eq", "equalto", "=="), _EQUAL),
    **dict.fromkeys(("ne", "!="), operator.ne),
    **dict.fromkeys(("lt", "lessthan", "<"), operator.lt),
    **dict.fromkeys(("gt", "greaterthan", ">"), operator.gt),
    **dict.fromkeys(("le", "<="), operator.le),
    **dict.fromkeys(("ge", ">="), operator.ge),
    "boolean": lambda value: isinstance(value, bool),
    "divisibleby": lambda value, by: plain(value) % plain(by) == 0,
    "even": lambda value: plain(value) % 2 == 0,
    "false": lambda value: value is False,
    "in": _within,
    "lower": lambda value: str(value).islower(),
    "none": lambda value: value is None,
    "odd": lambda value: plain(value) % 2 == 1,
    "true": lambda value: value is True,
    "upper": lambda value: str(value).isupper(),
}
