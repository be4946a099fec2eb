"""Two kinds of processes: which requests go to which, and that going makes no difference."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pywasmtok import InvalidArgument, create_tokenizer
from pywasmtok.server import opening
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Config, Listen, Logs, Storage
from pywasmtok.server.contract import TenantRecord
from pywasmtok.server.opening import check_workers
from pywasmtok.server.store import open_store
from pywasmtok.server.workers.handover_socket import is_possible, linked
from pywasmtok.server.workers.worker_kind import WorkerKind
from pywasmtok.tenants import TenantLimits
from server.live import Connection, service_of, serving
from server.serving import Server, served, until
from tools.verify.attack.place import workers_of

pytestmark = pytest.mark.skipif(not is_possible(), reason="sockets of Linux")

LONG = "naïve 🌶 text " * 8_000


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    with create_tokenizer("builtin:demo", decoder="core") as tok:
        return {text: len(tok.encode(text)) for text in ("short", "a b c", LONG)}


# What decides.


class _Life:
    draining = False


class _Found:
    def __init__(self, tenant: str) -> None:
        self.tenant = tenant


class _Keys:
    def find(self, key: str) -> _Found | None:
        return _Found(key) if key else None


class _Work:
    saw_long: Any = None


class _Service:
    def __init__(self, needs_keys: bool = True) -> None:
        self.config = Config(identity=needs_keys)
        self.lifecycle = _Life()
        self.keys = _Keys()
        self.work = _Work()


@pytest.fixture
def lanes() -> Iterator[tuple[WorkerKind, WorkerKind, _Service]]:
    """Of short ones, of long ones."""
    here, there = linked()
    service = _Service()
    short, long = WorkerKind(False, here), WorkerKind(True, there)
    short.serve(service)
    long.serve(service)
    yield short, long, service
    for end in (*here, *there):
        end.close()


Headers = list[tuple[bytes, bytes]]


@pytest.mark.parametrize(
    ("method", "headers", "is_long"),
    [
        (b"GET", [], False),
        (b"POST", [(b"content-length", b"65536")], False),
        (b"POST", [(b"content-length", b"65537")], True),
        (b"POST", [(b"content-length", b"9" * 30)], True),
        (b"POST", [(b"content-length", b"none")], False),
        (b"POST", [(b"transfer-encoding", b"chunked")], True),
        (b"PUT", [(b"content-length", b"1")], True),
        (b"DELETE", [], False),
    ],
)
def test_the_head_says_where_a_request_belongs(
    lanes: tuple[WorkerKind, WorkerKind, _Service], method: bytes, headers: Headers, is_long: bool
) -> None:
    short, long, service = lanes
    assert short.belongs_elsewhere(method, headers) is is_long
    assert long.belongs_elsewhere(method, headers) is not is_long
    service.lifecycle.draining = True
    assert not short.belongs_elsewhere(method, headers)
    assert not long.belongs_elsewhere(method, headers)


def test_whose_calls_were_long_belongs_to_the_long_ones(
    lanes: tuple[WorkerKind, WorkerKind, _Service],
) -> None:
    short, _, service = lanes
    spins: Headers = [(b"authorization", b"Bearer spins")]
    other: Headers = [(b"x-api-key", b"other")]
    assert not short.belongs_elsewhere(b"GET", spins)
    service.work.saw_long = short.slow_tenants.saw
    service.work.saw_long("spins", 0.5)
    assert short.belongs_elsewhere(b"GET", spins)
    assert not short.belongs_elsewhere(b"GET", other)
    assert not short.belongs_elsewhere(b"GET", [])


def test_without_keys_nobody_is_told_from_others() -> None:
    here, there = linked()
    service = _Service(needs_keys=False)
    WorkerKind(False, here).serve(service)
    assert service.work.saw_long is None
    for end in (*here, *there):
        end.close()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (Config(listen=Listen(long_workers=1)), "--store"),
        (
            Config(listen=Listen(long_workers=1, certificate="c"), storage=Storage(path="/s")),
            "TLS",
        ),
    ],
)
def test_what_cannot_be_is_said_at_once(config: Config, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        check_workers(config)


# That it makes no difference: connections that leave whenever they may, in one process.


class Turning:
    """Hands each connection back to the same server, or refuses to."""

    long = False

    def __init__(self, chance: random.Random, takes: float) -> None:
        self.server: Any = None
        self.went = 0
        self.stayed = 0
        self._chance = chance
        self._takes = takes
        self._tasks: set[asyncio.Task[Any]] = set()

    def belongs_elsewhere(self, method: bytes, headers: Headers) -> bool:
        return self._chance.random() < 0.7

    def send(self, descriptor: int, data: bytes) -> bool:
        if self._chance.random() >= self._takes:
            self.stayed += 1
            return False
        self.went += 1
        taken = socket.socket(fileno=os.dup(descriptor))
        config, state = self.server.config, self.server.server_state

        def protocol() -> Any:
            kind = config.http_protocol_class
            return kind(config=config, server_state=state, app_state={}, arrived=data)

        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(protocol, taken))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True


def _request(chance: random.Random, counts: dict[str, int]) -> tuple[bytes, int | None]:
    """And the count in its answer; None: it is refused."""
    text = chance.choice(list(counts))
    body = json.dumps({"text": text}).encode()
    path = b"/api/v1/tokenizers/demo/count"
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    kind = chance.randrange(6)
    if kind == 0:
        return b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", -1
    if kind == 1:
        return head + b"Content-Length: 3\r\n\r\n{]}", None
    if kind == 2:
        half = len(body) // 2
        parts = (body[:half], body[half:])
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", counts[text]
    if kind == 3:
        head += b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, counts[text]


@pytest.mark.parametrize("takes", [1.0, 0.5, 0.0])
def test_any_requests_on_connections_that_go_are_answered_as_ever(
    counts: dict[str, int], takes: float
) -> None:
    chance = random.Random(f"lanes {takes}")
    kind = Turning(chance, takes)
    with (
        service_of({"demo": "builtin:demo"}, logs=Logs(access=False)) as service,
        serving(create_app(service), service.config, kind) as port,
    ):
        for _ in range(25):
            with Connection(port) as connection:
                _converse(connection, chance, counts)
    assert (kind.went > 20) is (takes > 0)
    assert (kind.stayed > 20) is (takes < 1)


def _converse(connection: Connection, chance: random.Random, counts: dict[str, int]) -> None:
    for _ in range(chance.randint(1, 6)):
        # Ahead of the answers at times, and in any pieces.
        asked = [_request(chance, counts) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        data = b"".join(request for request, _ in asked)
        for _ in range(chance.choice((0, 0, 1, 4))):
            at = chance.randrange(min(len(data), 400))
            assert connection.send(data[:at])
            data = data[at:]
            if chance.random() < 0.5:
                time.sleep(0.002)
        assert connection.send(data)
        for _, expected in asked:
            status, body = connection.answer()
            if expected is None:
                assert status == 400
            else:
                assert status == 200, body
                assert expected == -1 or json.loads(body)["count"] == expected


def test_a_handshake_of_a_websocket_goes_along() -> None:
    from websockets.sync.client import connect

    chance = random.Random(3)
    kind = Turning(chance, 1.0)
    with (
        service_of({"demo": "builtin:demo"}, logs=Logs(access=False)) as service,
        serving(create_app(service), service.config, kind) as port,
    ):
        url = f"ws://127.0.0.1:{port}/api/v1/tokenizers/demo/stream"
        for _ in range(20):
            with connect(url, open_timeout=30, proxy=None) as stream:
                stream.send(json.dumps({"stream": "s", "open": True, "ids": [65]}))
                assert "error" not in json.loads(stream.recv(30))
    assert kind.went > 5


# Processes.


def _long_worker(server: Server) -> int:
    """Known by its priority, which it has as soon as it has begun."""

    def priorities() -> set[int]:
        found = workers_of(server.process.pid)
        return {os.getpriority(os.PRIO_PROCESS, worker) for worker in found}

    until(lambda: len(priorities()) == 2)
    return workers_of(server.process.pid)[-1]


def _count(client: httpx.Client, text: str, **more: Any) -> int:
    answer = client.post("/api/v1/tokenizers/demo/count", json={"text": text}, **more)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["count"])


@pytest.fixture
def two_kinds(tmp_path: Path) -> Iterator[Server]:
    # Tests stop a process, for as long as they take.
    config = tmp_path / "server.toml"
    config.write_text("[listen]\nheartbeat-seconds = 0\n")
    arguments = ("demo=builtin:demo", "--store", str(tmp_path / "s"), "--long-workers", "1")
    with served(*arguments, "--config", str(config)) as server:
        yield server


def test_short_requests_do_not_need_the_process_of_the_long_ones(
    two_kinds: Server, counts: dict[str, int]
) -> None:
    long = _long_worker(two_kinds)
    with httpx.Client(base_url=two_kinds.address, timeout=60) as client:
        for text in ("short", LONG, "short", "a b c", LONG):
            assert _count(client, text) == counts[text]
        os.kill(long, signal.SIGSTOP)
        try:
            with httpx.Client(base_url=two_kinds.address, timeout=60) as other:
                assert [_count(other, "short") for _ in range(20)] == [counts["short"]] * 20
                with pytest.raises(httpx.ReadTimeout):
                    _count(other, LONG, timeout=0.5)
        finally:
            os.kill(long, signal.SIGCONT)
        assert _count(client, LONG) == counts[LONG]
        os.kill(long, signal.SIGKILL)
        with httpx.Client(base_url=two_kinds.address, timeout=60) as other:
            assert _count(other, "short") == counts["short"]
            # It waits for the next process of this kind.
            assert _count(other, LONG) == counts[LONG]
    assert _long_worker(two_kinds) != long
    two_kinds.process.send_signal(signal.SIGTERM)
    assert two_kinds.process.wait(120) == 0


def test_the_process_of_the_long_ones_keeps_off_a_processor(two_kinds: Server) -> None:
    there = os.sched_getaffinity(0)
    if len(there) < 2:
        pytest.skip("there is one processor for all")
    long = _long_worker(two_kinds)
    until(lambda: os.sched_getaffinity(long) == there - {min(there)})
    (short,) = set(workers_of(two_kinds.process.pid)) - {long}
    assert os.sched_getaffinity(short) == there
    # Those that compute, too.
    with httpx.Client(base_url=two_kinds.address, timeout=60) as client:
        _count(client, LONG)
    # One thread, which waits for the end of its parent, is older.
    seen = [os.sched_getaffinity(int(number)) for number in os.listdir(f"/proc/{long}/task")]
    assert seen.count(there) <= 1


def test_what_one_process_has_changed_the_other_knows_at_once(two_kinds: Server) -> None:
    demo = bytes(create_tokenizer("builtin:demo").made_of[0])
    _long_worker(two_kinds)
    with httpx.Client(base_url=two_kinds.address, timeout=60) as client:
        for number in range(10):
            name = f"/api/v1/tokenizers/mine-{number}"
            assert client.put(name, content=demo).status_code in (200, 201)
            with httpx.Client(base_url=two_kinds.address, timeout=60) as other:
                assert other.post(f"{name}/count", json={"text": "short"}).status_code == 200


def test_whose_calls_are_long_has_them_made_there(tmp_path: Path) -> None:
    keys = {}
    store = open_store(tmp_path / "s")
    for name in ("spins", "good"):
        store.put_tenant(TenantRecord(name, TenantLimits(templates=True), 1.0))
        keys[name], record = make_key(name)
        store.put_key(record)
    store.close()
    config = tmp_path / "server.toml"
    config.write_text("identity = true\n[listen]\nheartbeat-seconds = 0\n[logs]\naccess = false\n")
    arguments = ("demo=builtin:demo", "--config", str(config), "--store", str(tmp_path / "s"))
    with served(*arguments, "--long-workers", "1") as server:
        long = _long_worker(server)
        bomb = {
            "messages": [{"role": "user", "content": "x"}],
            "chat_template": "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}"
            "{% endfor %}",
        }
        spins = {"authorization": f"Bearer {keys['spins']}"}
        good = {"authorization": f"Bearer {keys['good']}"}
        with httpx.Client(base_url=server.address, timeout=60) as client:
            _count(client, "short", headers=spins)
            answer = client.post("/api/v1/tokenizers/demo/chat/render", json=bomb, headers=spins)
            assert answer.status_code in (413, 504), answer.text
            os.kill(long, signal.SIGSTOP)
            try:
                _count(client, "short", headers=good)
                with pytest.raises(httpx.ReadTimeout):
                    _count(client, "short", headers=spins, timeout=0.5)
                _count(client, "short", headers=good)
            finally:
                os.kill(long, signal.SIGCONT)
            _count(client, "short", headers=spins)


def test_elsewhere_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "is_possible", lambda: False)
    listen = Listen(long_workers=1)
    with pytest.raises(InvalidArgument, match="Linux"):
        check_workers(Config(listen=listen, storage=Storage(path="/s")))
