"""All operations, as routes and as a document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from ..requests.endpoint import Endpoint
from . import chats, reload, tenants, texts, tokenizers
from .answers import json_response
from .openapi import document
from .streams.desk import Desk
from .streams.socket import Sockets
from .streams.sse import Events

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..service import Service
    from .operation import Operation

__all__ = ["PREFIX", "operations", "routes"]

PREFIX: Final = "/api/v1"


def operations(desk: Desk) -> list[Operation]:
    """In the order of routes: longer paths first, since a shorter one would take them for a
    name."""
    return [
        *chats.operations,
        *texts.operations,
        Events(desk).operation(),
        *tokenizers.operations,
        *tenants.operations,
        *reload.operations,
    ]


def routes(service: Service) -> list[BaseRoute]:
    desk = Desk.of(service)
    known = operations(desk)
    described = document(known)

    async def openapi(request: Request) -> Response:
        return json_response(described)

    return [
        Route(f"{PREFIX}/openapi.json", openapi, methods=["GET"]),
        WebSocketRoute(_path("/tokenizers/{name}/stream"), Sockets(desk).endpoint),
        *(
            Route(_path(one.path), _endpoint(one, service), methods=[one.method], name=one.id)
            for one in known
        ),
    ]


def _path(path: str) -> str:
    """Names of tokenizers may have slashes; other names have none."""
    if path.startswith(("/tokenizers/", "/aliases/")):
        path = path.replace("{name}", "{name:path}")
    return PREFIX + path


def _endpoint(operation: Operation, service: Service) -> Callable[[Request], Awaitable[Response]]:
    handler = operation.handler
    if isinstance(handler, Endpoint):
        return handler

    async def endpoint(request: Request) -> Response:
        request.state.exchange.dialect = "own"
        return await handler(request, service)

    return endpoint
