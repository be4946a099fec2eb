"""What a tenant has used; and, for admins, tenants, their keys, and a check of the store."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from ..auth.identity import need_admin
from ..auth.keys import make_key
from ..contract import LOCAL, KeyRecord, TenantRecord
from ..errors import Conflict, NotFound
from ..limits import changed, limits_of
from ..names import check_tenant
from ..requests import body
from .answers import json_bytes, json_response
from .operation import Operation
from .shapes import (
    Key,
    KeyMade,
    NewKey,
    TenantChange,
    TenantInfo,
    Tenants,
    TenantUsage,
    Usage,
    Verified,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...tenants.contract import Usage as UsageOfTenant
    from ..contract import Store
    from ..service import Service

__all__ = ["operations"]


async def usage(request: Request, service: Service) -> Response:
    caller = request.state.caller
    tenant = service.tenant(caller.tenant)
    known = await asyncio.to_thread(service.usage, caller.tenant)
    mine = [one for one in service.listed(caller) if not one.public]
    return json_response(
        json_bytes(
            Usage(
                **_numbers(known),
                tenant=caller.tenant,
                stored_bytes=sum(one.info.bytes for one in mine),
                tokenizers=len(mine),
                limits=limits_of(tenant.limits),
            )
        )
    )


async def listing(request: Request, service: Service) -> Response:
    need_admin(request)

    def read() -> bytes:
        keys = service.store.keys()
        found = [_info(record, keys) for record in service.store.tenants()]
        return json_bytes(Tenants(tenants=found))

    return json_response(await asyncio.to_thread(read))


async def info(request: Request, service: Service) -> Response:
    need_admin(request)
    name = request.path_params["name"]
    return json_response(await asyncio.to_thread(_read, service, name))


async def put(request: Request, service: Service) -> Response:
    need_admin(request)
    asked = await body.read_json(request, TenantChange)
    name = check_tenant(request.path_params["name"])
    store = service.store
    if asked.disabled:
        _require_not_the_only(service, name)

    def made_from(old: TenantRecord | None) -> TenantRecord:
        if old is None:
            old = TenantRecord(name, service.default_limits(), time.time())
        disabled = old.disabled if asked.disabled is None else asked.disabled
        return replace(old, limits=changed(old.limits, asked.limits), disabled=disabled)

    def change() -> bytes:
        store.change_tenant(name, made_from)
        return _read(service, name)

    return json_response(await asyncio.to_thread(change))


async def delete(request: Request, service: Service) -> Response:
    need_admin(request)
    name = request.path_params["name"]
    _require_not_the_only(service, name)

    def change() -> None:
        _existing(service.store, name)
        service.store.remove_tenant(name)

    await asyncio.to_thread(change)
    return Response(status_code=204)


async def new_key(request: Request, service: Service) -> Response:
    need_admin(request)
    asked = await body.read_json(request, NewKey)
    name, store = request.path_params["name"], service.store

    def change() -> bytes:
        _existing(store, name)
        key, record = make_key(name)
        keep = asked.keep_old_seconds
        store.put_key(record, keep_others=None if keep is None else max(0.0, keep))
        return json_bytes(KeyMade(id=record.id, key=key))

    return json_response(await asyncio.to_thread(change))


async def delete_key(request: Request, service: Service) -> Response:
    need_admin(request)
    name, id = request.path_params["name"], request.path_params["id"]

    def change() -> None:
        if not any(key.id == id and key.tenant == name for key in service.store.keys()):
            raise NotFound(f"{name!a:.80} has no key {id!a:.80}")
        service.store.remove_key(id)

    await asyncio.to_thread(change)
    return Response(status_code=204)


async def verify(request: Request, service: Service) -> Response:
    need_admin(request)
    found = await service.checks.now()
    return json_response(
        json_bytes(
            Verified(
                problems=found.problems,
                set_aside=found.set_aside,
                files=found.files,
                bytes=found.bytes,
            )
        )
    )


def _require_not_the_only(service: Service, name: str) -> None:
    if name == LOCAL and not service.config.needs_keys:
        raise Conflict(f"without keys every request is of the tenant {LOCAL}: it has to stay")


def _find(store: Store, name: str) -> TenantRecord | None:
    return next((record for record in store.tenants() if record.name == name), None)


def _existing(store: Store, name: str) -> TenantRecord:
    record = _find(store, name)
    if record is None:
        raise NotFound(f"there is no tenant {name!a:.80}")
    return record


def _read(service: Service, name: str) -> bytes:
    store = service.store
    found = _info(_existing(store, name), store.keys())
    found.usage = TenantUsage(**_numbers(service.usage(name)))
    return json_bytes(found)


def _numbers(known: UsageOfTenant) -> dict[str, Any]:
    numbers = asdict(known)
    numbers["memory_bytes"] = numbers.pop("memory")
    return numbers


def _info(record: TenantRecord, keys: list[KeyRecord]) -> TenantInfo:
    return TenantInfo(
        name=record.name,
        limits=limits_of(record.limits),
        created=record.created,
        disabled=record.disabled,
        keys=[
            Key(id=key.id, created=key.created, expires=key.expires)
            for key in keys
            if key.tenant == record.name
        ],
    )


operations: Final = (
    Operation(
        "GET", "/usage", "usage", "What the caller has had done, and its limits", usage, gives=Usage
    ),
    Operation("GET", "/tenants", "list_tenants", "All tenants", listing, gives=Tenants, admin=True),
    Operation(
        "GET",
        "/tenants/{name}",
        "tenant_info",
        "A tenant, its limits and its keys",
        info,
        gives=TenantInfo,
        refuses=(404,),
        admin=True,
    ),
    Operation(
        "PUT",
        "/tenants/{name}",
        "put_tenant",
        "Makes a tenant, or changes the limits that are named",
        put,
        takes=TenantChange,
        gives=TenantInfo,
        example={"limits": {"concurrent": 4, "calls": {"deadline": 0.5}}},
        refuses=(409, 413),
        admin=True,
    ),
    Operation(
        "DELETE",
        "/tenants/{name}",
        "delete_tenant",
        "A tenant with its keys and its tokenizers",
        delete,
        status=204,
        refuses=(404, 409),
        admin=True,
    ),
    Operation(
        "POST",
        "/tenants/{name}/keys",
        "new_key",
        "A new key, which is shown this once",
        new_key,
        takes=NewKey,
        gives=KeyMade,
        example={"keep_old_seconds": 3600},
        refuses=(404, 413),
        admin=True,
    ),
    Operation(
        "DELETE",
        "/tenants/{name}/keys/{id}",
        "delete_key",
        "A key that is no longer good",
        delete_key,
        status=204,
        refuses=(404,),
        admin=True,
    ),
    Operation(
        "POST",
        "/store/verify",
        "verify_store",
        "Reads all records and files, and sets aside what is damaged",
        verify,
        gives=Verified,
        admin=True,
    ),
)
