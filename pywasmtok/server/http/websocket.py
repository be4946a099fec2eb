"""WebSocket handling with bounded reads, so that one connection cannot delay the others.

A read may bring thousands of short messages, and parsing one takes tens of microseconds. So a read
is parsed in pieces, one in each iteration of the event loop; later bytes wait in the system's
buffers.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

__all__ = ["PatientSockets"]

# Some tens of the shortest text messages; a small part of a long one.
_PIECE: Final = 1 << 10
# A piece may contain no complete message, or pings only. Then the next piece is parsed, too, for at
# most this time.
_SECONDS: Final = 0.0005


class PatientSockets(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Bytes that were read and not yet parsed. While there are any, reading is paused.
        self._waiting = memoryview(b"")

    def data_received(self, data: bytes) -> None:
        if not self.handshake_initiated:
            super().data_received(data)
            return
        # Empty, except where the system had read on before reading was paused.
        self._waiting = memoryview(b"".join((self._waiting, data)) if self._waiting else data)
        self._take()

    async def receive(self) -> Any:
        message = await self.queue.get()
        if self.queue.empty():
            if self._waiting:
                self.loop.call_soon(self._take)
            elif self.read_paused:
                self._read_on()
        return message

    def _take(self) -> None:
        """Parses the next piece, unless the application has not received the last one yet."""
        if not self._waiting or not self.queue.empty():
            return
        if self.transport.is_closing():
            self._waiting = memoryview(b"")
            return
        end = perf_counter() + _SECONDS
        while self._waiting and self.queue.empty():
            piece, self._waiting = self._waiting[:_PIECE], self._waiting[_PIECE:]
            super().data_received(bytes(piece))
            if perf_counter() >= end:
                break
        if self._waiting and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()
        if not self.queue.empty():
            return
        if self._waiting:
            self.loop.call_soon(self._take)
        elif self.read_paused:
            self._read_on()

    def _read_on(self) -> None:
        self.read_paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()
