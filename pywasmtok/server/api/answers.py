"""Answers as bytes. They are made in the thread that does the work: the event loop only sends
them."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

__all__ = ["ids_of", "json_bytes", "json_response"]

_ENCODER: Final = msgspec.json.Encoder()

json_bytes = _ENCODER.encode

# A list of so many is written in a millisecond, in which no other thread can run.
_AT_ONCE: Final = 2048


def ids_of(ids: memoryview) -> Any:
    """Ids for a field of an answer. Many are written in parts: between them others may run."""
    if len(ids) <= _AT_ONCE:
        return ids.tolist()
    parts = (
        _ENCODER.encode(ids[start : start + _AT_ONCE].tolist())[1:-1]
        for start in range(0, len(ids), _AT_ONCE)
    )
    return msgspec.Raw(b"[" + b",".join(parts) + b"]")


def json_response(body: bytes, digest: str | None = None, status: int = 200) -> Response:
    headers = None if digest is None else {"x-tokenizer": digest, "vary": "accept"}
    return Response(body, status, headers, "application/json")
