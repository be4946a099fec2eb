"""Probes, and the end of a server: what is new is refused, what runs may finish."""

from __future__ import annotations

import asyncio
import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pywasmtok.server.errors import Draining, headers_of, status_of
from pywasmtok.server.lifecycle import CUT_OFF, Lifecycle

SECONDS = 60

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signals to end a server with")

# A server of its own: signals are for the main thread of a process.
SERVER = """
import asyncio, socket, sys
from types import SimpleNamespace
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route, Router
from pywasmtok.server.config import Config
from pywasmtok.server.errors import Draining, body_of, headers_of
from pywasmtok.server.lifecycle import Lifecycle, routes, serve

lifecycle = Lifecycle(float(sys.argv[1]))
if "worker" in sys.argv:
    lifecycle.beat = lambda: None
service = SimpleNamespace(lifecycle=lifecycle, config=Config(), metrics=None)
gate = asyncio.Event()

async def slow(request):
    print("begun", flush=True)
    await gate.wait()
    return PlainTextResponse("finished")

async def quick(request):
    return PlainTextResponse("quick")

async def open_gate(request):
    gate.set()
    return PlainTextResponse("open")

async def load(request):
    lifecycle.now_ready()
    return PlainTextResponse("loaded")

async def stream(request):
    async def events():
        yield "event: text\\ndata: {}\\n\\n"
        await lifecycle.wait_draining()
        yield "event: error\\ndata: " + lifecycle.error().kind + "\\n\\n"
    return StreamingResponse(events(), media_type="text/event-stream")

paths = {"/slow": slow, "/quick": quick, "/stream": stream}
inner = Router([*routes(service), *(Route(path, call) for path, call in paths.items())])
tests = Router([Route("/gate", open_gate), Route("/load", load)])

async def app(scope, receive, send):
    if scope["path"] in ("/gate", "/load"):
        return await tests(scope, receive, send)
    if scope["path"] in ("/health", "/ready"):
        return await inner(scope, receive, send)
    try:
        with lifecycle.entered():
            await inner(scope, receive, send)
    except Draining as error:
        await JSONResponse(body_of(error), 503, headers_of(error))(scope, receive, send)

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
sys.exit(serve(app, lifecycle, [listening], lifespan="off"))
"""


class Server:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, *arguments], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.line())

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)

    def get(self, path: str) -> http.client.HTTPResponse:
        connection = self.connection()
        connection.request("GET", path)
        return connection.getresponse()

    def until_draining(self) -> None:
        end = time.monotonic() + SECONDS
        while self.get("/ready").read().find(b"Draining") < 0:
            assert time.monotonic() < end


@contextmanager
def running(*more: str, drain_seconds: float = SECONDS) -> Iterator[Server]:
    server = Server(str(drain_seconds), *more)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def test_probes_say_whether_it_lives_and_whether_it_can_work() -> None:
    with running() as server:
        health = server.get("/health")
        assert (health.status, health.read()) == (200, b'{"status":"ok"}')
        loading = server.get("/ready")
        assert loading.status == 503
        assert b'"Loading model"' in loading.read()
        server.get("/load").read()
        ready = server.get("/ready")
        assert (ready.status, ready.read()) == (200, b'{"status":"ready"}')


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_refuses_what_is_new_and_lets_the_rest_finish(number: int) -> None:
    with running() as server:
        server.get("/load").read()
        slow, stream = server.connection(), server.connection()
        slow.request("GET", "/slow")
        assert server.line() == "begun"
        stream.request("GET", "/stream")
        events = stream.getresponse()
        server.process.send_signal(number)
        server.until_draining()
        refused = server.get("/quick")
        assert refused.status == 503
        assert refused.headers["connection"] == "close"
        assert 1 <= int(refused.headers["retry-after"]) <= 5
        assert b'"kind":"draining"' in refused.read()
        assert server.get("/health").status == 200
        # A stream ends by saying why.
        assert events.read().rstrip().endswith(b"event: error\ndata: draining")
        server.get("/gate").read()
        assert slow.getresponse().read() == b"finished"
        assert server.process.wait(SECONDS) == 0


def test_a_server_without_work_ends_at_once() -> None:
    with running() as server:
        server.get("/quick").read()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == 0


def test_what_does_not_finish_in_time_is_cut_off_and_the_exit_code_says_so() -> None:
    with running(drain_seconds=0.1) as server:
        slow = server.connection()
        slow.request("GET", "/slow")
        assert server.line() == "begun"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == CUT_OFF
        assert slow.getresponse().status == 500


def test_a_second_signal_does_not_wait() -> None:
    with running() as server:
        slow = server.connection()
        slow.request("GET", "/slow")
        assert server.line() == "begun"
        server.process.send_signal(signal.SIGTERM)
        server.until_draining()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == CUT_OFF


def test_a_worker_ends_at_once_when_its_supervisor_says_so_only() -> None:
    """A service manager may send SIGTERM to all processes, and the supervisor sends it, too."""
    with running("worker") as server:
        slow = server.connection()
        slow.request("GET", "/slow")
        assert server.line() == "begun"
        for _ in range(3):
            server.process.send_signal(signal.SIGTERM)
            server.until_draining()
        server.get("/gate").read()
        assert slow.getresponse().read() == b"finished"
        assert server.process.wait(SECONDS) == 0
    with running("worker") as server:
        server.connection().request("GET", "/slow")
        assert server.line() == "begun"
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(SECONDS) == CUT_OFF


def test_draining_is_a_503_that_closes_the_connection() -> None:
    lifecycle = Lifecycle(3600.0)
    with lifecycle.entered():
        assert lifecycle.running == 1
        lifecycle.drain()
    assert lifecycle.running == 0
    with pytest.raises(Draining) as refused, lifecycle.entered():
        raise AssertionError("it takes no more")
    assert status_of(refused.value) == 503
    headers = headers_of(refused.value)
    assert headers["connection"] == "close"
    assert headers["retry-after"] == "5"


def test_all_who_wait_for_the_drain_are_told() -> None:
    async def main() -> Any:
        lifecycle = Lifecycle(SECONDS)
        waiting = [asyncio.ensure_future(lifecycle.wait_draining()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting.pop().cancel()
        lifecycle.drain()
        lifecycle.drain()
        await asyncio.gather(*waiting)
        await lifecycle.wait_draining()
        return await lifecycle.drained()

    assert asyncio.run(main()) is True
