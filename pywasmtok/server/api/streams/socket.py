"""Streams over a WebSocket: many on one connection, each with a name that the client gives it.

One event answers each message, in order. One message is processed at a time, and the next ones wait
in a short queue: when it is full, the connection is not read.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.websockets import WebSocketDisconnect

from ....errors import InputTooLarge, TokenizerError
from ....tenants.errors import Overloaded, TooManyRequests
from ...errors import BadRequest, Conflict, Draining, Idle, Unauthorized
from ...requests import body
from ..answers import json_bytes
from ..shapes import StreamEvent, StreamMessage
from .sse import failure
from .stream import ID_BYTES, OpenStream, Step

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from ...config import Streams
    from ...contract import Caller
    from .desk import Desk

__all__ = ["Sockets"]

_LINE: Final = 16
"""Messages that may wait in the queue."""
_LARGE: Final = 64 << 10
_SHORT: Final = 1024
_KEY_SECONDS: Final = 0.5
"""How often the key is checked again."""
_ROOM_SECONDS: Final = 0.1
"""How often an event that had no room is tried again."""
_MOST_NAME: Final = 128

# Codes of RFC 6455 and its registry.
_POLICY, _TOO_BIG, _RESTART, _GOING_AWAY = 1008, 1009, 1012, 1001


class Sockets:
    """The endpoint, over a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def endpoint(self, websocket: WebSocket) -> None:
        with self._desk.socket(websocket.state.caller):
            await _Connection(websocket, self._desk).serve()


class _Connection:
    def __init__(self, websocket: WebSocket, desk: Desk) -> None:
        self._socket = websocket
        self._desk = desk
        self._service = desk.service
        self._caller: Caller = websocket.state.caller
        self._name: str = websocket.path_params["name"]
        self._bounds: Streams = desk.service.config.streams
        self._streams: dict[str, OpenStream] = {}
        self._line: asyncio.Queue[bytes | None] = asyncio.Queue(_LINE)
        self._ending: TokenizerError | None = None
        self._failed: BaseException | None = None
        self._moved = 0.0

    async def serve(self) -> None:
        # An unknown tokenizer is refused before the connection is accepted.
        self._service.find(self._caller, self._name)
        await self._socket.accept()
        self._moved = _now()
        work = asyncio.create_task(self._work())
        beside = [
            asyncio.create_task(self._read(work)),
            asyncio.create_task(self._watch_drain()),
            asyncio.create_task(self._watch_idle()),
            asyncio.create_task(self._watch_key()),
        ]
        for task in beside:
            task.add_done_callback(lambda done: self._broken(done, work))
        try:
            await asyncio.wait([work])
            if self._failed is not None:
                raise self._failed
            if not work.cancelled():
                work.result()
        finally:
            # Before the first `await`: a second cancellation may arrive there.
            self._desk.leave(self._caller, len(self._streams))
            self._streams.clear()
            for task in (work, *beside):
                task.cancel()
            await asyncio.wait([work, *beside])

    def _broken(self, done: asyncio.Task[None], work: asyncio.Task[None]) -> None:
        """Ends the connection if a task beside the work fails: its error would be lost."""
        if not done.cancelled() and (error := done.exception()) is not None:
            self._failed = error
            work.cancel()

    async def _read(self, work: asyncio.Task[None]) -> None:
        """Reads until the client disconnects, and then cancels the work."""
        most, rate = self._bounds.message_bytes, self._bounds.messages_per_second
        allowed, at = float(rate), _now()
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                work.cancel()
                return
            self._moved = now = _now()
            allowed, at = min(float(rate), allowed + (now - at) * rate) - 1, now
            if allowed < 0:
                await asyncio.sleep(-allowed / rate)
            said = message.get("text")
            data: bytes = message["bytes"] if said is None else said.encode()
            if len(data) > most:
                self._end(InputTooLarge.of("a message is too large", most, len(data)))
                return
            await self._line.put(data)
            if len(data) > _LARGE:
                # Bounds the memory: the queue must not hold many messages of the largest size.
                await self._line.join()

    async def _watch_drain(self) -> None:
        await self._service.lifecycle.wait_draining()
        self._end(self._service.lifecycle.error())

    async def _watch_idle(self) -> None:
        most = self._bounds.idle_seconds
        while (left := self._moved + most - _now()) > 0:
            await asyncio.sleep(left)
        self._end(Idle(f"nothing came for {most:g} seconds"))

    async def _watch_key(self) -> None:
        if self._caller.key_id is None:
            return
        try:
            while True:
                await asyncio.sleep(_KEY_SECONDS)
                self._desk.require_key(self._caller)
        except Unauthorized as error:
            self._end(error)

    def _end(self, why: TokenizerError) -> None:
        """Ends the connection after the message that is being processed."""
        self._ending = self._ending or why
        if self._line.empty():
            self._line.put_nowait(None)

    async def _work(self) -> None:
        while self._ending is None:
            data = await self._line.get()
            if data is not None:
                await self._send(await self._answered(data))
                self._moved = _now()
                # Short messages never wait by themselves: without this, many of them would delay
                # other requests.
                await asyncio.sleep(0)
            self._line.task_done()
        await self._farewell(self._ending)

    async def _answered(self, data: bytes) -> StreamEvent:
        try:
            message = await self._decoded(data)
        except TokenizerError as error:
            return self._refused(_name_in(data), error)
        try:
            return await self._step(message)
        except TokenizerError as error:
            return self._refused(message.stream, error)

    def _refused(self, name: str | None, error: TokenizerError) -> StreamEvent:
        if name is None:
            return StreamEvent(error=failure(error))
        name = name[:_MOST_NAME]
        over = None if name in self._streams else True
        return StreamEvent(stream=name, error=failure(error), ended=over)

    async def _decoded(self, data: bytes) -> StreamMessage:
        depth = self._service.config.bounds.json_depth
        if len(data) <= _LARGE:
            return body.decode(data, StreamMessage, depth)
        return await body.apart(partial(body.decode, data, StreamMessage, depth))

    async def _step(self, message: StreamMessage) -> StreamEvent:
        # The key or the tenant may have been disabled since the connection was made.
        self._desk.require_key(self._caller)
        self._service.tenant(self._caller.tenant)
        stream = await self._opened(message) if message.open else self._known(message)
        name, ids = message.stream, message.ids
        cost = len(ids) * ID_BYTES
        step: Step = await self._service.run(
            stream.served,
            cost,
            lambda: stream.step(ids, message.finish),
            inline=cost <= _SHORT,
            operation="stream",
        )
        over = step.matched is not None or message.finish
        if over:
            del self._streams[name]
            self._desk.leave(self._caller)
        return StreamEvent(
            stream=name, text=step.text, stopped=step.matched, ended=True if over else None
        )

    async def _opened(self, message: StreamMessage) -> OpenStream:
        name = message.stream
        if name in self._streams:
            raise Conflict(f"a stream {name!a:.80} is open already", path="$.stream")
        if not 0 < len(name) <= _MOST_NAME:
            raise BadRequest(f"a name has 1 to {_MOST_NAME} characters", path="$.stream")
        if message.state is not None and (message.prompt_ids or message.stops is not None):
            raise BadRequest(
                "a stream that goes on has its prompt and its stops already", path="$.state"
            )
        served = self._desk.served(self._caller, self._name, message)
        opener = self._desk.opener(self._caller, served, message)
        self._desk.take(self._caller, served)
        try:
            cost = len(message.prompt_ids) * ID_BYTES
            stream = await self._service.run(
                served, cost, opener, inline=cost <= _SHORT, operation="stream"
            )
        except BaseException:
            self._desk.leave(self._caller)
            raise
        self._streams[name] = stream
        return stream

    def _known(self, message: StreamMessage) -> OpenStream:
        stream = self._streams.get(message.stream)
        if stream is None:
            raise BadRequest(
                f"no stream {message.stream!a:.80} is open",
                path="$.stream",
                hint='The first message of a stream has "open": true',
            )
        if message.prompt_ids or message.stops is not None or message.state is not None:
            raise BadRequest("only the first message says how a stream begins", path="$")
        return stream

    async def _farewell(self, why: TokenizerError) -> None:
        said = failure(why)
        for name, stream in self._streams.items():
            await self._send(
                StreamEvent(stream=name, error=said, ended=True, state=self._state(stream))
            )
            # As above: there may be hundreds of streams, and each is signed.
            await asyncio.sleep(0)
        if not self._streams:
            await self._send(StreamEvent(error=said, ended=True))
        code = _POLICY
        if isinstance(why, Draining):
            code = _RESTART
        elif isinstance(why, InputTooLarge):
            code = _TOO_BIG
        elif isinstance(why, Idle):
            code = _GOING_AWAY
        await self._socket.close(code, why.kind)

    def _state(self, stream: OpenStream) -> str | None:
        try:
            return self._desk.state(self._caller, self._name, stream)
        except InputTooLarge:
            return None

    async def _send(self, event: StreamEvent) -> None:
        """Sends to a client that reads. A client that does not is disconnected, as it would keep
        its streams. A large event waits until there is room for it: its ids are taken."""
        text = json_bytes(event).decode()
        try:
            async with asyncio.timeout(self._bounds.idle_seconds):
                while True:
                    try:
                        return await self._socket.send_text(text)
                    except (TooManyRequests, Overloaded):
                        await asyncio.sleep(_ROOM_SECONDS)
        except (TimeoutError, WebSocketDisconnect):
            raise asyncio.CancelledError from None


class _Named(msgspec.Struct):
    """All that is read of a message that is refused."""

    stream: str


def _name_in(data: bytes) -> str | None:
    """The stream of a message that does not fit otherwise. Large messages are not read again: it
    would take long."""
    try:
        return msgspec.json.decode(data, type=_Named).stream if len(data) <= _LARGE else None
    except (ValueError, RecursionError):
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()
