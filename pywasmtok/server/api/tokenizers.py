"""Tokenizers of a tenant: list, look at, upload, delete, call by another name."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from starlette.responses import Response

from ...tenants.contract import FileInfo
from ...tenants.errors import Cancelled, UnknownTokenizer
from ...tenants.loads import START
from ..contract import PUBLIC, AliasRecord, Caller, Listed
from ..errors import BadRequest, Forbidden
from ..names import check_alias, is_digest
from ..requests import body
from ..requests.record import LAST_WORDS
from ..store.failures import typed_errors
from .answers import json_bytes, json_response
from .operation import Operation, Parameter
from .shapes import Alias, TokenizerInfo, Tokenizers

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..service import Service

__all__ = ["ACTIONS", "operations"]

ACTIONS: Final = LAST_WORDS | {"chat", "render"}
"""Last words of paths below a tokenizer: names that end so would be taken for another's path."""

_CHANGE: Final = 64 << 10
"""Bytes that a change of a record counts for: it is on the disk before it is answered, and every
process reads it."""


async def listing(request: Request, service: Service) -> Response:
    found = service.listed(request.state.caller)
    return json_response(json_bytes(Tokenizers(tokenizers=[_info(one) for one in found])))


async def info(request: Request, service: Service) -> Response:
    served = service.find(request.state.caller, request.path_params["name"])
    return _answer(service, request.state.caller, served.digest, request.path_params["name"])


async def upload(request: Request, service: Service) -> Response:
    caller: Caller = request.state.caller
    tenant = service.tenant(_owner(caller))
    name = _checked_name(request.path_params["name"])
    options = _options(request)
    limits = tenant.limits
    most = min(service.config.bounds.upload_bytes, limits.calls.file_bytes)
    places = request.app.state.bodies.upload(tenant.name, max(1, limits.concurrent))
    # Slow uploads wait on the disk and not in memory. Making a file may wait for the disk, too.
    with places, typed_errors(), await asyncio.to_thread(tempfile.TemporaryFile) as file:
        length = await body.read_into(request, file.write, most)

        def add() -> Callable[[], str]:
            file.seek(0)
            start = file.read(START)
            with tenant.reading(length, start):
                file.seek(0)
                return partial(keep, service.add(tenant, file.read(), options, name))

        def keep(info: FileInfo) -> str:
            try:
                file.seek(0)
                data = file.read()
            except ValueError:
                tenant.remove(info.digest)
                raise Cancelled("the client has left") from None
            return service.keep(tenant, info, data, options, name)

        digest = await service.change(tenant, length, add, operation="upload")
    return _answer(service, caller, digest, name)


async def delete(request: Request, service: Service) -> Response:
    """The name; with the last name, or by its digest, the file."""
    caller: Caller = request.state.caller
    owner, name = _owner(caller), request.path_params["name"]
    mine = {one.info.digest: one for one in service.listed(caller) if not one.public}
    digest = name if is_digest(name) else _digest_of(mine, name)
    if digest not in mine:
        _refuse_public(service, caller, name)
        raise UnknownTokenizer(f"no tokenizer of yours is called {name!a:.140}")
    store = service.store

    def change() -> None:
        if name == digest:
            store.remove_tokenizer(owner, digest)
        else:
            store.remove_name(owner, name)

    await _changed(request, owner, change)
    return Response(status_code=204)


async def put_alias(request: Request, service: Service) -> Response:
    caller: Caller = request.state.caller
    asked = await body.read_json(request, Alias)
    owner, name = _owner(caller), _checked_name(request.path_params["name"])
    served = service.find(caller, asked.tokenizer)
    if not any(one.info.digest == served.digest for one in _own(service, caller)):
        raise Forbidden(
            "only tokenizers of your own can have names of your own", path="$.tokenizer"
        )

    def change() -> None:
        service.store.put_alias(AliasRecord(owner, name, served.digest))

    await _changed(request, owner, change)
    return _answer(service, caller, served.digest, name)


async def delete_alias(request: Request, service: Service) -> Response:
    """The name alone: the tokenizer stays, under its other names and its digest."""
    caller: Caller = request.state.caller
    owner, name = _owner(caller), request.path_params["name"]
    if not any(name in one.aliases for one in _own(service, caller)):
        _refuse_public(service, caller, name)
        raise UnknownTokenizer(f"no tokenizer of yours is called {name!a:.140}")

    def change() -> None:
        service.store.remove_alias(owner, name)

    await _changed(request, owner, change)
    return Response(status_code=204)


async def _changed(request: Request, owner: str, change: Callable[[], None]) -> None:
    service: Service = request.app.state.service
    tenant = service.tenant(owner)
    with request.app.state.bodies.upload(owner, max(1, tenant.limits.concurrent)):
        await service.change(tenant, _CHANGE, lambda: change)


def _owner(caller: Caller) -> str:
    if caller.tenant == PUBLIC:
        raise Forbidden(
            "the operator's own tokenizers are those of the configuration",
            hint="Upload with a tenant's key",
        )
    return caller.tenant


def _own(service: Service, caller: Caller) -> list[Listed]:
    return [one for one in service.listed(caller) if not one.public]


def _digest_of(mine: dict[str, Listed], name: str) -> str:
    found = (digest for digest, one in mine.items() if name in one.aliases)
    return next(found, "")


def _refuse_public(service: Service, caller: Caller, name: str) -> None:
    for one in service.listed(caller):
        if one.public and (name in one.aliases or name == one.info.digest):
            raise Forbidden(f"{name} is the operator's, and every tenant's to use")


def _checked_name(name: str) -> str:
    if name.rpartition("/")[2] in ACTIONS:
        raise BadRequest(
            f"the name of a tokenizer cannot end with {name.rpartition('/')[2]}",
            hint=f"Paths do: {', '.join(sorted(ACTIONS))}",
        )
    return check_alias(name)


def _options(request: Request) -> dict[str, Any]:
    """How to read the file, out of the query: what `create_tokenizer_from_file` takes."""
    query = request.query_params
    unknown = set(query) - {one.name for one in _HOW}
    if unknown:
        raise BadRequest(
            f"{min(unknown)!a:.80} is no option of an upload",
            hint=f"There are {', '.join(one.name for one in _HOW)}",
        )
    options: dict[str, Any] = dict(query)
    if "special_tokens" in options:
        try:
            options["special_tokens"] = msgspec.json.decode(
                options["special_tokens"], type=dict[str, int]
            )
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRequest(f"special_tokens: {error}", hint='{"<|end|>": 100257}') from None
    return options


def _answer(service: Service, caller: Caller, digest: str, name: str) -> Response:
    for one in service.listed(caller):
        if one.info.digest == digest:
            return json_response(json_bytes(_info(one, name)), digest)
    raise UnknownTokenizer(f"no tokenizer is called {name!a:.140}")


def _info(one: Listed, name: str | None = None) -> TokenizerInfo:
    found = one.info
    return TokenizerInfo(
        name=name or (one.aliases[0] if one.aliases else found.digest),
        digest=found.digest,
        format=found.format,
        bytes=found.bytes,
        tokens=found.tokens,
        chat_template=found.chat_template,
        backend=found.backend,
        aliases=list(one.aliases),
        public=one.public,
        created=one.created,
    )


_HOW: Final = (
    Parameter("pattern", str, "Of a rank file: the expression that cuts text into pieces"),
    Parameter("special_tokens", str, "Of a rank file: names and ids, as a JSON object"),
    Parameter("encoding", str, "Of a rank file: the name of a known encoding, which says both"),
    Parameter("gguf_compat", Literal["llama.cpp", "hf"], "Of a GGUF file: whose answers to give"),
)

operations: Final = (
    Operation(
        "GET",
        "/tokenizers",
        "list_tokenizers",
        "The caller's tokenizers, and the public ones",
        listing,
        gives=Tokenizers,
    ),
    Operation(
        "GET",
        "/tokenizers/{name}",
        "tokenizer_info",
        "What is known of a tokenizer",
        info,
        gives=TokenizerInfo,
        refuses=(404,),
    ),
    Operation(
        "PUT",
        "/tokenizers/{name}",
        "upload",
        "A file of any format, under this name from now on; what is under way ends with the "
        "tokenizer that it began with",
        upload,
        takes_octets="The bytes of the file",
        gives=TokenizerInfo,
        parameters=_HOW,
        refuses=(403, 408, 413, 422, 429, 503, 504, 507),
    ),
    Operation(
        "DELETE",
        "/tokenizers/{name}",
        "delete_tokenizer",
        "The name; with the last name, or by its digest, the file",
        delete,
        status=204,
        refuses=(403, 404),
    ),
    Operation(
        "PUT",
        "/aliases/{name}",
        "put_alias",
        "Another name for a tokenizer; one that is taken points here from now on",
        put_alias,
        takes=Alias,
        gives=TokenizerInfo,
        example={"tokenizer": "mine"},
        refuses=(403, 404, 413),
    ),
    Operation(
        "DELETE",
        "/aliases/{name}",
        "delete_alias",
        "A name, and not what it stands for",
        delete_alias,
        status=204,
        refuses=(403, 404),
    ),
)
