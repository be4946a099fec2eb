"""Alive, ready, draining: the answers to probes, and the end of the server.

On the first SIGTERM or Ctrl-C it drains: new requests are refused with 503, running requests may
finish within the drain's seconds, and streams are ended with an error that says why. On a second
one it ends at once; a worker, on a SIGINT.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .errors import Draining
from .workers.garbage import Collector

if TYPE_CHECKING:
    import socket
    import ssl
    from types import FrameType

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from .config import Config
    from .reload import OwnReload, Reloaded
    from .service import Service
    from .workers.heartbeats import Heartbeats
    from .workers.reloads import WorkerReload
    from .workers.worker_kind import WorkerKind

__all__ = ["CUT_OFF", "Lifecycle", "routes", "serve"]

CUT_OFF: Final = 1
"""Exit code: the drain's seconds were over before the last request had ended."""

# How often the drain checks whether the last request has ended.
_LOOK_SECONDS: Final = 0.02

# The longest that a draining server asks clients to wait. A new one is mostly ready by then.
_AGAIN_SECONDS: Final = 5.0

# After the drain, for what uvicorn still has open: answers on their way to slow readers.
_LAST_SECONDS: Final = 2


class _Entered:
    """One for all requests: it holds nothing of any."""

    __slots__ = ("_life",)

    def __init__(self, life: Lifecycle) -> None:
        self._life = life

    def __enter__(self) -> None:
        if self._life.draining:
            raise self._life.error()
        self._life.running += 1

    def __exit__(self, *_: object) -> None:
        self._life.running -= 1


class Lifecycle:
    """One a process; for the event loop, except where it is said."""

    def __init__(self, drain_seconds: float = 20.0) -> None:
        self.drain_seconds = drain_seconds
        self.ready = False
        self.draining = False
        self.running = 0
        self.beat: Callable[[], None] | None = None
        """Called several times a second by the event loop of a worker."""
        self.heartbeats: Heartbeats | None = None
        """Of all workers; None: the server is one process."""
        self.reload: Callable[[], Awaitable[Reloaded]] | None = None
        """Reads the configuration again; None: it is not from a file."""
        self._entered = _Entered(self)
        self._ends: float | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def now_ready(self) -> None:
        """Called when the tokenizers of the configuration are loaded. From any thread."""
        self.ready = True

    def entered(self) -> _Entered:
        """Around each request that is no probe. Draining: the server takes no more."""
        return self._entered

    def error(self) -> Draining:
        error = Draining(
            "this server is about to stop", hint="ask again: another one, or the next, will answer"
        )
        if self._ends is not None:
            # Most drains end long before their seconds are over.
            error.retry_after = min(_AGAIN_SECONDS, max(1.0, self._ends - time.monotonic()))
        return error

    def drain(self) -> None:
        if self.draining:
            return
        self.draining = True
        self._ends = time.monotonic() + self.drain_seconds
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait_draining(self) -> None:
        """Until the drain begins; any number may wait."""
        if self.draining:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    async def drained(self) -> bool:
        """Drains. False: the seconds were over and something still ran."""
        self.drain()
        assert self._ends is not None
        while self.running:
            left = self._ends - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(_LOOK_SECONDS, left))
        return True


def routes(service: Service) -> list[Route]:
    """`/health`: the process answers. `/ready`: it accepts work."""
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from .observe import metrics

    lifecycle = service.lifecycle
    fresh = {"cache-control": "no-store"}

    def unavailable(message: str) -> Response:
        body = {
            "error": {"code": 503, "message": message, "type": "unavailable_error"},
            "error_type": "healthcheck",
        }
        return JSONResponse(body, 503, {**fresh, "retry-after": "1"})

    async def health(request: Request) -> Response:
        found: dict[str, Any] = {"status": "ok"}
        if lifecycle.heartbeats is not None:
            found["workers"] = lifecycle.heartbeats.plain()
        if service.config.storage.path != "memory":
            found["store"] = service.checks.last()
        return JSONResponse(found, headers=fresh)

    async def ready(request: Request) -> Response:
        if lifecycle.draining:
            return unavailable("Draining")
        if not lifecycle.ready:
            return unavailable("Loading model")
        return JSONResponse({"status": "ready"}, headers=fresh)

    return [
        Route("/health", health, methods=["GET"]),
        Route("/ready", ready, methods=["GET"]),
        *metrics.routes(service),
    ]


def serve(
    app: Any,
    lifecycle: Lifecycle,
    sockets: list[socket.socket],
    kind: WorkerKind | None = None,
    *,
    context: ssl.SSLContext | None = None,
    reload: OwnReload | WorkerReload | None = None,
    **options: Any,
) -> int:
    """Runs uvicorn in this process until a signal ends it, and answers the exit code.

    `context`: connections on the sockets begin with a TLS handshake. `options` are those of
    `uvicorn.Config`.
    """
    import uvicorn

    from .http.options import reconfigure
    from .http.tls import TlsListener

    class Server(uvicorn.Server):
        signals = 0
        code = 0
        drained: asyncio.Task[None] | None = None
        tls: TlsListener | None = None

        def reconfigure(self, config: Config, context: ssl.SSLContext | None) -> None:
            reconfigure(self.config, config)
            if self.tls is not None and context is not None:
                self.tls.context = context

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            # A signal handler, which may run between any two instructions: it only counts.
            if lifecycle.beat is None:
                self.signals += 1
            else:
                # A worker: a service manager may send it a SIGTERM beside the supervisor's.
                self.signals = max(self.signals, 2 if sig == signal.SIGINT else 1)
            if self.signals > 1:
                self.code = CUT_OFF if lifecycle.running else self.code
                self.should_exit = self.force_exit = True

        async def main_loop(self) -> None:
            collector = Collector(lambda: self.server_state.total_requests)
            collector.start()
            if kind is not None:
                kind.start(asyncio.get_running_loop(), self.arrived)
            if context is not None:
                kind_of_http: Any = self.config.http_protocol_class
                self.tls = TlsListener(context, kind_of_http.counted, sockets, self.protocol)
                self.tls.start()
            if reload is not None:
                reload.start(self.reconfigure)
            try:
                await super().main_loop()
            finally:
                collector.stop()
                if reload is not None:
                    reload.stop()
                if self.tls is not None:
                    self.tls.stop()
                if kind is not None:
                    kind.stop()

        def arrived(self, connection: socket.socket, begun: bytes) -> None:
            """A connection from another process, which has read the beginning of a request on
            it."""
            loop = asyncio.get_running_loop()
            made = partial(self.protocol, arrived=begun)
            task = loop.create_task(_taken_over(connection, made))
            arriving.add(task)
            task.add_done_callback(arriving.discard)

        def protocol(self, **named: Any) -> Any:
            kind: Any = self.config.http_protocol_class
            state = self.lifespan.state
            return kind(
                config=self.config, server_state=self.server_state, app_state=state, **named
            )

        async def on_tick(self, counter: int) -> bool:
            if lifecycle.beat is not None:
                lifecycle.beat()
            if self.signals and self.drained is None:
                self.drained = asyncio.create_task(self.drain())
            return await super().on_tick(counter)

        async def drain(self) -> None:
            if not await lifecycle.drained():
                self.code = CUT_OFF
                self.config.timeout_graceful_shutdown = 0
            self.should_exit = True

    arriving: set[asyncio.Task[None]] = set()
    # uvicorn's own handlers would write on the event loop.
    log = {"log_level": "warning", "log_config": None}
    options = {"timeout_graceful_shutdown": _LAST_SECONDS, **log, **options}
    server = Server(uvicorn.Config(app, **options))
    server.run(sockets=sockets if context is None else [])
    if not server.started:
        return 3
    return server.code


async def _taken_over(connection: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
    except OSError:
        # The client has left meanwhile.
        connection.close()
