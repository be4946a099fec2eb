"""Tools: from Python functions to the JSON that templates print, as transformers 5.23 does it.

A signature and a docstring in Google's style make `{"type": "function", "function": {...}}`.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from ..errors import InvalidArgument, TypeHintParsingException
from ..tokenizer.arguments import check_list
from .docstrings import describe

__all__ = ["get_json_schema", "tools_as_dicts"]

Schema = dict[str, Any]

_CONTAINERS: dict[object, str] = {list: "array", tuple: "array", dict: "object"}
_SCALARS: dict[object, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
}
# Classes of optional packages: a module that names one in a hint has imported it.
_MEDIA = {("PIL.Image", "Image"): "image", ("torch", "Tensor"): "audio"}


def tools_as_dicts(tools: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    """Dicts as they are, functions and methods as their schemas."""
    if tools is None:
        return None
    check_list("tools", tools)
    return [_tool(place, tool) for place, tool in enumerate(tools)]


def _tool(place: int, tool: object) -> dict[str, Any]:
    if isinstance(tool, dict):
        return tool
    if inspect.isfunction(tool) or inspect.ismethod(tool):
        return get_json_schema(tool)
    raise InvalidArgument(
        f"tools[{place}] is {type(tool).__name__}: neither a dict nor a function",
        hint="A function needs type hints and a docstring in Google's style",
    )


def get_json_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """What a template is told of a function."""
    name = getattr(function, "__name__", "operation")
    description, arguments, returned = describe(inspect.getdoc(function), name)
    parameters = _parameters(function, name)
    properties: dict[str, Schema] = parameters["properties"]
    answer = properties.pop("return", None)
    if answer is not None and returned is not None:
        answer["description"] = returned
    for argument, schema in properties.items():
        said = arguments.of(argument)
        if said.choices is not None:
            schema["enum"] = said.choices
        schema["description"] = said.text
    told: dict[str, Any] = {"name": name, "description": description, "parameters": parameters}
    if answer is not None:
        told["return"] = answer
    return {"type": "function", "function": told}


def _parameters(function: Callable[..., Any], name: str) -> Schema:
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        # Hints that are texts are evaluated, and so may raise anything.
        raise TypeHintParsingException(
            f"the type hints of the function {name} cannot be resolved: {error}"
        ) from error
    parameters = inspect.signature(function).parameters
    receiver = next(iter(parameters), None)
    if receiver not in {"self", "cls"} or parameters[receiver].annotation is not inspect._empty:
        receiver = None
    required = []
    for parameter in parameters.values():
        if parameter.name == receiver:
            continue
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeHintParsingException(
                f"the argument {parameter.name} of the function {name} has no type hint"
            )
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    properties: dict[str, Schema] = {}
    for argument, hint in hints.items():
        if argument == receiver:
            continue
        try:
            properties[argument] = schema_of(hint)
        except TypeHintParsingException:
            # No model writes what a function answers: it is left out rather than told wrongly.
            if argument != "return":
                raise
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def schema_of(hint: Any) -> Schema:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None:
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _of_enum(hint)
        return _of_plain(hint)
    if origin is Union or origin is types.UnionType:
        return _of_union(inner)
    if origin is Literal:
        if not inner or any(type(value) not in _SCALARS for value in inner):
            raise TypeHintParsingException(f"{hint!r} lists what is no scalar of JSON")
        return _of_values(list(inner))
    return _of_container(hint, origin, inner)


def _of_container(hint: Any, origin: Any, inner: tuple[Any, ...]) -> Schema:
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0])} if inner else {"type": "array"}
    if origin is tuple:
        return _of_tuple(hint, inner)
    if origin is dict:
        # Keys are strings in JSON, whatever the hint says of them.
        values = {"additionalProperties": schema_of(inner[1])} if len(inner) == 2 else {}
        return {"type": "object", **values}
    raise TypeHintParsingException(f"the type hint {hint!r} has no counterpart in JSON")


def _of_plain(hint: Any) -> Schema:
    if hint is Any:
        return {}
    if isinstance(hint, type):
        name = _SCALARS.get(hint) or _CONTAINERS.get(hint) or _media(hint)
        if name is not None:
            return {"type": name}
    raise TypeHintParsingException(
        f"the type hint {hint!r} has no counterpart in JSON",
        hint="Known are int, float, str, bool, None, list, tuple, dict, Any, Enum, Literal and "
        "unions of these. A schema written by hand can be passed in place of the function",
    )


def _media(hint: type) -> str | None:
    for (module, name), schema in _MEDIA.items():
        loaded = sys.modules.get(module)
        if loaded is not None and getattr(loaded, name, None) is hint:
            return schema
    return None


def _of_enum(hint: type[Enum]) -> Schema:
    values = [member.value for member in hint]
    if not values:
        raise TypeHintParsingException(f"the Enum {hint.__name__} has no members")
    if any(type(value) not in _SCALARS for value in values):
        raise TypeHintParsingException(
            f"the Enum {hint.__name__} has values that are no scalars of JSON: {values}"
        )
    return _of_values(values)


def _of_values(values: list[Any]) -> Schema:
    kinds = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


def _of_union(inner: tuple[Any, ...]) -> Schema:
    schemas = [schema_of(item) for item in inner if item is not type(None)]
    schema: Schema
    if len(schemas) == 1:
        schema = schemas[0]
    elif all(item.keys() == {"type"} and isinstance(item["type"], str) for item in schemas):
        kinds = sorted({item["type"] for item in schemas})
        schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    else:
        # What says more than a type must not lose it in a list of names.
        schema = {"anyOf": schemas}
    if type(None) in inner:
        schema["nullable"] = True
    return schema


def _of_tuple(hint: Any, inner: tuple[Any, ...]) -> Schema:
    if not inner:
        return {"type": "array"}
    if len(inner) == 1 or ... in inner:
        raise TypeHintParsingException(
            f"the type hint {hint!r} has no counterpart in JSON",
            hint="list[...] is for any number of elements",
        )
    return {"type": "array", "prefixItems": [schema_of(item) for item in inner]}
