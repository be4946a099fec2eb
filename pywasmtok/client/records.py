"""Requests about what a server keeps: tokenizers, names, usage, tenants, keys."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgument
from ..loading.sources.paths import as_path, read
from ..loading.sources.source import Request, SourceLike
from ..tokenizer.arguments import what_is_wrong_with
from .address import check_name, path_of
from .answers import NewKey, ServedTokenizer, Tenant, Usage, nothing, objects
from .call import BINARY, Answer, Call, document, get, put

__all__ = [
    "add_tenant",
    "alias",
    "delete",
    "make_key",
    "remove_alias",
    "remove_key",
    "remove_tenant",
    "tenant",
    "tenants",
    "tokenizer",
    "tokenizers",
    "upload",
    "usage",
]


def tokenizers() -> Call[list[ServedTokenizer]]:
    def found(answer: Answer) -> list[ServedTokenizer]:
        return [ServedTokenizer.of(one) for one in objects(answer.json(), "tokenizers")]

    return get("/tokenizers", found)


def tokenizer(name: str) -> Call[ServedTokenizer]:
    return get(path_of("tokenizers", check_name(name)), ServedTokenizer.read)


def upload(
    name: str,
    file: SourceLike | memoryview | bytearray,
    *,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    encoding: str | None,
    gguf_compat: str,
) -> Call[ServedTokenizer]:
    """The same file under the same name twice is the same as once."""
    Request(pattern, special_tokens, encoding, gguf_compat).checked()
    query = {"pattern": pattern, "encoding": encoding}
    if special_tokens is not None:
        query["special_tokens"] = json.dumps(dict(special_tokens))
    if gguf_compat != "llama.cpp":
        query["gguf_compat"] = gguf_compat
    said = {key: value for key, value in query.items() if value is not None}
    wrong = what_is_wrong_with(list(said.values()))
    if wrong is not None:
        raise wrong
    return Call(
        "PUT",
        path_of("tokenizers", check_name(name)),
        ServedTokenizer.read,
        _bytes_of(file),
        BINARY,
        query=said,
    )


def delete(name: str) -> Call[None]:
    return Call("DELETE", path_of("tokenizers", check_name(name)), nothing)


def alias(name: str, tokenizer: str) -> Call[ServedTokenizer]:
    body = {"tokenizer": check_name(tokenizer)}
    return put(path_of("aliases", check_name(name)), body, ServedTokenizer.read)


def remove_alias(name: str) -> Call[None]:
    return Call("DELETE", path_of("aliases", check_name(name)), nothing)


def usage() -> Call[Usage]:
    return get("/usage", Usage.read)


def tenants() -> Call[list[Tenant]]:
    def found(answer: Answer) -> list[Tenant]:
        return [Tenant.of(one) for one in objects(answer.json(), "tenants")]

    return get("/tenants", found)


def tenant(name: str) -> Call[Tenant]:
    return get(path_of("tenants", name), Tenant.read)


def add_tenant(name: str, limits: Mapping[str, Any] | None, disabled: bool | None) -> Call[Tenant]:
    if not (limits is None or isinstance(limits, Mapping)):
        raise InvalidArgument(f"limits are a mapping, not {type(limits).__name__}")
    body = {"limits": dict(limits or {}), "disabled": disabled}
    return put(path_of("tenants", name), body, Tenant.read)


def remove_tenant(name: str) -> Call[None]:
    return Call("DELETE", path_of("tenants", name), nothing)


def make_key(tenant: str, keep_old_seconds: float | None) -> Call[NewKey]:
    """Twice would be two keys."""
    body = document({"keep_old_seconds": keep_old_seconds})
    path = path_of("tenants", tenant, "keys")
    return Call("POST", path, NewKey.read, body, "application/json", repeatable=False)


def remove_key(tenant: str, id: str) -> Call[None]:
    return Call("DELETE", path_of("tenants", tenant, "keys", id), nothing)


def _bytes_of(file: SourceLike | memoryview | bytearray) -> bytes:
    """What is bytes is the file itself; a str or a Path says where it is."""
    if isinstance(file, bytes | bytearray | memoryview):
        return bytes(file)
    if not isinstance(file, str | os.PathLike):
        raise InvalidArgument(f"a file is bytes or a path, not {type(file).__name__}")
    return read(as_path(file), Request().bounds).data
