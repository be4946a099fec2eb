"""One line of JSON a request: its route, tenant, status and duration.

No line holds a text, a path, a header or a name that a caller chose: so a caller can inject
nothing, and no text leaks. The one exception is the name of the request, `X-Request-ID`, of which
few characters are kept. A tenant is an id there, the same as in the metrics; so is its key.

A thread of its own formats and writes the lines: `line_writer` says how.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Final

import msgspec

from .line_writer import LineWriter

if TYPE_CHECKING:
    from ..requests.record import Exchange

__all__ = ["AccessLog"]

_METHODS: Final = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"))


class _Line(msgspec.Struct):
    time: str
    method: str
    route: str
    dialect: str
    status: int
    seconds: float
    received: int
    sent: int
    tenant: str | None
    admin: bool
    key: str | None
    client: str | None
    request: str | None
    trace: str | None
    error: str | None


class AccessLog:
    def __init__(self, stream: IO[str], label: Callable[[str], str]) -> None:
        """`label`: from a tenant's name to its id."""
        self._label = label
        self._encode = msgspec.json.Encoder().encode_lines
        self._lines = LineWriter(stream, self._encoded, "pywasmtok-access-log")

    @property
    def dropped(self) -> int:
        return self._lines.dropped

    def write(self, exchange: Exchange) -> None:
        """On the event loop; never waits."""
        self._lines.write((time.time(), exchange))

    def close(self) -> None:
        self._lines.close()

    def _encoded(self, waiting: list[tuple[float, Exchange]]) -> bytes:
        return self._encode([self._line(*one) for one in waiting])

    def _line(self, at: float, exchange: Exchange) -> _Line:
        caller, trace = exchange.caller, exchange.trace
        whole, milliseconds = divmod(int(at * 1000), 1000)
        return _Line(
            f"{_second(whole)}.{milliseconds:03}Z",
            exchange.method if exchange.method in _METHODS else "other",
            exchange.route,
            exchange.dialect,
            exchange.status,
            round(exchange.seconds, 6),
            exchange.received,
            exchange.sent,
            None if caller is None else self._label(caller.tenant),
            caller is not None and caller.admin,
            None if caller is None else caller.key_id,
            _address(exchange.client),
            exchange.request_id.decode("ascii"),
            None if trace is None else trace.trace_id,
            exchange.error,
        )


@lru_cache(maxsize=8)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=1024)
def _address(said: str | None) -> str | None:
    """The address may come from a proxy's header: any other text is dropped."""
    try:
        return None if said is None else str(ipaddress.ip_address(said.partition("%")[0]))
    except ValueError:
        return None
