"""The protocol that hands a connection over to the other kind of process, if the next request on it
belongs there.

The head decides, so the bytes that were read up to its end are kept. A connection can go only
between two requests, with no response being sent: pipelined requests are served where they are.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from ..http.one_step import OneStepHttp
from .handover_socket import LONGEST

if TYPE_CHECKING:
    from .worker_kind import WorkerKind

__all__ = ["HandoverHttp"]

# How long a connection stays with the process of long requests before it may go back. So a client
# that alternates between both kinds, or is marked in one process only, does not move each time.
_STAYS_SECONDS: Final = 1.0


class HandoverHttp(OneStepHttp):
    kind: WorkerKind

    def __init__(self, *args: Any, arrived: bytes = b"", **named: Any) -> None:
        """`arrived`: what another process has read of the first request."""
        super().__init__(*args, **named)
        self._arrived = arrived
        # The bytes read of the request that begins; None: the connection cannot go.
        self._begun: bytes | None = None
        self._goes = False
        self._has_gone = False
        stays = arrived and self.kind.long
        self._stays_until = self.loop.time() + _STAYS_SECONDS if stays else 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        arrived, self._arrived = self._arrived, b""
        if arrived and not transport.is_closing():
            # Handled before new bytes are read, and served here: the sending process has decided.
            self._read_here(arrived)

    def data_received(self, data: bytes) -> None:
        if self._has_gone:
            return
        if self._may_go():
            self._begun = data
        elif self._begun is not None and self._in_head and len(self._begun) < LONGEST:
            self._begun += data
        else:
            self._begun = None
        super().data_received(data)
        if self._goes:
            self._go()

    def _read_here(self, data: bytes) -> None:
        self._begun = None
        super().data_received(data)

    def _may_go(self) -> bool:
        """Whether no request or response on this connection is unfinished."""
        cycle = self.cycle
        return (
            self._is_between()
            and (cycle is None or cycle.response_complete)
            and not self.pipeline
            and not self._bad_next
            and self._linger_timer is None
            and not self.transport.is_closing()
            and not self.transport.get_write_buffer_size()
            and self.loop.time() >= self._stays_until
        )

    def begin_request(self) -> None:
        if self._begun is not None:
            headers = self.headers
            if self.kind.belongs_elsewhere(self.parser.get_method(), headers):
                self._goes = True
                return
            self._begun = None
        super().begin_request()

    # The bytes after the head are in the kept bytes, too.

    def on_message_begin(self) -> None:
        if not self._goes:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._goes:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._goes:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._goes:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._goes:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._goes:
            super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        if not self._goes:
            super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        # The next process reads the same bytes, and answers.
        if not self._goes:
            super().send_400_response(msg)

    def _go(self) -> None:
        data, self._begun, self._goes = self._begun, None, False
        assert data is not None
        transport = self.transport
        if transport.is_closing():
            return
        # From here on only the next process may read from the connection.
        transport.pause_reading()
        descriptor = transport.get_extra_info("socket").fileno()
        if self.kind.send(descriptor, data):
            self._has_gone = True
            # Closes this process's descriptor, which is not the last one.
            transport.abort()
            return
        transport.resume_reading()
        self._in_message = self._in_head = False
        self._unfinished = 0
        self.renew_parser()
        self._read_here(data)
