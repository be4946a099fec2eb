"""Answers as bytes. They are made in the thread that does the work: the event loop only sends
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from starlette.responses import Response

from ..._host.calls.deadline import current

__all__ = ["ids_of", "in_parts", "json_bytes", "json_response"]

_ENCODER: Final = msgspec.json.Encoder()

json_bytes = _ENCODER.encode

# A list of so many is written in a millisecond, in which no other thread can run.
_AT_ONCE: Final = 2048


def ids_of(ids: memoryview) -> Any:
    """Ids for a field of an answer."""
    return in_parts(len(ids), lambda start, end: ids[start:end].tolist())


def in_parts(count: int, items: Callable[[int, int], list[Any]]) -> Any:
    """A list of so many items for a field of an answer; `items` gives those of a range. Many are
    written in parts: between them other threads may run, and the call ends at its deadline."""
    if count <= _AT_ONCE:
        return items(0, count)
    deadline, parts = current(), []
    for start in range(0, count, _AT_ONCE):
        if deadline is not None:
            deadline.check()
        parts.append(_ENCODER.encode(items(start, min(count, start + _AT_ONCE)))[1:-1])
    return msgspec.Raw(b"[" + b",".join(parts) + b"]")


def json_response(body: bytes, digest: str | None = None) -> Response:
    headers = None if digest is None else {"x-tokenizer": digest, "vary": "accept"}
    return Response(body, headers=headers, media_type="application/json")
