"""An operation of the API: the source of both a route and its part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..requests.endpoint import Endpoint
    from ..service import Service

__all__ = ["Handler", "Operation", "Parameter"]

Handler = Callable[["Request", "Service"], Awaitable["Response"]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Of the query."""

    name: str
    type: Any
    about: str


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    """Below /api/v1, with `{name}` for what may hold slashes."""
    id: str
    about: str
    handler: Handler | Endpoint
    takes: Any = None
    """The shape of the body."""
    gives: Any = None
    """The shape, or the union of shapes, of the answer; None: an empty one."""
    example: Mapping[str, Any] | None = None
    """A body."""
    takes_octets: str | None = None
    """What a body of bytes means."""
    gives_octets: str | None = None
    gives_events: bool = False
    socket_takes: Any = None
    """The shape of messages where the path is a WebSocket's, too: OpenAPI knows none."""
    parameters: tuple[Parameter, ...] = ()
    refuses: tuple[int, ...] = field(default=())
    """Statuses beside those that any operation can answer with."""
    status: int = 200
    admin: bool = False
