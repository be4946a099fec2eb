"""HTTP/1.1 with bounds that uvicorn does not have.

uvicorn's protocol on httptools waits for ever for the head of a request, keeps any number of
headers of any length, queues as many pipelined requests as arrive, and waits for ever for a client
that does not read. Here each of these has a bound.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .connections import PROBES, Admission, Connections

if TYPE_CHECKING:
    from ..config import Bounds
    from .tls import Handshake

__all__ = ["BoundedHttp", "refusal"]

_HEADERS: Final = 128
_URL_BYTES: Final = 8 << 10
_PIPELINED: Final = 32
_LINGER_SECONDS: Final = 2.0
"""For receiving the rest of a body that is not needed: closing at once would lose the answer to a
client that is still sending."""
_LINGER_STEP_SECONDS: Final = 0.02
"""Between two pieces of it, so that discarded bytes do not delay other connections."""

_REASONS: Final = {
    400: "Bad Request",
    408: "Request Timeout",
    414: "URI Too Long",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_KINDS: Final = {
    400: "bad_request",
    408: "slow_request",
    414: "url_too_long",
    429: "too_many_requests",
    431: "headers_too_large",
    503: "overloaded",
}


def refusal(status: int, message: str) -> bytes:
    """The last answer on a connection."""
    said: dict[str, Any] = {"kind": _KINDS[status], "message": message}
    again = ""
    if status in (429, 503):
        said["retry_after"] = 1.0
        again = "retry-after: 1\r\n"
    body = msgspec.json.encode({"error": said})
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n{again}connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


class _RefusedError(Exception):
    """Raised inside the parser to stop it."""


class BoundedHttp(HttpToolsProtocol):
    bounds: Bounds
    counted: Connections
    """Of this process."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.handshake: Handshake | None = None
        """Where the connection was counted, if it has TLS."""
        # Whether a request has shown a good key, and whether only a probe may be served.
        self._is_known = False
        self._is_spare = False
        self._in_message = False
        self._in_head = False
        # Bytes since the parser last completed anything, and whether it did in this read.
        self._unfinished = 0
        self._finished = False
        # The size of this read, if the head that is read began in it.
        self._most_of_head: int | None = None
        self._read = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._refusal = 400, "this is not HTTP/1.1"
        self._bad_next = False
        # Whether the head that is read offers a protocol that is not served here.
        self._is_offer = False

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.handshake is not None:
            self._is_spare = self.handshake.is_spare
            self.counted.replace(self.handshake, transport, self.is_idle)
            self.handshake = None
        else:
            address = self.client[0] if self.client else None
            admission = self.counted.admit(transport, address, self.is_idle)
            self._is_spare = admission is Admission.SPARE
            if admission is Admission.ADDRESS_FULL:
                self._refuse(429, "there are too many connections from this address")
            elif admission is Admission.FULL:
                self._refuse(503, "there are too many connections")
            if admission in (Admission.ADDRESS_FULL, Admission.FULL):
                self.send_400_response("")
                return
        self._start_head_timer()

    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete

    def now_known(self) -> None:
        """A request with a good key is being answered."""
        if not self._is_known:
            self._is_known = True
            self.counted.known(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("_head_timer")
        self._stop("_write_timer")
        self._stop("_linger_timer")
        self._unset_keepalive_if_required()
        self.counted.gone(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._bad_next or self.transport.is_closing():
            return
        self._finished = False
        self._read, self._most_of_head = len(data), None
        self._unset_keepalive_if_required()
        # As in uvicorn, but without a log line for each malformed request.
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("")
        except httptools.HttpParserUpgrade:
            self.handle_websocket_upgrade()
            return
        if self.parser is None or self.transport.is_closing():
            return
        if self._linger_timer is not None:
            self.flow.pause_reading()
            self.loop.call_later(_LINGER_STEP_SECONDS, self._go_on)
        self._unfinished = 0 if self._finished else self._unfinished + len(data)
        if self._unfinished > self.bounds.header_bytes:
            self._refuse(431, f"the head has more than {self.bounds.header_bytes} bytes")
            self.send_400_response("")
        elif self._bad_next:
            return
        elif self._in_head or not (self._finished or self._in_message):
            # Also for empty lines between requests, which stop uvicorn's timer and begin no
            # request.
            self._start_head_timer()

    def _parse(self, data: bytes) -> None:
        """A request that offers another protocol than WebSockets is served as HTTP/1.1 (RFC 9110,
        7.8). The parser would skip its body, so the head is parsed again without the offer."""
        while True:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as found:
                if not self._is_offer:
                    raise
                self._is_offer = False
                said = self.parser.get_method(), self.url, self.parser.get_http_version().encode()
                parts = [b"%b %b HTTP/%b\r\n" % said]
                parts += [b"%b: %b\r\n" % row for row in self.headers if row[0] != b"upgrade"]
                self.renew_parser()
                self.parser.feed_data(b"".join((*parts, b"\r\n")))
                data = data[found.args[0] :]

    def renew_parser(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        with suppress(AttributeError):
            # As uvicorn has it.
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def handle_websocket_upgrade(self) -> None:
        self._stop("_head_timer")
        # A request before it in the same read may have started this timer.
        self._unset_keepalive_if_required()
        super().handle_websocket_upgrade()

    # What the parser finds.

    def on_message_begin(self) -> None:
        # Its timer is started where a read ends inside of it, which is seldom.
        self._in_message = self._in_head = True
        self._most_of_head = self._read
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > _URL_BYTES:
            raise self._refuse(414, f"the path has more than {_URL_BYTES} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            # Trailers are not needed here, and must not change a request that has begun.
            return
        super().on_header(name, value)
        if len(self.headers) > _HEADERS:
            raise self._refuse(431, f"there are more than {_HEADERS} headers")

    def on_headers_complete(self) -> None:
        # A head cannot be longer than the read that it came in, which is nearly always short
        # enough.
        most = self._most_of_head
        if most is None or most > self.bounds.header_bytes:
            size = sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > self.bounds.header_bytes:
                raise self._refuse(431, f"the head has more than {self.bounds.header_bytes} bytes")
        self._check_head()
        if self._is_spare:
            self._check_spare()
        if len(self.pipeline) >= _PIPELINED:
            raise self._refuse(400, f"more than {_PIPELINED} requests wait on one connection")
        if self.parser.should_upgrade():
            self._check_upgrade()
            if self._is_offer:
                return
        self._in_head = False
        self._finished = True
        if self._head_timer is not None:
            self._stop("_head_timer")
        self.begin_request()

    def _check_head(self) -> None:
        """What a proxy in front could read in another way than the server."""
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise self._refuse(400, "this is not HTTP/1.1")
        names = [name for name, _ in self.headers]
        hosts = names.count(b"host")
        if hosts != 1 and (hosts > 1 or version == "1.1"):
            raise self._refuse(400, f"one Host header is needed, and there are {hosts}")
        if b"transfer-encoding" in names:
            codings = [value for name, value in self.headers if name == b"transfer-encoding"]
            if [coding.lower() for coding in codings] != [b"chunked"]:
                raise self._refuse(400, "a body may be chunked, and have no other coding")

    def _check_spare(self) -> None:
        if not self.counted.is_near:
            # A place has become free.
            self._is_spare = False
        elif self.url.partition(b"?")[0].decode("latin-1") not in PROBES:
            raise self._refuse(503, "there are too many connections")

    def _check_upgrade(self) -> None:
        if self.parser.get_method() == b"CONNECT":
            raise self._refuse(400, "this is no proxy")
        if self.parser.get_http_version() != "1.1" or not self._should_upgrade():
            self._is_offer = True
        elif not self.is_idle() or self.flow.write_paused:
            raise self._refuse(400, "a WebSocket cannot begin before the last response is sent")

    def begin_request(self) -> None:
        """The head is complete and valid."""
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._finished = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_offer:
            return
        self._in_message = False
        self._finished = True
        if self._linger_timer is not None:
            self._stop("_linger_timer")
        super().on_message_complete()

    # The answer.

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        if not self._is_known and self._has_caller():
            self.now_known()
        super().on_response_complete()
        if self.transport.is_closing():
            # Closed as soon as all is sent; the timer bounds the wait for that.
            self.loop.call_later(self.bounds.header_seconds, self.transport.abort)
        elif self._bad_next and is_last:
            self._write_refusal()
        elif self._is_spare:
            self._end()
        elif self._body_is_left() and self._linger_timer is None:
            self._linger_timer = self.loop.call_later(_LINGER_SECONDS, self._end)

    def _has_caller(self) -> bool:
        """Whether the application has accepted the request."""
        return self.cycle.scope["state"].get("caller") is not None

    def _body_is_left(self) -> bool:
        return self._in_message and not self._in_head and self.cycle.response_complete

    def _go_on(self) -> None:
        if not (self._bad_next or self.transport.is_closing()):
            self.flow.resume_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(
                self.bounds.header_seconds, self.transport.abort
            )

    def resume_writing(self) -> None:
        self._stop("_write_timer")
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        self._end()

    # Refusals.

    def send_400_response(self, msg: str) -> None:
        """Refuses a request before its start, or inside its body. A response that is still being
        made is sent first: otherwise the client would take this one for it."""
        self._stop("_head_timer")
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._write_refusal()
        elif not self._in_message or self._in_head:
            self._wait_to_refuse()
        elif self.pipeline:
            # The broken one is the last of those that wait: it never begins.
            self.pipeline.popleft()
            self._wait_to_refuse()
        elif cycle.response_started:
            self._end()
        else:
            # Its handler waits for a body that will not come.
            cycle.disconnected = True
            cycle.message_event.set()
            self._write_refusal()

    def _wait_to_refuse(self) -> None:
        self._bad_next = True
        self.flow.pause_reading()

    def _write_refusal(self) -> None:
        self.transport.write(refusal(*self._refusal))
        self._end()

    def _refuse(self, status: int, message: str) -> _RefusedError:
        self._refusal = status, message
        return _RefusedError()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.bounds.header_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            if self._in_head:
                seconds = self.bounds.header_seconds
                self._refuse(408, f"the head of the request did not come in {seconds:g} seconds")
                self.send_400_response("")
            else:
                self._end()

    def _end(self) -> None:
        """Bytes that the client does not take in time are dropped: `close` alone would wait for
        it."""
        if not self.transport.is_closing():
            self.transport.close()
            self.loop.call_later(self.bounds.header_seconds, self.transport.abort)

    def _stop(self, name: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
