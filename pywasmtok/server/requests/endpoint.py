"""A request with a body, from its head to its answer. Each operation has one reader, which makes a
request object of the bytes, and one function, which makes bytes of that object.

The application and the protocol both use `Endpoint.begun`, `read` and `call`. They differ in how
they have the call made: the application waits for the scheduler, the protocol does not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct
from starlette.responses import Response

from ..scheduling.executor import NotNowError
from . import body
from .head import OCTETS, Head, check_json_type
from .strict_json import decode

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..contract import Caller, Served
    from ..service import Service
    from .record import Exchange

__all__ = ["CALL", "Asked", "Begun", "Call", "Endpoint", "Reader"]

T = TypeVar("T")

CALL: Final = "pywasmtok.call"
"""Where the protocol puts a `Call` into the scope of a request that it has read."""


class Asked(Struct):
    """A request that was read."""

    operation: str
    """A name that the metrics have."""
    cost: int
    request: Any
    answer: Callable[[Any, Served], bytes]
    """Of the request. Called where the work is done."""
    model: str | None = None
    """The tokenizer, where the body names it."""
    gives_octets: bool = False


class Begun(Struct):
    """A request of which all but the body is known: what a reader is given beside the body."""

    head: Head
    name: str | None
    """Of a tokenizer, where the path has it."""
    query: str
    is_octets: bool
    depth: int
    """How deep JSON may nest."""

    def json(self, data: bytes, kind: type[T]) -> T:
        return decode(data, kind, self.depth)


Reader = Callable[[bytes, Begun, "Exchange"], Asked]
"""Sets the dialect of the exchange, if the body tells it. BadRequest."""


class Endpoint:
    """A row of the table of routes, for a POST with a body."""

    def __init__(
        self,
        read: Reader,
        find: Callable[[Service, Caller, str | None], Served],
        *,
        dialect: str = "none",
        inline_cost: int = 0,
        takes_octets: bool = False,
        says_tokenizer: bool = False,
    ) -> None:
        """`read`: of large bodies in another thread than the event loop. `dialect`: until the
        reader knows better. `inline_cost`: calls up to this one may run on the event loop.
        `says_tokenizer`: the answer has the digest in a header."""
        self.read = read
        self.dialect = dialect
        self.inline_cost = inline_cost
        self.says_tokenizer = says_tokenizer
        self._find = find
        self._takes_octets = takes_octets

    def begun(self, service: Service, head: Head, name: str | None, query: str = "") -> Begun:
        """UnsupportedMedia."""
        is_octets = self._takes_octets and head.sends_octets
        if not is_octets:
            check_json_type(head.content_type)
        return Begun(head, name, query, is_octets, service.config.bounds.json_depth)

    def call(self, asked: Asked, begun: Begun, exchange: Exchange, service: Service) -> Call:
        """On the event loop. UnknownTokenizer."""
        assert exchange.caller is not None
        name = asked.model if begun.name is None else begun.name
        served = self._find(service, exchange.caller, name)
        return Call(asked, self, served, exchange)

    async def __call__(self, request: Request) -> Response:
        """In the application."""
        service: Service = request.app.state.service
        exchange: Exchange = request.state.exchange
        exchange.dialect = self.dialect
        name = request.path_params.get("name")
        begun = self.begun(service, request.state.head, name, request.url.query)
        data = await body.read(request)
        if len(data) > body.LONG:
            asked = await body.apart(partial(self.read, data, begun, exchange))
        else:
            asked = self.read(data, begun, exchange)
        return await self.call(asked, begun, exchange, service).response(service)


_JSON: Final = b"application/json"
_OCTETS: Final = OCTETS.encode()


class Call(Struct):
    """A request that was read, and its tokenizer."""

    asked: Asked
    endpoint: Endpoint
    served: Served
    exchange: Exchange
    done: bytes | None = None
    """The answer, if it is there and only has to be sent."""

    async def response(self, service: Service) -> Response:
        asked, served, answer = self.asked, self.served, self.done
        if answer is None:
            made = partial(asked.answer, asked.request, served)
            inline = asked.cost <= self.endpoint.inline_cost
            answer = await service.run(
                served, asked.cost, made, inline=inline, operation=asked.operation
            )
        response = Response(answer)
        response.raw_headers = self.lines(answer)
        return response

    def now(self, service: Service) -> bytes:
        """The answer without waiting. NotNowError: `response` can do it."""
        asked, served = self.asked, self.served
        if asked.cost > self.endpoint.inline_cost:
            raise NotNowError
        made = partial(asked.answer, asked.request, served)
        return service.run_now(served, asked.cost, made, operation=asked.operation)

    def lines(self, answer: bytes) -> list[tuple[bytes, bytes]]:
        media = _OCTETS if self.asked.gives_octets else _JSON
        rest = [(b"content-length", b"%d" % len(answer)), (b"content-type", media)]
        if not self.endpoint.says_tokenizer:
            return rest
        return [(b"x-tokenizer", self.served.digest.encode()), (b"vary", b"accept"), *rest]
