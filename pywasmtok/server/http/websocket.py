"""WebSocket handling with bounds: one connection cannot delay the others or fill the memory.

A read may bring thousands of short messages, and parsing one takes tens of microseconds. So a read
is parsed in pieces, one in each iteration of the event loop; later bytes wait in the system's
buffers.

A ping is answered with a pong that has its bytes, and the application sees neither. So frames that
are no beginning of a message have the rate of messages, and nothing is parsed while the client does
not take what is sent to it. A client that takes nothing for `header-seconds` is disconnected.
"""

from __future__ import annotations

import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .protocol import refusal

if TYPE_CHECKING:
    import asyncio

    from websockets.frames import Frame

    from .connections import Connections

__all__ = ["PatientSockets"]

log = logging.getLogger("pywasmtok.server.sockets")
log.setLevel(logging.WARNING)
# uvicorn says this of each handshake that the application has refused with an answer of its own.
log.addFilter(lambda line: line.msg != "ASGI callable returned without completing handshake.")

# Some tens of the shortest text messages; a small part of a long one.
_PIECE: Final = 1 << 10
# A piece may contain no complete message, or pings only. Then the next piece is parsed, too, for at
# most this time.
_SECONDS: Final = 0.0005


class PatientSockets(WebSocketsSansIOProtocol):
    counted: Connections
    write_seconds: float
    """How long a client may take nothing of what is sent to it."""
    frames_per_second: int
    """Pings, pongs, and parts of a message behind its first; they are read no faster."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # uvicorn writes a line with the path for each socket. The access log has a line for each
        # that was accepted or refused, without it.
        self.logger = log
        self._write_timer: asyncio.TimerHandle | None = None
        # How many more frames may be parsed now, and the time of that count.
        self._allowed, self._allowed_at = float(self.frames_per_second), self.loop.time()
        # Bytes that were read and not yet parsed. While there are any, reading is paused.
        self._waiting = memoryview(b"")

    def data_received(self, data: bytes) -> None:
        if not self.handshake_initiated:
            super().data_received(data)
            if not self.handshake_initiated:
                # The library takes no such head, and says so by an attribute only.
                message = "a handshake has no body, and no header of more than 8 KiB"
                self.transport.write(refusal(400, message))
                self.transport.close()
            if self.transport.is_closing():
                self.loop.call_later(self.write_seconds, self.transport.abort)
            return
        # Empty, except where the system had read on before reading was paused.
        self._waiting = memoryview(b"".join((self._waiting, data)) if self._waiting else data)
        self._take()

    def start_keepalive(self) -> None:
        """Called when the application has accepted the connection."""
        self.counted.known(self.transport)
        super().start_keepalive()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_write_timer()
        self.counted.gone(self.transport)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._pause_reading()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_write_timer()
        self._go_on()

    async def send(self, message: Any) -> None:
        """Also waits until the client has taken most of it: until then it is in memory."""
        await super().send(message)
        await self.writable.wait()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        # A close waits until all is sent, and uvicorn waits for the client's part of it.
        self.loop.call_later(self.close_timeout + self.write_seconds, self.transport.abort)
        self._go_on()

    def handle_ping(self) -> None:
        self._allowed -= 1
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        self._allowed -= 1
        super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        self._allowed -= 1
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        if self.close_sent:
            # Dropped, so the application does not bound their rate.
            self._allowed -= 1
        super().send_receive_event_to_app()

    def _seconds_to_wait(self) -> float:
        """Until the next frame may be parsed."""
        if self._allowed >= 0:
            return 0.0
        rate, now = self.frames_per_second, self.loop.time()
        self._allowed = min(float(rate), self._allowed + (now - self._allowed_at) * rate)
        self._allowed_at = now
        return max(0.0, -self._allowed / rate)

    async def receive(self) -> Any:
        message = await self.queue.get()
        self._go_on()
        return message

    def _go_on(self) -> None:
        """Goes on reading, if nothing waits for the application."""
        if self._is_taken():
            if self._waiting:
                self.loop.call_soon(self._take)
            elif self.read_paused and self.writable.is_set():
                self._read_on()

    def _is_taken(self) -> bool:
        """Whether the application has received all messages. After it has closed the connection,
        it receives none."""
        return self.close_sent or self.queue.empty()

    def _take(self) -> None:
        """Parses the next piece, unless the application has not received the last one yet, or the
        client has not taken what was sent to it."""
        if not self._waiting or not self._is_taken() or not self.writable.is_set():
            return
        if self.transport.is_closing():
            self._waiting = memoryview(b"")
            return
        wait = self._seconds_to_wait()
        if wait > 0:
            self._pause_reading()
            self.loop.call_later(wait, self._take)
            return
        end = perf_counter() + _SECONDS
        while self._waiting and self._is_taken() and self.writable.is_set():
            piece, self._waiting = self._waiting[:_PIECE], self._waiting[_PIECE:]
            super().data_received(bytes(piece))
            if perf_counter() >= end or self._allowed < 0:
                break
        if self._waiting or self._allowed < 0:
            self._pause_reading()
        self._go_on()

    def _read_on(self) -> None:
        self.read_paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def _pause_reading(self) -> None:
        if not self.read_paused:
            self.read_paused = True
            if not self.transport.is_closing():
                self.transport.pause_reading()
