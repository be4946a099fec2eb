"""Reads the body of a request within all bounds, and its JSON without ambiguity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...tenants.errors import Cancelled
from ..errors import BadRequest, BodyTooLarge, SlowBody, UnsupportedMedia
from .body_budget import FREE, LARGE, Row
from .head import check_json_type
from .strict_json import decode

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..config import Bounds
    from ..service import Service
    from .record import Exchange

__all__ = ["LONG", "apart", "decode", "read", "read_into", "read_json"]

T = TypeVar("T")

LONG: Final = 256 << 10
"""Decoding more than this takes longer than handing it to another thread."""

# One thread: several would pass the GIL to each other while the event loop waits for it. It has the
# loop's priority: a thread holds the GIL while it decodes JSON, even when the system has taken its
# processor away, and the loop would wait for a slower thread so much longer.
_apart: Final = ThreadPoolExecutor(1, "pywasmtok-bodies")


async def read(request: Request, most: int | None = None) -> bytes:
    """All of it, or an error as soon as it is clear that it will be too large or too slow.

    `most` is the caller's own bound beside `bounds.body-bytes`; for uploads it replaces that.
    """
    parts: list[bytes] = []
    exchange: Exchange | None = request.scope.get("state", {}).get("exchange")
    size = 0

    def keep(part: bytes) -> None:
        nonlocal size
        size += len(part)
        if exchange is not None and size > FREE:
            exchange.hold(size)
        parts.append(part)

    await read_into(request, keep, most)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_into(
    request: Request, take: Callable[[bytes], object], most: int | None = None
) -> int:
    """The same, part by part; returns the number of bytes. Large uploads are written to a file with
    this, so that slow senders hold no memory."""
    bounds = _bounds(request)
    most = bounds.body_bytes if most is None else most
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise UnsupportedMedia(
            f"Content-Encoding {encoding[:40]!r} is not taken",
            hint="Bodies are sent as they are, so that their size is what it says",
        )
    told = _told(request)
    if told is not None and told > most:
        raise _too_large(most, told)
    size = await _received(request, bounds, most, take)
    exchange = request.scope.get("state", {}).get("exchange")
    if exchange is not None:
        exchange.received += size
    return size


async def read_json(request: Request, kind: type[T], most: int | None = None) -> T:
    """The body as `kind`, a msgspec.Struct. BadRequest names the place that does not fit."""
    check_json_type(request.headers.get("content-type"))
    body = await read(request, most)
    checked = partial(decode, body, kind, _bounds(request).json_depth)
    return await apart(checked) if len(body) > LONG else checked()


async def apart(call: Callable[[], T]) -> T:
    """Runs a long computation that releases the GIL in between, in another thread than the event
    loop."""
    return await asyncio.get_running_loop().run_in_executor(_apart, call)


def _bounds(request: Request) -> Bounds:
    service: Service = request.app.state.service
    return service.config.bounds


def _told(request: Request) -> int | None:
    said = request.headers.get("content-length")
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and len(said) < 20):
        raise BadRequest("Content-Length is not a number of bytes")
    return int(said)


async def _received(
    request: Request, bounds: Bounds, most: int, take: Callable[[bytes], object]
) -> int:
    receive = request.receive
    row = _row(request)
    size = 0
    begin = asyncio.get_running_loop().time() + bounds.body_seconds
    try:
        async with asyncio.timeout_at(begin) as clock:
            while True:
                message: Any = await receive()
                if message["type"] != "http.request":
                    raise Cancelled("the client has disconnected")
                part = message.get("body", b"")
                if part:
                    size += len(part)
                    if size > most:
                        raise _too_large(most, size)
                    take(part)
                if not message.get("more_body", False):
                    return size
                # The received bytes extend the deadline: a sender must keep a minimum rate.
                clock.reschedule(begin + size / max(1, bounds.body_bytes_per_second))
                if row is not None and size > LARGE:
                    await row.turn()
    except TimeoutError:
        raise SlowBody(
            f"the body did not come in time: {size} bytes of it did",
            hint=f"After {bounds.body_seconds:g} seconds, {bounds.body_bytes_per_second} bytes a "
            "second are expected",
        ) from None


def _row(request: Request) -> Row | None:
    """The queue in which large bodies wait for each other."""
    exchange: Exchange | None = request.scope.get("state", {}).get("exchange")
    bodies = None if exchange is None else exchange.bodies
    return None if bodies is None else bodies.row


def _too_large(most: int, asked: int) -> BodyTooLarge:
    return BodyTooLarge.of(f"the body has more than {most} bytes", most, asked)
