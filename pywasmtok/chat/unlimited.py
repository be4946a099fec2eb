"""The same tokenizer without the truncation and the padding that its file states.

The file is a stranger's, and only sandboxes parse those. The core has found it good; here two
values are found in it by their brackets, and nothing is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["without", "without_limits"]

_NAMES: Final = ("truncation", "padding")

_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_OUTSIDE: Final = re.compile(_STRING + rb"|[][{}:,]", re.DOTALL)
_INSIDE: Final = re.compile(_STRING + rb"|[][{}]", re.DOTALL)

# A name of which each letter is escaped.
_LONGEST: Final = 2 + 6 * max(map(len, _NAMES))


def without_limits(tok: Tokenizer) -> Tokenizer:
    """transformers switches off the truncation and the padding that a tokenizer.json states; so the
    same file, where it states any, is loaded once more without them."""
    if tok.format != "tokenizer.json":
        return tok
    core, recipe = tok.core_backend, tok.recipe
    stated = _NAMES if core is None else tuple(name for name in _NAMES if core.info[name])
    if not stated:
        return tok
    data: Any = recipe.data
    cut = without(bytes(data), stated)
    if cut is None:
        return tok
    from ..factory import from_recipe

    return from_recipe(recipe._replace(data=cut))


def without(data: bytes, names: tuple[str, ...]) -> bytes | None:
    """A JSON object with null for these of its members; None: it has none of them."""
    found: dict[str, tuple[int, int]] = {}
    for name, start, end in _members(data):
        if name in names:
            found[name] = start, end
            if len(found) == len(names):
                break
    parts, at = [], 0
    for start, end in sorted(found.values()):
        if data[start:end].strip() != b"null":
            parts += [data[at:start], b"null"]
            at = end
    return b"".join((*parts, data[at:])) if parts else None


def _members(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, beginning and end of each value of a valid object, the outermost ones only."""
    at = depth = 0
    start = -1
    name = b""
    while found := (_OUTSIDE if depth == 1 else _INSIDE).search(data, at):
        at = found.end()
        sign = data[found.start()]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and sign == 0x22 and start < 0:
            name = found[0]
        elif depth == 1 and sign == 0x3A:
            start = at
        if start >= 0 and (depth == 0 or (depth == 1 and sign == 0x2C)):
            yield _named(name), start, found.start()
            start = -1


def _named(name: bytes) -> str:
    return str(json.loads(name)) if len(name) <= _LONGEST else ""
