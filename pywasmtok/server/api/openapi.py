"""The OpenAPI 3.1 document, generated from the shapes that requests are read with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final, get_args

import msgspec

from ... import __version__
from ..requests.head import OCTETS
from .operation import Operation
from .shapes import Failed

__all__ = ["document"]

_TEMPLATE: Final = "#/components/schemas/{name}"

# Statuses that any operation can answer with.
_ALWAYS: Final = (400, 401, 500)

_PARAMETER: Final = re.compile(r"\{(\w+)\}")

_SHOWN: Final = {
    "name": "A name or a digest; slashes in it may be written as they are, or as %2F",
    "id": "What a list of keys shows of it",
}


def document(operations: Iterable[Operation]) -> bytes:
    known = list(operations)
    types = _types(known)
    (*schemas,), components = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    of = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    for one in known:
        paths.setdefault(f"/api/v1{one.path}", {})[one.method.lower()] = _operation(one, of)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "pywasmtok",
            "version": __version__,
            "description": "Tokenizers that many tenants share, each in a sandbox of its own.",
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A tenant's key, or an admin's. On loopback there may be none.",
                }
            },
        },
    }
    return msgspec.json.encode(whole)


def _types(known: list[Operation]) -> list[Any]:
    found: dict[Any, None] = {Failed: None}
    for one in known:
        for kind in (
            one.takes,
            one.gives,
            one.socket_takes,
            *(parameter.type for parameter in one.parameters),
        ):
            if kind is not None:
                found |= dict.fromkeys(get_args(kind) if _is_union(kind) else (kind,))
    return list(found)


def _is_union(kind: Any) -> bool:
    return hasattr(kind, "__or__") and bool(get_args(kind)) and not hasattr(kind, "__origin__")


def _operation(one: Operation, of: dict[Any, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": one.id,
        "summary": one.about,
        "tags": ["admin" if one.admin else one.path.split("/")[1]],
        "parameters": _parameters(one, of),
        "responses": {str(one.status): _answer(one, of), **_errors(one, of)},
    }
    content = _body(one, of)
    if content:
        said["requestBody"] = {"required": True, "content": content}
    if one.socket_takes is not None:
        said["x-websocket"] = {"message": of[one.socket_takes], "event": of[one.gives]}
    return said


def _parameters(one: Operation, of: dict[Any, Any]) -> list[dict[str, Any]]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": _SHOWN[name],
        }
        for name in _PARAMETER.findall(one.path)
    ]
    in_query = [
        {
            "name": parameter.name,
            "in": "query",
            "required": False,
            "schema": of[parameter.type],
            "description": parameter.about,
        }
        for parameter in one.parameters
    ]
    return in_path + in_query


def _body(one: Operation, of: dict[Any, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if one.takes is not None:
        content["application/json"] = {"schema": of[one.takes]}
        if one.example is not None:
            content["application/json"]["example"] = one.example
    if one.takes_octets is not None:
        content[OCTETS] = {"schema": {"description": one.takes_octets}}
    return content


def _answer(one: Operation, of: dict[Any, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"description": one.about}
    if one.gives is None:
        return said
    if one.gives_events:
        # A stream of events has no schema of its own: the data of each is one of these.
        said["description"] = "Events; the data of each is JSON"
        said["content"] = {"text/event-stream": {"x-event": of[one.gives]}}
        return said
    kinds = get_args(one.gives) if _is_union(one.gives) else (one.gives,)
    schema = of[kinds[0]] if len(kinds) == 1 else {"anyOf": [of[kind] for kind in kinds]}
    said["content"] = {"application/json": {"schema": schema}}
    if one.gives_octets is not None:
        said["content"][OCTETS] = {"schema": {"description": one.gives_octets}}
    return said


def _errors(one: Operation, of: dict[Any, Any]) -> dict[str, Any]:
    statuses = {*_ALWAYS, *one.refuses, *((403,) if one.admin else ())}
    if one.takes is not None or one.takes_octets is not None:
        statuses |= {408, 413, 415}
    content = {"application/json": {"schema": of[Failed]}}
    found = {
        str(status): {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses)
    }
    return {**found, "default": {"description": "An error of another kind", "content": content}}
