"""Streams over SSE: each request brings ids, and gets events and the state to go on from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

from ....errors import TokenizerError
from ...errors import BadRequest, body_of
from ...requests import body
from ..answers import json_bytes
from ..operation import Operation
from ..shapes import Failure, Stream, StreamEvent, StreamMessage
from .stream import ID_BYTES, OpenStream, Step

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...contract import Caller, Served
    from ...service import Service
    from .desk import Desk

__all__ = ["Events", "failure"]

# Ids of one step: between steps of a long list, other calls run.
_AT_ONCE: Final = 4096
_SHORT: Final = 1024

_NAMES: Final = ("text", "stopped", "ended", "error", "state")


def failure(error: TokenizerError) -> Failure:
    return Failure(**body_of(error)["error"])


def _event(event: StreamEvent) -> bytes:
    name = next(name for name in _NAMES if getattr(event, name) is not None)
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(event) + b"\n\n"


class Events:
    """The operation, over a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def operation(self) -> Operation:
        return Operation(
            "POST",
            "/tokenizers/{name}/stream",
            "stream",
            "Ids to text as it becomes certain; the last event is the state to go on from",
            self.answer,
            takes=Stream,
            gives=StreamEvent,
            gives_events=True,
            socket_takes=StreamMessage,
            example={"ids": [1, 2, 3], "stops": {"sequences": ["###"]}},
            refuses=(404, 413, 422, 429, 503, 504),
        )

    async def answer(self, request: Request, service: Service) -> Response:
        asked = await body.read_json(request, Stream)
        if asked.state is not None and (asked.prompt_ids or asked.stops is not None):
            raise BadRequest(
                "a stream that goes on has its prompt and its stops already", path="$.state"
            )
        caller: Caller = request.state.caller
        served = self._desk.served(caller, request.path_params["name"], asked)
        opener = self._desk.opener(caller, served, asked)
        ids = asked.ids[:_AT_ONCE]
        finish = asked.finish and len(ids) == len(asked.ids)

        def begin() -> tuple[OpenStream, Step]:
            stream = opener()
            return stream, stream.step(ids, finish)

        # What fails before the first event is an answer of HTTP like any other.
        cost = (len(asked.prompt_ids) + len(ids)) * ID_BYTES
        stream, first = await service.run(
            served, cost, begin, inline=cost <= _SHORT, operation="stream"
        )
        rest = self._rest(caller, served, asked, stream, first)
        headers = {"cache-control": "no-store", "x-tokenizer": served.digest}
        return StreamingResponse(rest, 200, headers, "text/event-stream")

    async def _rest(
        self,
        caller: Caller,
        served: Served,
        asked: Stream,
        stream: OpenStream,
        step: Step,
    ) -> AsyncIterator[bytes]:
        service = self._desk.service
        consumed = min(_AT_ONCE, len(asked.ids))
        try:
            while True:
                if step.text:
                    yield _event(StreamEvent(text=step.text))
                if step.matched is not None:
                    yield _event(StreamEvent(stopped=step.matched))
                    return
                if consumed == len(asked.ids):
                    break
                ids = asked.ids[consumed : consumed + _AT_ONCE]
                finish = asked.finish and consumed + len(ids) == len(asked.ids)
                self._desk.require_key(caller)
                step = await service.run(
                    served,
                    len(ids) * ID_BYTES,
                    partial(stream.step, ids, finish),
                    operation="stream",
                )
                consumed += len(ids)
            if asked.finish:
                yield _event(StreamEvent(ended=True))
        except TokenizerError as error:
            yield _event(StreamEvent(error=failure(error)))
        try:
            state = self._desk.state(caller, served.name, stream)
            yield _event(StreamEvent(state=state, consumed=consumed))
        except TokenizerError as error:
            yield _event(StreamEvent(error=failure(error), ended=True))
