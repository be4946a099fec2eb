"""Many streams over one WebSocket: a message for each step, and no request."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from ...errors import BackendUnavailable, InputTooLarge, InvalidArgument, TokenizerError
from ..address import check_name, path_of
from ..call import Answer, Call, document, field_of, numbers_of
from ..errors import BadAnswer, ConnectionFailed, error_of
from ..http import httpx
from ..retry import Attempts
from .events import How, matched, open_fields, stop_fields

if TYPE_CHECKING:
    from ...tokenizer.ids import Ids
    from ...tokenizer.streaming.stop import Matched, StopSequenceConfig
    from ..http import Settings

__all__ = ["SocketStream", "Streams"]

# What a server may send in one message; texts of steps are far below.
_MOST_BYTES: Final = 16 << 20

# `streams.message-bytes` of a server, by default. It ends a connection with a larger message, and
# all streams of it.
_MOST_SENT: Final = 1 << 20
_IDS_AT_ONCE: Final = 4096

# For the policy of retries: what is refused has had no effect.
_REPEATABLE: Final = Call("GET", "", Answer.json)


class Streams:
    """`async with tok.streams() as streams: stream = await streams.open()`

    A connection that is lost takes its streams with it: what must go on, goes over requests with
    their `state`.
    """

    def __init__(self, settings: Settings, name: str, deadline: float | None = None) -> None:
        self._settings = settings
        self._deadline = settings.deadline if deadline is None else deadline
        self._url = settings.address.sockets + path_of("tokenizers", check_name(name), "stream")
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._streams: dict[str, SocketStream] = {}
        self._next = 0
        self._over: TokenizerError | None = None

    async def open(
        self,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        stops: StopSequenceConfig | None = None,
        eos_token_ids: Iterable[int] | None = None,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> SocketStream:
        """A new stream. With `stops` it ends at one, and `.matched` says which."""
        fields = None if stops is None else stop_fields(stops, eos_token_ids)
        how = How.of(prompt_ids, skip_special_tokens, byte_runs, unknown_id, fields)
        name = str(self._next)
        self._next += 1
        stream = self._streams[name] = SocketStream(self, name)
        try:
            await stream.say({"open": True, **open_fields(how)})
        except BaseException:
            self._streams.pop(name, None)
            raise
        return stream

    def attempts(self) -> Attempts:
        return Attempts(_REPEATABLE, self._settings.retries, self._deadline)

    def forget(self, stream: SocketStream) -> None:
        self._streams.pop(stream.name, None)

    async def send(self, message: dict[str, Any]) -> None:
        if self._over is not None:
            raise self._over
        if self._socket is None:
            raise InvalidArgument("not connected", hint="async with tok.streams() as streams: ...")
        import websockets

        text = document(message).decode()
        if len(text) > _MOST_SENT:
            raise InputTooLarge.of(
                "one message would be too large for the server",
                _MOST_SENT,
                len(text),
                hint="Streams over requests take longer prompts",
            )
        try:
            await self._socket.send(text)
        except websockets.ConnectionClosed as error:
            raise ConnectionFailed(_said(error)) from error

    async def _read(self) -> None:
        import websockets

        over: TokenizerError
        try:
            async for message in self._socket:
                self._hand_out(message)
            over = ConnectionFailed("the server closed the connection")
        except websockets.ConnectionClosed as error:
            over = ConnectionFailed(_said(error))
        except TokenizerError as error:
            over = error
        self._over = over
        for stream in list(self._streams.values()):
            stream.end(over)

    def _hand_out(self, message: str | bytes) -> None:
        try:
            event = json.loads(message)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise BadAnswer("a message that is no JSON object")
        name = event.get("stream")
        error: TokenizerError | None = None
        if isinstance(event.get("error"), dict):
            error = error_of(200, {}, json.dumps(event).encode())
            if name is None:
                raise error
        stream = self._streams.get(name) if isinstance(name, str) else None
        if stream is None:
            # Of a stream that is over here: it was on its way.
            return
        if error is not None:
            stream.refused(error, ended=bool(event.get("ended")))
            return
        if event.get("text") is not None:
            stream.put(field_of(event, "text", str))
        if event.get("stopped") is not None:
            stream.matched = matched(field_of(event, "stopped", dict))
        if event.get("stopped") is not None or event.get("ended"):
            stream.end()
        else:
            stream.hear()

    async def __aenter__(self) -> Self:
        if self._socket is not None:
            raise InvalidArgument(
                "these streams had their connection", hint="tok.streams() makes another one"
            )
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidStatus, WebSocketException
        except ImportError as error:
            raise BackendUnavailable(
                "the package websockets is not installed", hint="Run: pip install websockets"
            ) from error

        class Direct(connect):
            def process_redirect(self, exc: Exception) -> Exception | str:
                """A key is for the server that it was given for: redirections are not followed."""
                return exc

        settings = self._settings
        more: dict[str, Any] = {}
        if self._url.startswith("wss:"):
            # What is trusted over HTTP is trusted here, and no more.
            more["ssl"] = httpx.create_ssl_context(verify=settings.verify)
        attempts = self.attempts()
        while self._socket is None:
            left, refusal = attempts.remaining(), None
            try:
                self._socket = await Direct(
                    self._url,
                    additional_headers=settings.key.headers(),
                    max_size=_MOST_BYTES,
                    open_timeout=left,
                    compression=None,
                    **more,
                )
            except InvalidStatus as error:
                refusal = error.response
            except TimeoutError:
                attempts.time_is_up()
            except (WebSocketException, OSError, UnicodeError) as error:
                failed = ConnectionFailed(f"no WebSocket: {error}")
                if not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
                    raise failed from error
                await asyncio.sleep(attempts.lost(failed))
            if refusal is not None:
                await asyncio.sleep(_refused(refusal, attempts))
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()
        if self._reader is not None:
            await self._reader


class SocketStream:
    """`await stream.send(ids)`, and `async for text in stream`. `finish()` says that no more ids
    come; the iteration ends when all text has come, or at a stop. Each waits until the server has
    taken the message."""

    def __init__(self, streams: Streams, name: str) -> None:
        self._streams = streams
        self.name = name
        self.matched: Matched | None = None
        """What stopped the text, if something did."""
        self._events: asyncio.Queue[str | TokenizerError | None] = asyncio.Queue()
        self._over = False
        # One message at a time: one that was refused is sent again before the next.
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[TokenizerError | None] | None = None
        self._opening = True

    async def send(self, ids: Ids) -> None:
        numbers = numbers_of(ids)
        for start in range(0, len(numbers) or 1, _IDS_AT_ONCE):
            if self._over:
                return
            part = numbers[start : start + _IDS_AT_ONCE]
            await self.say({"ids": part})

    async def finish(self) -> None:
        if not self._over:
            await self.say({"finish": True})

    async def say(self, message: dict[str, Any]) -> None:
        """Goes on where the caller is cancelled: without the message the text would have a gap."""
        await asyncio.shield(self._deliver({"stream": self.name, **message}))

    async def _deliver(self, message: dict[str, Any]) -> None:
        async with self._turn:
            attempts = self._streams.attempts()
            while not self._over:
                answer = self._answer = asyncio.get_running_loop().create_future()
                await self._streams.send(message)
                try:
                    await asyncio.wait([answer], timeout=attempts.remaining())
                    if not answer.done():
                        attempts.time_is_up()
                    refused = answer.result()
                    if refused is None:
                        self._opening = False
                        return
                    wait = attempts.refused(refused)
                except TokenizerError as error:
                    self.end(error)
                    # Else it would stay open on the server, and count as one of the tenant's.
                    with suppress(TokenizerError):
                        await self._streams.send({"stream": self.name, "finish": True})
                    return
                # The end of the stream ends the wait.
                self._answer = asyncio.get_running_loop().create_future()
                await asyncio.wait([self._answer], timeout=wait)

    def refused(self, error: TokenizerError, *, ended: bool) -> None:
        if self._opening and not ended:
            # It is open by now, and the message had no ids.
            self.hear()
        elif ended and not self._opening:
            self.end(error)
        else:
            self.hear(error)

    def hear(self, error: TokenizerError | None = None) -> None:
        """The answer to the message that is being sent."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(error)

    def put(self, text: str) -> None:
        self._events.put_nowait(text)

    def end(self, error: TokenizerError | None = None) -> None:
        self._over = True
        self._streams.forget(self)
        self._events.put_nowait(error)
        self.hear()

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            event = await self._events.get()
            if isinstance(event, str):
                yield event
                continue
            # The end stays in the queue: each later iteration ends at once, with the same error.
            self._events.put_nowait(event)
            if event is None:
                return
            raise event


def _refused(response: Any, attempts: Attempts) -> float:
    """How long to wait before the next handshake, or the error."""
    headers = {name.lower(): value for name, value in response.headers.raw_items()}
    answer = Answer(response.status_code, headers, bytes(response.body or b""))
    wait = attempts.answered(answer)
    if wait is None:
        # A success that is no WebSocket.
        raise error_of(*answer)
    return wait


def _said(error: Exception) -> str:
    return f"the connection of the WebSocket is lost: {error}"
