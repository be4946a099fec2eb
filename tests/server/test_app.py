"""What the application does around every handler."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from pywasmtok.errors import DeadlineExceeded, InputTooLarge, InvalidToken, MemoryLimit
from pywasmtok.server import app as app_module
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.identity import need_admin
from pywasmtok.server.config import Config, Numbers
from pywasmtok.server.contract import LOCAL, KeyRecord
from pywasmtok.server.errors import Draining, Forbidden
from pywasmtok.server.requests.record import Exchange, route_class
from pywasmtok.server.requests.responses import answer
from pywasmtok.tenants.errors import Overloaded, StorageFull, TooManyRequests

from .live import Connection, serving

MARKER = "text-of-a-request-that-nobody-may-see"
KEY = "pwt_" + "k" * 43
ADMIN = "pwt_" + "a" * 43


class Recorder:
    """Stands for the metrics, the log, the keys and the life of a server."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.metrics = SimpleNamespace(request=self._requested)
        self.access_log = SimpleNamespace(write=self._written)
        self.keys = SimpleNamespace(find=self._find)
        self.lifecycle = SimpleNamespace(entered=self._entered)
        self.requests: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.draining = False
        self.inside = 0

    def _requested(self, exchange: Exchange) -> None:
        self.requests.append(msgspec.structs.asdict(exchange))

    def _written(self, exchange: Exchange) -> None:
        self.lines.append(msgspec.structs.asdict(exchange))

    def _find(self, key: str) -> KeyRecord | None:
        tenants = {KEY: "acme", ADMIN: None}
        return KeyRecord("k1", "", tenants[key], 0.0) if key in tenants else None

    @contextmanager
    def _entered(self) -> Iterator[None]:
        if self.draining:
            raise Draining("the server is about to stop")
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


async def good(request: Request) -> Response:
    caller = request.state.caller
    return answer({"tenant": caller and caller.tenant, "name": request.path_params.get("name")})


def failing(error: Exception) -> Any:
    async def handler(request: Request) -> Response:
        raise error

    return handler


async def broken(request: Request) -> Response:
    async def parts() -> Any:
        yield b"some"
        raise InvalidToken("too late")

    return StreamingResponse(parts())


async def admins(request: Request) -> Response:
    need_admin(request)
    return answer({})


async def socket(websocket: WebSocket) -> None:
    if websocket.query_params.get("refuse"):
        raise Forbidden("not this one")
    await websocket.accept()
    await websocket.send_text(websocket.state.caller.tenant)
    if websocket.query_params.get("fail"):
        raise RuntimeError(MARKER)
    await websocket.receive_text()


def retry(error: Any, after: float) -> Any:
    error.retry_after = after
    return error


ERRORS: dict[str, tuple[Exception, int]] = {
    "quota": (retry(TooManyRequests("too many"), 2.2), 429),
    "full": (retry(Overloaded("no room"), 0.1), 503),
    "large": (InputTooLarge.of("too large", 10, 20), 413),
    "late": (DeadlineExceeded.of("too late", 0.5, None), 504),
    "memory": (MemoryLimit.of("too much", 1, 2), 507),
    "disk": (StorageFull("no room"), 507),
    "bug": (RuntimeError(MARKER), 500),
    "key": (KeyError(MARKER), 500),
}


def routes() -> list[BaseRoute]:
    return [
        Route("/good", good, methods=["GET", "POST"]),
        Route("/tokenize", good, methods=["POST"]),
        Route("/api/v1/tokenizers/{name:path}/encode", good, methods=["POST"]),
        Route("/api/v1/tenants", admins, methods=["GET"]),
        Route("/health", good, methods=["GET"]),
        Route("/metrics", good, methods=["GET"]),
        Route("/broken", broken, methods=["GET"]),
        WebSocketRoute("/socket", socket),
        *(
            Route(f"/{name}", failing(error), methods=["GET"])
            for name, (error, _) in ERRORS.items()
        ),
    ]


@contextmanager
def client_of(**config: Any) -> Iterator[tuple[TestClient, Recorder]]:
    recorder = Recorder(Config(**config))
    app = create_app(recorder, routes())
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client, recorder


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_statuses_and_say_nothing_of_the_server(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with client_of() as (client, recorder), caplog.at_level(logging.DEBUG):
        found = client.get(f"/{name}")
    error, status = ERRORS[name]
    assert found.status_code == status
    assert MARKER not in found.text + caplog.text + str(recorder.lines)
    said = found.json()["error"]
    assert recorder.requests[0]["status"] == status
    assert recorder.requests[0]["error"] == said["kind"]
    if status in (429, 503):
        assert found.headers["retry-after"] == {"quota": "3", "full": "1"}[name]
        assert said["retry_after"] == error.retry_after  # type: ignore[attr-defined]
    if name == "large":
        assert (said["limit"], said["asked"]) == (10, 20)


def test_a_bug_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    with client_of() as (client, _):
        client.get("/bug")
    assert "RuntimeError in" in caplog.text
    assert "failing.<locals>.handler" in caplog.text


def test_paths_and_methods() -> None:
    with client_of() as (client, recorder):
        assert client.get("/good").json() == {"tenant": LOCAL, "name": None}
        found = client.delete("/good")
        assert found.status_code == 405
        assert found.headers["allow"] == "GET, HEAD, POST"
        assert client.head("/good").status_code == 200
        assert client.get("/nowhere").status_code == 404
        named = client.post("/api/v1/tokenizers/a%2Fb:c/encode")
        assert named.json()["name"] == "a/b:c"
        assert client.get("/api/v1/tokenizers/x/encode").status_code == 405
        assert client.get("/socket").status_code == 404
        assert not any("a/b" in str(line) for line in recorder.lines)


def test_each_request_is_told_once() -> None:
    with client_of() as (client, recorder):
        client.post(
            "/tokenize",
            headers={"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"},
        )
        client.get("/tokenize")
        client.get("/nowhere")
    assert [line["route"] for line in recorder.requests] == ["tokenize", "other", "other"]
    assert [line["status"] for line in recorder.lines] == [200, 405, 404]
    assert recorder.lines[0]["trace"].trace_id == "a" * 32
    assert recorder.lines[0]["sent"] > 0
    assert all(line["seconds"] >= 0 for line in recorder.lines)


def test_keys_are_asked_for_before_anything_is_read() -> None:
    with client_of(identity=True) as (client, recorder):
        for path in ("/good", "/metrics", "/api/v1/tenants"):
            found = client.get(path)
            assert found.status_code == 401
            assert found.headers["www-authenticate"] == "Bearer"
        assert client.get("/health").json()["tenant"] is None
        good = {"authorization": f"Bearer {KEY}"}
        assert client.get("/good", headers=good).json()["tenant"] == "acme"
        assert client.get("/api/v1/tenants", headers=good).status_code == 403
        admin = {"x-api-key": ADMIN}
        assert client.get("/api/v1/tenants", headers=admin).status_code == 200
        assert not any(KEY in str(line) or ADMIN in str(line) for line in recorder.lines)


def test_metrics_may_be_open() -> None:
    with client_of(identity=True, metrics=Numbers(open=True)) as (client, _):
        assert client.get("/metrics").status_code == 200


def test_a_server_that_drains_answers_probes_only() -> None:
    with client_of() as (client, recorder):
        recorder.draining = True
        found = client.get("/good")
        assert found.status_code == 503
        assert found.json()["error"]["kind"] == "draining"
        assert client.get("/health").status_code == 200


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    recorder = Recorder(Config())
    with (
        serving(create_app(recorder, routes())) as port,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        httpx.get(f"http://127.0.0.1:{port}/broken", timeout=60)
    assert recorder.requests[0]["error"] == "invalid_token"
    assert recorder.inside == 0


def test_sockets_have_identity_and_are_told() -> None:
    with client_of(identity=True) as (client, recorder):
        with (
            pytest.raises(WebSocketDenialResponse) as refused,
            client.websocket_connect("ws://127.0.0.1/socket"),
        ):
            pass
        assert refused.value.status_code == 401
        headers = {"authorization": f"Bearer {KEY}"}
        with client.websocket_connect("ws://127.0.0.1/socket", headers=headers) as connected:
            assert connected.receive_text() == "acme"
            assert recorder.inside == 1
            connected.send_text("x")
    assert recorder.inside == 0
    assert [line["status"] for line in recorder.lines][-1] == 101
    assert recorder.lines[0]["error"] == "unauthorized"


def test_sockets_refuse_and_fail_with_a_kind(caplog: pytest.LogCaptureFixture) -> None:
    with client_of() as (client, recorder):
        with (
            pytest.raises(WebSocketDenialResponse) as refused,
            client.websocket_connect("ws://127.0.0.1/socket?refuse=1"),
        ):
            pass
        assert refused.value.status_code == 403
        assert "not this one" in refused.value.text
        with client.websocket_connect("ws://127.0.0.1/socket?fail=1") as connected:
            connected.receive_text()
            with pytest.raises(WebSocketDisconnect) as closed:
                connected.receive_text()
        assert (closed.value.code, closed.value.reason) == (1011, "host_error")
        assert MARKER not in caplog.text + str(recorder.lines)


def test_sockets_go_through_the_real_server() -> None:
    recorder = Recorder(Config())
    with serving(create_app(recorder, routes())) as port:
        with connect(f"ws://127.0.0.1:{port}/socket") as connected:
            assert connected.recv(60) == LOCAL
            connected.send("x")
        with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{port}/nowhere"):
            pass
        assert refused.value.response.status_code == 404
        assert b"not_found" in refused.value.response.body
        page = {"Origin": "http://evil.example"}
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"ws://127.0.0.1:{port}/socket", additional_headers=page),
        ):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("/api/v1/tokenizers/{name}/encode", "encode"),
        ("/api/v1/tokenizers/{name}/chat/encode", "encode"),
        ("/api/v1/tokenizers/{name}/chat/render", "chat"),
        ("/api/v1/tokenizers/{name}", "tokenizers"),
        ("/api/v1/tokenizers", "tokenizers"),
        ("/api/v1/aliases/{name}", "tokenizers"),
        ("/api/v1/tenants/{name}/keys/{id}", "admin"),
        ("/api/v1/usage", "other"),
        ("/ready", "probe"),
        ("/{rest:path}", "other"),
    ],
)
def test_a_route_is_one_of_few_words(pattern: str, name: str) -> None:
    assert route_class(pattern) == name


def asking(key: str) -> bytes:
    return f"GET /good HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\n\r\n".encode()


def test_who_guesses_keys_waits_and_good_keys_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """For ever, here: a good one from the same address is answered meanwhile."""
    monkeypatch.setattr(app_module, "LATE_SECONDS", 3600.0)
    recorder = Recorder(Config(identity=True))
    app = create_app(recorder, [Route("/good", good)])
    with serving(app) as port:
        statuses = []
        for _ in range(2):
            with Connection(port) as guessing:
                guessing.socket.settimeout(2)
                try:
                    for place in range(60):
                        guessing.send(asking(f"guess{place}"))
                        statuses.append(guessing.answer()[0])
                except TimeoutError:
                    statuses.append(429)
                with Connection(port) as other:
                    other.send(asking(KEY))
                    assert other.answer()[0] == 200
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert statuses.count(429) == 2
