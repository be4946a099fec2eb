"""What a template may see: plain data, made from whatever the caller has.

The objects of a caller are read, never kept and never changed. Data that is plain already, as
nearly all is, goes to the renderer in one call of C code; only where that refuses is it made plain
here, by the rules of transformers 5.
"""

from __future__ import annotations

import dataclasses
import marshal
import sys
from collections.abc import Mapping
from typing import Any, Final

from ..._host.template.core import has_deep_stack
from ..._host.wasm.status import lone_surrogate
from ...errors import TemplateLimitExceeded

__all__ = ["DEEPEST", "is_object", "pack", "pack_plain", "place", "plain"]

# The fourth version of the format: short strings without a copy, references to what was written
# before, and the same in every release of Python.
_VERSION: Final = 4
# Deeper than any limit that is sensible; `marshal` takes some 200 bytes of stack for each level.
DEEPEST: Final = 256


def pack(request: Mapping[str, Any]) -> bytes:
    """The request for the renderer; may hold what the renderer refuses as not plain."""
    if not has_deep_stack():
        # `marshal` looks for no end of the stack: 2000 levels would be the end of the process.
        return pack_plain(request)
    try:
        return marshal.dumps(request, _VERSION)  # type: ignore[arg-type]
    except ValueError:
        # An object of a class of its own, or data that is nested too deep.
        return pack_plain(request)


def pack_plain(request: Mapping[str, Any]) -> bytes:
    """The same after a look at every object in it."""
    return marshal.dumps(plain(request), _VERSION)


def plain(value: Any, path: tuple[object, ...] = ()) -> Any:
    """A copy of plain types: what is neither data nor holds data becomes `<TypeName>`."""
    if isinstance(value, str):
        return _text(str.__str__(value), path)
    if value is None or isinstance(value, int | float):
        return _number(value)
    if len(path) > DEEPEST:
        raise TemplateLimitExceeded(
            f"the request is deeper than {DEEPEST} levels", feature="depth", path=place(path)
        )
    if isinstance(value, Mapping):
        return {plain(key, (*path, key)): plain(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, tuple):
        return tuple(plain(item, (*path, index)) for index, item in enumerate(value))
    return _of_object(value, path)


def _number(value: Any) -> Any:
    """Without what a class of its own adds to it."""
    if value is None or type(value) is bool:
        return value
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def _of_object(value: Any, path: tuple[object, ...]) -> Any:
    # A program that holds a scalar of numpy has imported it.
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        item = value.item()
        # Python has no type for the longest numbers.
        if isinstance(item, numpy.floating):
            item = float(item)
        return f"<{type(value).__name__}>" if isinstance(item, numpy.generic) else plain(item, path)
    if not is_object(value):
        return f"<{type(value).__name__}>"
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name), (*path, field.name))
            for field in dataclasses.fields(value)
        }
    # The path grows: what gives objects for ever ends at a limit.
    return plain(value.model_dump(), (*path, "model_dump()"))


def is_object(value: Any) -> bool:
    """Whether it has fields: of a dataclass, or of a model of pydantic."""
    has_fields = dataclasses.is_dataclass(value) or callable(getattr(value, "model_dump", None))
    return has_fields and not isinstance(value, type)


def _text(text: str, path: tuple[object, ...]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as found:
        raise lone_surrogate(text, found, place(path)) from None
    return text


def place(path: tuple[object, ...]) -> str:
    """`messages[2].content`"""
    text = ""
    for step in path:
        if isinstance(step, str) and step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text
