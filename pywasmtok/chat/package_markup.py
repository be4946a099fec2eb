"""Filters of jinja2 that write markup or addresses, for the package `minijinja`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

from ..errors import UnsupportedTemplateFeature
from .package_operators import escape
from .package_values import Undefined, fail, plain

__all__ = ["FILTERS"]

_NO_KEY = re.compile(r"[\s/>=]", re.ASCII)


def urlencode(value: Any) -> str:
    value = plain(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        return _quoted(value, quote, b"/")
    pairs = value.items() if isinstance(value, Mapping) else value
    return "&".join(
        f"{_quoted(key, quote_plus)}={_quoted(item, quote_plus)}" for key, item in pairs
    )


def _quoted(value: Any, quoting: Callable[..., str], safe: bytes = b"") -> str:
    value = plain(value)
    return quoting(value if isinstance(value, bytes) else str(value).encode(), safe)


def xmlattr(value: Any, autospace: bool = True) -> str:
    parts = []
    for key, item in value.items():
        if item is None or isinstance(item, Undefined):
            continue
        if _NO_KEY.search(key):
            fail(f"Invalid character in attribute name: {key!r}")
        parts.append(f'{escape(key)}="{escape(item)}"')
    return (" " if autospace and parts else "") + " ".join(parts)


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedTemplateFeature(
            f"the filter {name} is not supported", feature=f"filter {name}"
        )

    return refuse


FILTERS: dict[str, Callable[..., Any]] = {
    "random": _refused("random"),
    "urlencode": urlencode,
    "urlize": _refused("urlize"),
    "xmlattr": xmlattr,
}
