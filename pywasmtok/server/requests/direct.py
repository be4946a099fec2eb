"""Short requests, answered in the step that has read them, as bytes, without anything of ASGI.

What ASGI makes for each request (a scope, a task, awaitable functions, events) costs more than
encoding a short text. `Straight` selects the requests that need none of this, and reads them. All
other requests, and every call that would have to wait, go through the application unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ...errors import TokenizerError
from ..dialects import shaped
from ..scheduling.executor import NotNowError
from .record import Exchange
from .responses import failure, refusal
from .straight import head_of

if TYPE_CHECKING:
    from ..http.heads import KnownHead
    from .straight import Headers, Screened, Straight

__all__ = ["Direct"]

Lines = Sequence[tuple[bytes, bytes]]

_OK: Final = 200
_PLAIN: Final = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("?#%")


class Direct:
    """One of an application; for the event loop."""

    def __init__(self, service: Any, straight: Straight, count: Callable[[Exchange], None]) -> None:
        """`count` is called with each request that was answered here."""
        self._service = service
        self._straight = straight
        self.most = straight.most
        self._count = count
        # The first bytes of a response, valid while the server's own headers stay the same.
        self._lines: Lines = ()
        self._begin = _head(_OK, ())

    def screened(self, url: bytes, headers: Headers) -> Screened | None:
        """What the head of a POST tells before its body has come. None: the application takes
        it."""
        path = url.decode("latin-1")
        return self._straight.of_head(path, headers) if _PLAIN.issuperset(path) else None

    @property
    def keys(self) -> object:
        """A new object whenever a key or a tenant has changed."""
        return self._service.keys

    def still_good(self, known: KnownHead) -> bool:
        """Whether the same head would be accepted again."""
        return known.keys is self._service.keys and self._straight.still_good(known.screened)

    def answer(
        self, screened: Screened, path: bytes, body: bytes, client: str | None, lines: Lines
    ) -> bytes | None:
        """`lines`: headers of every response of this server. None: the application takes the
        request."""
        exchange = Exchange("POST", caller=screened.caller, trace=screened.trace, client=client)
        short = screened.read(body)
        if short is None or not short.inline:
            return None
        exchange.route, exchange.dialect = short.route, short.dialect
        exchange.received = len(body)
        run = self._service.run_now
        try:
            done = run(short.served, short.cost, short.call, operation=short.operation)
        except NotNowError:
            return None
        except Exception as error:
            answer = _refused(error, exchange, path, lines)
        else:
            exchange.status, exchange.sent = _OK, len(done)
            if lines is not self._lines:
                self._lines, self._begin = lines, _head(_OK, lines)
            answer = b"%b%b\r\n%b" % (self._begin, _rows(head_of(short, done)), done)
        self._count(exchange)
        return answer


def _refused(error: Exception, exchange: Exchange, path: bytes, lines: Lines) -> bytes:
    if not isinstance(error, TokenizerError):
        error = failure(error, exchange.route)
    exchange.error = error.kind
    response = refusal(error, shaped(error, path.decode("ascii"), exchange.dialect))
    exchange.status, exchange.sent = response.status_code, len(response.body)
    head = _head(exchange.status, lines)
    return b"%b%b\r\n%b" % (head, _rows(response.raw_headers), bytes(response.body))


def _head(status: int, lines: Lines) -> bytes:
    return STATUS_LINE[status] + _rows(lines)


def _rows(lines: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % line for line in lines])
