"""Answers as JSON, and errors in our own shape."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from ..errors import TokenizerError
from .errors import body_of, headers_of, status_of

__all__ = ["answer", "refusal"]

_encode = msgspec.json.Encoder().encode


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_encode(value), status, headers, media_type="application/json")


def refusal(error: TokenizerError, body: Any = None) -> Response:
    """`body`: what a dialect makes of the error; None: our own shape."""
    found = body_of(error) if body is None else body
    return answer(found, status_of(error), headers_of(error))
