"""One line of JSON a request: its route, tenant, status and duration.

No line holds a text, a path, a header or a name that a caller chose: so a caller can inject
nothing, and no text leaks. The one exception is the name of the request, `X-Request-ID`, of which
few characters are kept. A tenant is an id there, the same as in the metrics; so is its key.

A thread of its own formats and writes the lines: a pipe without a reader would block the event
loop. Lines that it cannot write are counted and dropped. The server's end waits a bounded time.
"""

from __future__ import annotations

import ipaddress
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ..requests.record import Exchange

__all__ = ["AccessLog"]

_METHODS: Final = frozenset(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"))

# Lines that may wait for the thread; some seconds of a busy server.
_MOST_WAITING: Final = 20_000

# Lines of so long are written together: waking a thread for each would cost more than the line.
_TOGETHER_SECONDS: Final = 0.1


# At the end, for lines that wait.
_LAST_SECONDS: Final = 2.0


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
        self.dropped = 0
        self._stream = stream
        self._file = _file_of(stream)
        self._label = label
        self._encode = msgspec.json.Encoder().encode_lines
        self._waiting: deque[tuple[float, Exchange]] = deque()
        self._filled = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pywasmtok-access-log", daemon=True)
        self._thread.start()

    def write(self, exchange: Exchange) -> None:
        """On the event loop; never waits."""
        if len(self._waiting) >= _MOST_WAITING:
            self.dropped += 1
            return
        self._waiting.append((time.time(), exchange))
        if not self._filled.is_set():
            self._filled.set()

    def close(self, seconds: float = _LAST_SECONDS) -> None:
        """Writes the waiting lines, if the output accepts them in time."""
        self._stopped.set()
        self._filled.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._filled.wait()
            self._stopped.wait(_TOGETHER_SECONDS)
            self._filled.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        lines = []
        while self._waiting:
            lines.append(self._line(*self._waiting.popleft()))
        if not lines:
            return
        try:
            self._write_all(self._encode(lines))
        except (OSError, ValueError):
            # The pipe has no reader, the disk is full, or the file was closed: the server goes on.
            self.dropped += len(lines)

    def _write_all(self, data: bytes) -> None:
        if self._file is None:
            self._stream.write(data.decode())
            self._stream.flush()
            return
        # Bypasses the stream and its lock: a thread that is blocked there would block all other
        # writers, and the end of the interpreter.
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]

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


def _file_of(stream: IO[str]) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


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
