"""The ASGI application: identity, then the route's handler, then typed errors.

It stands in front of Starlette's parts instead of being a stack of middleware, because each request
passes here and a layer costs as much as encoding a short text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import TokenizerError
from ..tenants.errors import Cancelled, TooManyRequests
from .auth.identity import Identity
from .dialects import shaped
from .errors import BadRequest, MethodNotAllowed, NotFound
from .http.connections import PROBES
from .observe import trace
from .requests.at_once import AtOnce
from .requests.body_budget import LARGE, Bodies
from .requests.endpoint import CALL, Call
from .requests.head import Head
from .requests.record import Exchange, route_class
from .requests.request_id import HEADER, request_id
from .requests.responses import failure, refusal
from .scheduling.executor import watch

__all__ = ["App", "create_app"]

Endpoint = Callable[[Request], Awaitable[Response]]

OPEN: Final = frozenset({"/", "/health", "/ready"})
"""What is answered without a key. A load balancer has none, and the page asks for one."""

LATE_SECONDS: Final = 0.1
"""How long an address that has sent too many wrong keys waits for each answer. A refusal is work on
the event loop, and a client that guesses keys sends the next one as soon as it is refused."""


def create_app(service: Any, routes: Sequence[BaseRoute] | None = None) -> App:
    """`routes`: other ones than those of all parts."""
    if routes is None:
        from .routes import routes_of

        routes = routes_of(service)
    return App(service, routes)


class State:
    """The object `request.app.state` of handlers, as in Starlette."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.bodies = Bodies(service.config.bounds.body_bytes)


class App:
    def __init__(self, service: Any, routes: Sequence[BaseRoute]) -> None:
        self.state = State(service)
        self.routes = tuple(routes)
        self._service = service
        self._identity = Identity(service)
        # For protocols that can answer a request before any object of ASGI exists.
        self.at_once = AtOnce(service, self._identity, routes, self.state.bodies, self._count)
        self._open = OPEN | ({"/metrics"} if service.config.metrics.open else set())
        # Most requests are for a path without parameters: one look-up instead of a search.
        self._plain = {
            route.path: route
            for route in reversed(self.routes)
            if isinstance(route, Route) and "{" not in route.path
        }
        self._others = [
            route
            for route in self.routes
            if not (isinstance(route, Route) and route.path in self._plain)
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "websocket":
            await self._websocket(scope, receive, send)
        elif kind == "lifespan":
            await _lifespan(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A request that the protocol has read, and that has to wait.
        call: Call | None = scope.get(CALL)
        exchange = _begin(self, scope, scope["method"]) if call is None else call.exchange
        sender = _Sender(send, exchange, self._service)
        watch(receive)
        try:
            if call is None:
                await self._routed(scope, receive, sender, exchange)
            else:
                with self._service.lifecycle.entered():
                    response = await call.response(self._service)
                    await response(scope, receive, sender)
        except TokenizerError as error:
            await _refuse(error, scope, receive, sender, exchange)
        except Exception as error:
            await _refuse(failure(error, exchange.route), scope, receive, sender, exchange)
        except asyncio.CancelledError:
            lifecycle = self._service.lifecycle
            if not lifecycle.draining:
                raise
            # The drain's seconds are over. uvicorn would log a traceback, and answer with a 500.
            await _refuse(lifecycle.error(), scope, receive, sender, exchange)
        finally:
            self._end(exchange)

    async def _routed(
        self, scope: Scope, receive: Receive, sender: _Sender, exchange: Exchange
    ) -> None:
        path: str = scope["path"]
        check_path(scope)
        route, endpoint = self._find(scope, path)
        exchange.route = route_class(route.path)
        with trace.span(exchange.route, exchange.trace) as made:
            try:
                await self._identify(scope, exchange, path)
                with self._entered(path):
                    response = await endpoint(Request(scope, receive, sender))
                    await response(scope, receive, sender)
            except TokenizerError as error:
                await _refuse(error, scope, receive, sender, exchange)
            trace.end(made, exchange.status, exchange.error)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _begin(self, scope, "GET")
        sender = _Sender(send, exchange, self._service)
        try:
            check_path(scope)
            route = self._find_websocket(scope)
            exchange.route = route_class(route.path)
            await self._identify(scope, exchange, scope["path"])
            with self._entered(scope["path"]):
                # Starlette's routes would answer errors themselves.
                await route.endpoint(WebSocket(scope, receive, sender))
        except TokenizerError as error:
            await _refuse_websocket(error, scope, receive, sender, exchange)
        except WebSocketDisconnect:
            exchange.error = "cancelled"
        except Exception as error:
            failed = failure(error, exchange.route)
            await _refuse_websocket(failed, scope, receive, sender, exchange)
        finally:
            self._end(exchange)

    async def _identify(self, scope: Scope, exchange: Exchange, path: str) -> None:
        try:
            caller = self._identity.caller(
                scope["state"]["head"], exchange.client, open_route=path in self._open
            )
        except TooManyRequests:
            await asyncio.sleep(LATE_SECONDS)
            raise
        exchange.caller = caller
        scope["state"]["caller"] = caller

    def _entered(self, path: str) -> AbstractContextManager[Any]:
        if path in PROBES:
            return nullcontext()
        entered: AbstractContextManager[Any] = self._service.lifecycle.entered()
        return entered

    def _find(self, scope: Scope, path: str) -> tuple[Route, Endpoint]:
        method: str = scope["method"]
        allowed: set[str] = set()
        route: BaseRoute | None = self._plain.get(path)
        if route is not None:
            assert isinstance(route, Route)
            if route.methods is None or method in route.methods:
                scope["path_params"] = {}
                return route, route.endpoint
            allowed |= route.methods
        for other in self._others:
            if not isinstance(other, Route):
                continue
            match, found = other.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                return other, other.endpoint
            if match is Match.PARTIAL:
                allowed |= other.methods or set()
        if not allowed:
            raise NotFound("there is nothing at this path")
        raise _not_allowed(method, allowed)

    def _find_websocket(self, scope: Scope) -> WebSocketRoute:
        for route in self._others:
            if isinstance(route, WebSocketRoute):
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    return route
        raise NotFound("there is no WebSocket at this path")

    def _end(self, exchange: Exchange) -> None:
        exchange.let_go()
        self._count(exchange)

    def _count(self, exchange: Exchange) -> None:
        exchange.seconds = time.perf_counter() - exchange.started
        metrics = getattr(self._service, "metrics", None)
        if metrics is not None:
            metrics.request(exchange)
        access_log = getattr(self._service, "access_log", None)
        if access_log is not None:
            access_log.write(exchange)


def _begin(app: App, scope: Scope, method: str) -> Exchange:
    client = scope.get("client")
    exchange = Exchange(method, client=client[0] if client else None, bodies=app.state.bodies)
    head = Head(scope["headers"])
    exchange.request_id = request_id(head.get(HEADER))
    exchange.trace = trace.read(head.get(b"traceparent"))
    scope["app"] = app
    scope.setdefault("state", {}).update(exchange=exchange, head=head)
    return exchange


# Bytes of a body that are written at once: writing some megabytes takes a millisecond.
_PART: Final = 64 << 10


class _Sender:
    """Records what is sent: the status, how many bytes, and whether sending has begun. Large bodies
    are sent in parts, between which the event loop serves other requests, and are counted as long
    as they are in memory."""

    __slots__ = ("_exchange", "_send", "_service", "_start", "begun")

    def __init__(self, send: Send, exchange: Exchange, service: Any) -> None:
        self._send = send
        self._exchange = exchange
        self._service = service
        # Sent with the first part of the body, for which there may be no room.
        self._start: Message | None = None
        self.begun = False

    async def __call__(self, message: Message) -> None:
        """TooManyRequests, Overloaded, QuotaExceeded: there is no room for so large an answer."""
        kind, exchange = message["type"], self._exchange
        if kind in ("http.response.start", "websocket.http.response.start"):
            exchange.status = message["status"]
            self._start = self._with_id(message)
        elif kind == "websocket.accept":
            self.begun = True
            exchange.status = 101
            await self._send(self._with_id(message))
        elif kind == "websocket.send":
            text = message.get("text")
            size = len(message["bytes"] if text is None else text.encode())
            exchange.hold_answer(size)
            exchange.sent += size
            await self._send(message)
            exchange.let_go()
        else:
            body = message.get("body", b"")
            exchange.hold_answer(len(body))
            if self._start is not None:
                start, self._start = self._start, None
                self.begun = True
                await self._send(start)
            exchange.sent += len(body)
            if len(body) > _PART:
                message = await self._sent_in_parts(message, body)
            await self._send(message)

    def _with_id(self, message: Message) -> Message:
        line = HEADER, self._exchange.request_id
        return {**message, "headers": [*message.get("headers", ()), line]}

    async def _sent_in_parts(self, message: Message, body: bytes) -> Message:
        """Sends all parts of the body but the last one; returns the message with that. Cancelled:
        the client is slower than a sender of a body may be."""
        bodies, bounds = self._exchange.bodies, self._service.config.bounds
        parts = memoryview(body)
        begin = asyncio.get_running_loop().time() + bounds.header_seconds
        try:
            async with asyncio.timeout_at(begin) as clock:
                while len(parts) > _PART:
                    part = bytes(parts[:_PART])
                    await self._send({**message, "body": part, "more_body": True})
                    parts = parts[_PART:]
                    sent = len(body) - len(parts)
                    clock.reschedule(begin + sent / bounds.body_bytes_per_second)
                    if bodies is not None and len(body) > LARGE:
                        await bodies.row.turn()
        except TimeoutError:
            raise Cancelled("the client takes the answer too slowly") from None
        return {**message, "body": bytes(parts)}


async def _refuse(
    error: TokenizerError, scope: Scope, receive: Receive, sender: _Sender, exchange: Exchange
) -> None:
    exchange.error = error.kind
    if sender.begun:
        # The server below closes the connection before the end, so the client sees the failure.
        return
    body = shaped(error, scope["path"], exchange.dialect)
    await refusal(error, body)(scope, receive, sender)


def _not_allowed(method: str, allowed: set[str]) -> MethodNotAllowed:
    error = MethodNotAllowed(f"this path is not for {method[:20]}")
    error.feature = ", ".join(sorted(allowed))
    return error


def check_path(scope: Scope) -> None:
    """The server below has replaced what is not UTF-8: two paths would then be one."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None or b"%" not in raw:
        return
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"the path is not UTF-8: {error.reason}") from None
    if not path.isprintable():
        raise BadRequest("the path has control characters")


async def _refuse_websocket(
    error: TokenizerError, scope: Scope, receive: Receive, sender: _Sender, exchange: Exchange
) -> None:
    """Before it is accepted a socket is HTTP, and is refused as such where the server can."""
    exchange.error = error.kind
    if sender.begun:
        await sender({"type": "websocket.close", "code": 1011, "reason": error.kind})
    elif "websocket.http.response" in scope.get("extensions", {}):
        await refusal(error)(scope, receive, sender)
    else:
        exchange.status = 403
        await sender({"type": "websocket.close", "code": 1008, "reason": error.kind})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
