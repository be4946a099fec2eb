"""WebSockets that bring more than their share at once, and large answers: others are served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import small
import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from pywasmtok.server.app import App, create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds, Config, Streams
from pywasmtok.server.http import websocket as sockets
from pywasmtok.server.http.connections import Connections
from pywasmtok.server.http.options import uvicorn_options
from pywasmtok.server.http.protocol import BoundedHttp
from pywasmtok.server.http.websocket import PatientSockets

from .calls import words_of
from .live import Connection, service_of, serving
from .serving import until

PATH = "/api/v1/tokenizers/small/stream"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    path = small.write(tmp_path_factory.mktemp("small"))
    with service_of({"small": str(path)}) as service:
        yield create_app(service)


class Seen:
    """What the protocol below is given, and how much waits for the application then."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.waiting: list[int] = []
        below = WebSocketsSansIOProtocol.data_received

        def data_received(protocol: Any, data: bytes) -> None:
            if protocol.handshake_initiated:
                self.sizes.append(len(data))
            below(protocol, data)
            self.waiting.append(protocol.queue.qsize())

        patch.setattr(WebSocketsSansIOProtocol, "data_received", data_received)


def frame(message: Any) -> bytes:
    data = json.dumps(message).encode() if not isinstance(message, bytes) else message
    return Frame(Opcode.TEXT, data).serialize(mask=True)


HANDSHAKE = (
    f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()


def opened(port: int) -> Connection:
    for _ in range(100):
        connection = Connection(port)
        connection.send(HANDSHAKE)
        status = connection.answer()[0]
        if status:
            break
        # It was closed, since the head came too late.
        connection.socket.close()
    assert status == 101
    return connection


def test_a_read_of_many_messages_is_taken_in_pieces(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(monkeypatch)
    with serving(app) as port, connect(f"ws://127.0.0.1:{port}{PATH}") as socket:
        flood = b"".join(frame({"stream": str(number)}) for number in range(3000))
        socket.socket.sendall(flood)
        for _ in range(3000):
            assert "error" in json.loads(socket.recv(60))
    assert sum(seen.sizes) >= len(flood)
    assert max(seen.sizes) <= sockets._PIECE
    # No more messages than a piece has wait for the application.
    assert max(seen.waiting) <= sockets._PIECE // len(frame({"stream": "1"})) + 2


def test_the_answers_are_those_of_messages_that_come_one_by_one(app: App) -> None:
    messages = [
        {"stream": "a", "open": True},
        *({"stream": "a", "ids": [n]} for n in range(97, 200)),
    ]
    with serving(app) as port:
        with connect(f"ws://127.0.0.1:{port}{PATH}") as socket:
            one_by_one = []
            for message in messages:
                socket.send(json.dumps(message))
                one_by_one.append(json.loads(socket.recv(60)))
        with connect(f"ws://127.0.0.1:{port}{PATH}") as socket:
            # Cut wherever it may be cut on its way.
            whole = b"".join(map(frame, messages))
            for start in range(0, len(whole), 700):
                socket.socket.sendall(whole[start : start + 700])
            assert [json.loads(socket.recv(60)) for _ in messages] == one_by_one


def test_a_long_message_comes_through_among_short_ones_and_pings(app: App) -> None:
    ping = Frame(Opcode.PING, b"x" * 100).serialize(mask=True)
    long = {"stream": "a", "open": True, "ids": [97] * 60_000}
    with serving(app) as port, connect(f"ws://127.0.0.1:{port}{PATH}") as socket:
        socket.socket.sendall(
            ping * 5000 + frame({"stream": "none"}) + frame(long) + ping + frame({"stream": "b"})
        )
        first, second, third = (json.loads(socket.recv(60)) for _ in range(3))
    assert "error" in first
    assert "error" in third
    assert len(second["text"]) >= 60_000


def test_who_floods_and_leaves_leaves_nothing(app: App) -> None:
    with serving(app) as port:
        for _ in range(20):
            with opened(port) as connection:
                connection.send(frame({"stream": "none"}) * 2000)
        with connect(f"ws://127.0.0.1:{port}{PATH}") as socket:
            socket.send(json.dumps({"stream": "none"}))
            assert "error" in json.loads(socket.recv(60))


class Slow:
    """The waits of sockets for their next frame, and how many bytes were ever left to send."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waits: list[float] = []
        self.unsent = 0
        wait, ping = PatientSockets._seconds_to_wait, PatientSockets.handle_ping

        def seconds_to_wait(protocol: PatientSockets) -> float:
            self.waits.append(wait(protocol))
            return self.waits[-1]

        def handle_ping(protocol: PatientSockets) -> None:
            ping(protocol)
            self.unsent = max(self.unsent, protocol.transport.get_write_buffer_size())

        patch.setattr(PatientSockets, "_seconds_to_wait", seconds_to_wait)
        patch.setattr(PatientSockets, "handle_ping", handle_ping)


def test_a_client_that_takes_no_pongs_is_disconnected(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    config = Config(
        bounds=Bounds(header_seconds=0.5), streams=Streams(messages_per_second=1_000_000_000)
    )
    pings = Frame(Opcode.PING, b"x" * 125).serialize(mask=True) * 1000
    with serving(app, config) as port, opened(port) as connection:
        sent = 0
        while connection.send(pings):
            sent += len(pings)
            assert sent < 100_000_000
    assert 0 < slow.unsent < 1_000_000


@pytest.mark.parametrize("opcode", [Opcode.PING, Opcode.PONG, Opcode.CONT])
def test_frames_that_the_application_does_not_see_have_the_rate_of_messages(
    app: App, monkeypatch: pytest.MonkeyPatch, opcode: Opcode
) -> None:
    slow = Slow(monkeypatch)
    flood = Frame(opcode, b"", fin=opcode is not Opcode.CONT).serialize(mask=True) * 150
    last = frame({"stream": "none"})
    if opcode is Opcode.CONT:
        # Parts of one message.
        begin = Frame(Opcode.TEXT, b'{"stream":', fin=False).serialize(mask=True)
        flood = begin + flood
        last = Frame(Opcode.CONT, b'"none"}').serialize(mask=True)
    with (
        serving(app, Config(streams=Streams(messages_per_second=100))) as port,
        connect(f"ws://127.0.0.1:{port}{PATH}") as socket,
    ):
        socket.socket.sendall(flood)
        socket.socket.sendall(last)
        assert "error" in json.loads(socket.recv(60))
    assert max(slow.waits) > 0


def test_a_socket_that_is_refused_or_accepted_is_no_line_of_uvicorn(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with serving(app) as port:
        with opened(port):
            pass
        with Connection(port) as connection:
            connection.send(HANDSHAKE.replace(b"small/stream", b"secret-name/stream"))
            assert connection.answer()[0] == 404
    assert "stream" not in caplog.text


def head(operation: str, body: bytes) -> bytes:
    return (
        f"POST /api/v1/tokenizers/small/{operation} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()


def test_a_large_answer_goes_in_parts_and_others_are_served_meanwhile(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    whole = app.__class__.__call__

    async def watched(one: App, scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            sent.append(len(message.get("body", b"")))
            await send(message)

        await whole(one, scope, receive, sending)

    monkeypatch.setattr(App, "__call__", watched)
    body = json.dumps({"text": "a b c d " * 100_000}).encode()
    other = b'{"text": "a b"}'
    with serving(app) as port, Connection(port) as large, Connection(port) as beside:
        large.send(head("encode", body) + body)
        # It is not read for now: its parts wait, and nobody else does.
        for _ in range(50):
            beside.send(head("count", other) + other)
            assert beside.answer()[0] == 200
        status, answer = large.answer()
    assert status == 200
    found = json.loads(answer)
    assert found["count"] == len(found["ids"]) > 400_000
    assert sum(sent) >= len(answer)
    assert max(sent) <= 64 << 10


def test_what_a_client_does_not_take_of_a_socket_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(words_of("x" * 60_000))
    # More than the buffers of the system take.
    asked = frame({"stream": "a", "open": True, "ids": [1] * 260})
    with service_of({"small": str(path)}) as service:
        app = create_app(service)
        bodies = app.state.bodies
        with serving(app) as port, opened(port) as connection:
            connection.send(asked)
            until(lambda: bodies.held > 15_000_000)
            # What is sent is not counted any more. The answer to this comes after it.
            connection.send(frame({"stream": "none"}))
            while bodies.held:
                assert connection.socket.recv(1 << 20)


def test_an_event_waits_until_there_is_room_for_it(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(words_of("é" * 60_000))
    with service_of({"small": str(path)}) as service:
        app = create_app(service)
        bodies = app.state.bodies
        with serving(app) as port, connect(f"ws://127.0.0.1:{port}{PATH}", max_size=None) as socket:
            socket.send(json.dumps({"stream": "b", "open": True}))
            assert json.loads(socket.recv(60))["text"] == ""
            # Too little for the bytes of the next event, and enough for its characters.
            full = 8 * service.config.bounds.body_bytes - 100_000
            bodies.take("local", full)
            socket.send(json.dumps({"stream": "a", "open": True, "ids": [1]}))
            with pytest.raises(TimeoutError):
                socket.recv(0.5)
            bodies.give_back("local", full)
            assert json.loads(socket.recv(60))["text"] == "é" * 60_000
            # The other stream goes on.
            socket.send(json.dumps({"stream": "b", "ids": [], "finish": True}))
            assert json.loads(socket.recv(60))["ended"]


def test_a_refused_handshake_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    known: list[Any] = []
    with (
        service_of({"demo": "builtin:demo"}, identity=True) as service,
        pytest.MonkeyPatch.context() as patch,
        serving(create_app(service), service.config) as port,
    ):
        patch.setattr(Connections, "known", lambda self, connection: known.append(connection))
        with Connection(port) as connection:
            connection.send(HANDSHAKE)
            assert connection.answer()[0] == 401
            assert connection.is_closed()
        # A connection without a key may be closed to make room.
        assert known == []
        key, record = make_key(None)
        service.store.put_key(record)
        headers = {"authorization": f"Bearer {key}"}
        url = f"ws://127.0.0.1:{port}/api/v1/tokenizers/demo/stream"
        with connect(url, additional_headers=headers) as socket:
            socket.send(json.dumps({"stream": "none"}))
            assert "error" in json.loads(socket.recv(60))
            assert len(known) == 1
    assert [line for line in caplog.records if line.name == sockets.log.name] == []


@pytest.mark.parametrize("answers", [True, False])
def test_a_socket_that_the_server_closes_is_not_kept_for_its_last_messages(
    app: App, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    made = PatientSockets.__init__

    def patient(self: PatientSockets, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        self.close_timeout = 3000.0

    monkeypatch.setattr(PatientSockets, "__init__", patient)
    config = Config(bounds=Bounds(header_seconds=3000.0), streams=Streams(message_bytes=1000))
    monkeypatch.setattr(app.state.service, "config", config)
    with serving(app, config) as port, opened(port) as connection:
        close = Frame(Opcode.CLOSE, (1009).to_bytes(2, "big")).serialize(mask=True)
        late = b"" if answers else close
        connection.send(frame(b"x" * 1500) + frame({"stream": "b"}) * 200 + late)
        data = b""
        while b"input_too_large" not in data:
            data += connection.socket.recv(1 << 16)
        if answers:
            connection.send(frame({"stream": "c"}) * 200 + close)
        assert connection.is_closed()


def test_a_socket_behind_a_short_request_is_not_closed_for_that(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[Any] = []
    upgrade = BoundedHttp.handle_websocket_upgrade

    def upgraded(protocol: BoundedHttp) -> None:
        upgrade(protocol)
        timers.append(protocol.timeout_keep_alive_task)

    monkeypatch.setattr(BoundedHttp, "handle_websocket_upgrade", upgraded)
    body = b'{"text": "a"}'
    count = (
        b"POST /api/v1/tokenizers/small/count HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    with serving(app) as port, Connection(port) as connection:
        # The first call makes the instance, and is not answered in one step.
        connection.send(count + body)
        assert connection.answer()[0] == 200
        # In place of what is learned from how long calls take.
        allowing = SimpleNamespace(deadline=30.0, given=lambda *_: True, saw=lambda *_: None)
        monkeypatch.setattr(app.state.service.work, "_permission", allowing)
        connection.send(count + body + HANDSHAKE)
        assert [connection.answer()[0] for _ in range(2)] == [200, 101]
    assert timers == [None]


class Refusing:
    """A transport of a client that takes nothing, and the loop that it is of."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Any]] = []
        self.closing = False

    def get_extra_info(self, name: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 4")

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        """Never called here: the test looks who would call it."""

    def time(self) -> float:
        return 0.0

    def call_later(self, seconds: float, call: Any) -> None:
        self.later.append((seconds, call))


@pytest.mark.parametrize("more", [b"Content-Length: 5\r\n", b"Sec-WebSocket-Version: 1\r\n"])
def test_a_client_that_does_not_take_its_refusal_is_disconnected(more: bytes) -> None:
    config = Config(bounds=Bounds(header_seconds=7.0))
    kind = uvicorn_options(config)["ws"]
    options = uvicorn.Config("app", ws=kind, interface="asgi3", log_level="critical")
    client: Any = Refusing()
    options.loaded, options.loaded_app = True, None
    protocol = kind(options, ServerState(), {}, client)
    protocol.connection_made(client)
    protocol.data_received(HANDSHAKE[:-2] + more + b"\r\n")
    assert client.later == [(7.0, client.abort)]
