"""Requests that are answered in the step that has read them, as bytes, without objects of ASGI.

What ASGI makes for each request (a scope, a task, awaitable functions, events) costs more than
encoding a short text. The readers and operations are those of the application. A request that has
to wait is given to the application as the object that was read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ...errors import TokenizerError
from ..dialects.errors import shaped
from ..observe import trace
from ..scheduling.executor import NotNowError
from .body_budget import FREE
from .endpoint import Begun, Call, Endpoint
from .head import Head
from .record import Exchange, route_class
from .request_id import HEADER, request_id
from .responses import failure, refusal

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ..auth.identity import Identity
    from ..auth.keys import KeyIndex
    from ..contract import Caller
    from ..service import Service
    from .body_budget import Bodies
    from .head import Headers

__all__ = ["MOST_BYTES", "Accepted", "AtOnce"]

Lines = Sequence[tuple[bytes, bytes]]

# Larger bodies have rarely arrived completely with their head.
MOST_BYTES: Final = 64 << 10

_OK: Final = 200
_ANSWER: Final = b"%b%b" + HEADER + b": %b\r\n\r\n%b"
_DIGITS: Final = 6
_PLAIN: Final = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("?#%")
_NAME: Final = "{name:path}"


class Accepted(Struct):
    """A request that may be answered at once when its body has come."""

    endpoint: Endpoint
    begun: Begun
    path: str
    route: str
    caller: Caller
    said_id: bytes | None
    """What `X-Request-ID` said."""
    trace: trace.Trace | None


class AtOnce:
    """One of an application; for the event loop."""

    def __init__(
        self,
        service: Service,
        identity: Identity,
        routes: Iterable[BaseRoute],
        bodies: Bodies,
        count: Callable[[Exchange], None],
    ) -> None:
        """`count` is called with each request that was answered here."""
        self._service = service
        self._identity = identity
        self._bodies = bodies
        self._count = count
        self.most = min(MOST_BYTES, service.config.bounds.body_bytes)
        # By the whole path, or by what comes before and behind a name in it.
        self._endpoints = {
            tuple(route.path.split(_NAME)): (route_class(route.path), route.endpoint)
            for route in routes
            if isinstance(route, Route) and isinstance(route.endpoint, Endpoint)
        }
        self._prefixes = {parts[0] for parts in self._endpoints if len(parts) > 1}
        # The first bytes of a response, valid while the server's own headers stay the same.
        self._lines: Lines = ()
        self._begin = _first_lines(_OK, ())

    def accepted(self, url: bytes, headers: Headers) -> Accepted | None:
        """What the head of a POST tells before its body has come. None: the application takes
        it."""
        path = url.decode("latin-1")
        found = self._endpoints.get((path,))
        name: str | None = None
        if found is None:
            name, found = self._named(path)
        if found is None or not _PLAIN.issuperset(path) or self._is_off():
            return None
        head = Head(headers)
        length = head.get(b"content-length") or b""
        if len(length) > _DIGITS or not length.isdigit() or int(length) > self.most:
            return None
        caller = self._identity.known(head) if head.is_common else None
        if caller is None:
            return None
        route, endpoint = found
        try:
            begun = endpoint.begun(self._service, head, name)
        except TokenizerError:
            return None
        sent = head.get(b"traceparent")
        traced = None if sent is None else trace.read(sent)
        return Accepted(endpoint, begun, path, route, caller, head.get(HEADER), traced)

    def _named(self, path: str) -> tuple[str, tuple[str, Endpoint] | None]:
        for prefix in self._prefixes:
            if path.startswith(prefix):
                name, slash, rest = path[len(prefix) :].partition("/")
                return name, self._endpoints.get((prefix, slash + rest)) if name else None
        return "", None

    def _is_off(self) -> bool:
        # With OpenTelemetry loaded, requests go through the application, where spans are made.
        return self._service.lifecycle.draining or "opentelemetry.trace" in sys.modules

    @property
    def keys(self) -> KeyIndex:
        """A new object whenever a key or a tenant has changed."""
        return self._service.keys

    def is_still_accepted(self, accepted: Accepted, keys: KeyIndex) -> bool:
        """Whether the same head would be accepted again: keys expire, servers drain, and the depth
        of JSON may have another bound. `keys`: of the time when it was."""
        key_id, service = accepted.caller.key_id, self._service
        is_good = key_id is None or keys.is_good(key_id)
        is_same = keys is service.keys and accepted.begun.depth == service.config.bounds.json_depth
        return is_good and is_same and not self._is_off()

    def answer(
        self, accepted: Accepted, body: bytes, client: str | None, lines: Lines
    ) -> bytes | Call:
        """`lines`: headers of every response of this server. A `Call`: the request has to wait, or
        its answer has to be sent in parts, and the application does that."""
        endpoint, service = accepted.endpoint, self._service
        exchange = Exchange(
            "POST",
            accepted.route,
            endpoint.dialect,
            caller=accepted.caller,
            request_id=request_id(accepted.said_id),
            trace=accepted.trace,
            client=client,
            received=len(body),
            bodies=self._bodies,
        )
        try:
            asked = endpoint.read(body, accepted.begun, exchange)
            call = endpoint.call(asked, accepted.begun, exchange, service)
            done = call.now(service)
        except NotNowError:
            return call
        except Exception as error:
            answer = _refused(error, exchange, accepted.path, lines)
        else:
            if len(done) > FREE:
                call.done = done
                return call
            exchange.status, exchange.sent = _OK, len(done)
            if lines is not self._lines:
                self._lines, self._begin = lines, _first_lines(_OK, lines)
            rows = _rows(call.lines(done))
            answer = _ANSWER % (self._begin, rows, exchange.request_id, done)
        self._count(exchange)
        return answer


def _refused(error: Exception, exchange: Exchange, path: str, lines: Lines) -> bytes:
    if not isinstance(error, TokenizerError):
        error = failure(error, exchange.route)
    exchange.error = error.kind
    response = refusal(error, shaped(error, path, exchange.dialect))
    exchange.status, exchange.sent = response.status_code, len(response.body)
    head = _first_lines(exchange.status, lines)
    rows = _rows(response.raw_headers)
    return _ANSWER % (head, rows, exchange.request_id, bytes(response.body))


def _first_lines(status: int, lines: Lines) -> bytes:
    return STATUS_LINE[status] + _rows(lines)


def _rows(lines: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % line for line in lines])
