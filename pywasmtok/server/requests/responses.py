"""Answers as JSON, and errors in our own shape."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.responses import Response

from ...errors import HostError, TokenizerError
from ..errors import body_of, headers_of, status_of

__all__ = ["answer", "failure", "refusal"]

log = logging.getLogger("pywasmtok.server")

_encode = msgspec.json.Encoder().encode


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_encode(value), status, headers, media_type="application/json")


def refusal(error: TokenizerError, body: Any = None) -> Response:
    """`body`: what a dialect makes of the error; None: our own shape."""
    found = body_of(error) if body is None else body
    return answer(found, status_of(error), headers_of(error))


def failure(error: Exception, route: str) -> HostError:
    """The error for a caller when an unexpected exception was raised. The message of the exception
    may hold text of the request: the log gets its type and place only."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_qualname}:{trace.tb_lineno}")
        trace = trace.tb_next
    place = f"{type(error).__name__} in {' > '.join(places[-4:])}"
    log.error("a handler of %s failed: %s", route, place)
    return HostError("the server failed on this request; its log says where")
