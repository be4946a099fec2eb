"""The end of several workers, and what they all have from the process that starts them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from itertools import count, pairwise
from multiprocessing import get_context
from multiprocessing.context import SpawnContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import small

from pywasmtok.cli.main import main
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds, Config, Listen
from pywasmtok.server.reload import Problem
from pywasmtok.server.store import open_store
from pywasmtok.server.workers import supervisor as module
from pywasmtok.server.workers.reloads import Reloads
from pywasmtok.server.workers.supervisor import _bind, _Said, _Supervisor
from tools.verify.attack.place import workers_of

from .live import Connection
from .serving import Server, served, until

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_without_uvloop_small_answers_are_sent_at_once() -> None:
    async def serve(connection: socket.socket) -> int:
        made = asyncio.get_running_loop().create_future()
        server = await asyncio.start_server(
            lambda _, writer: made.set_result(writer), sock=listening
        )
        connection.connect(listening.getsockname())
        async with server:
            writer = await asyncio.wait_for(made, 60)
            taken = writer.get_extra_info("socket")
            found: int = taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
        return found

    with _bind(Config(listen=Listen(port=0))) as listening, socket.socket() as connection:
        assert asyncio.run(serve(connection))


@linux
def test_a_second_signal_ends_all_workers_at_once(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text(
        "[listen]\nworkers = 2\ndrain-seconds = 3000\n[bounds]\nbody-seconds = 3000\n"
    )
    flags = "demo=builtin:demo", "--config", str(config), "--store", str(tmp_path / "store")
    with served(*flags) as server, Connection(int(server.address.rpartition(":")[2])) as slow:
        slow.send(
            b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            b"Content-Length: 10\r\n\r\n"
        )
        assert slow.answer()[0] == 100
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/ready").status_code == 503)
        server.process.send_signal(signal.SIGTERM)
        # As of one process: something was cut off.
        assert server.process.wait(120) == 1
        assert workers_of(server.process.pid) == []


@linux
def test_connections_are_refused_once_only_a_long_worker_drains(tmp_path: Path) -> None:
    flags = "--workers", "2", "--long-workers", "1", "--store", str(tmp_path / "store")
    body = json.dumps({"text": "a" * 200_000}).encode()
    with served("demo=builtin:demo", *flags) as server:
        until(lambda: server.get("/health").json()["workers"]["answering"] == 3)
        port = int(server.address.rpartition(":")[2])
        with Connection(port) as slow:
            slow.send(
                b"POST /api/v1/tokenizers/demo/count HTTP/1.1\r\nHost: localhost\r\n"
                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            assert slow.answer()[0] == 100
            server.process.send_signal(signal.SIGTERM)
            until(lambda: len(workers_of(server.process.pid)) == 1)
            with pytest.raises(ConnectionRefusedError):
                Connection(port)
            slow.send(body)
            assert slow.answer()[0] == 200
        assert server.process.wait(120) == 0


@linux
def test_all_workers_need_keys_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = open_store(folder)
    _, record = make_key(None)
    store.put_key(record)
    with served("demo=builtin:demo", "--store", str(folder), "--workers", "2") as server:
        assert server.needs_keys
        # Later workers as well: without keys, all of their clients would be admins.
        store.remove_key(record.id)
        before = workers_of(server.process.pid)
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(set(workers_of(server.process.pid)) - set(before)) == 2)
        assert server.post("/tokenize", {"prompt": "a"}).status_code == 401
    store.close()


@linux
def test_later_workers_have_the_tokenizers_of_the_store(tmp_path: Path) -> None:
    gone, changed = tmp_path / "gone.json", tmp_path / "changed.json"
    for file in (gone, changed):
        file.write_bytes(small.file())
    store = "--store", str(tmp_path / "store")
    named = f"gone={gone}", f"changed={changed}", "replaced=builtin:demo", "deleted=builtin:demo"
    with served(*named, *store, "--workers", "2") as server:
        assert main(["tokenizers", "add", f"replaced={gone}", *store]) == 0
        assert main(["tokenizers", "remove", "deleted", *store]) == 0
        gone.unlink()
        changed.write_bytes(small.file(normalizer={"type": "Lowercase"}))
        known = _digests(server)
        assert known.keys() == {"gone", "changed", "replaced"}
        assert len(set(known.values())) == 1
        before = workers_of(server.process.pid)
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(set(workers_of(server.process.pid)) - set(before)) == 2)
        until(lambda: server.get("/health").json()["workers"]["answering"] == 2)
        # Each of several connections may be with another worker.
        for _ in range(6):
            assert _digests(server) == known
            assert server.post("/tokenize", {"prompt": "a", "model": "gone"}).status_code == 200


def _digests(server: Server) -> dict[str, str]:
    found = server.get("/api/v1/tokenizers").json()["tokenizers"]
    return {name: one["digest"] for one in found for name in one["aliases"]}


class Process:
    """One that has no part of the system."""

    pid = 1

    def __init__(self, target: object, args: tuple[Any, ...]) -> None:
        self.number: int = args[2]
        self.to_supervisor = args[4]
        self.exitcode: int | None = None

    def start(self) -> None:
        pass

    def is_alive(self) -> bool:
        return self.exitcode is None


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> SpawnContext:
    context = get_context("spawn")
    monkeypatch.setattr(context, "Process", Process, raising=False)
    return context


def _supervisor(context: SpawnContext, workers: int, long_workers: int = 0) -> _Supervisor:
    listen = Listen(workers=workers, long_workers=long_workers, heartbeat_seconds=0.0)
    config = Config(listen=listen)
    said = _Said(config, lambda: config, None)
    with socket.socket() as listening:
        return _Supervisor(context, said, listening, None, lambda: None)


@pytest.mark.parametrize(
    ("workers", "serving", "code"),
    [((2, 0), None, 3), ((2, 0), 0, 0), pytest.param((1, 1), 1, 3, marks=linux)],
)
def test_workers_that_end_at_once_end_the_server_only_if_none_serves(
    workers: tuple[int, int],
    serving: int | None,
    code: int,
    context: SpawnContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[float] = []
    clock = count(100.0, 0.25)

    def start(process: Process) -> None:
        if process.number == serving:
            supervisor._heartbeats.beat(process.number)
            return
        process.exitcode = 3
        began.append(next(clock))
        if len(began) == 20:
            supervisor._ended.set()

    monkeypatch.setattr(Process, "start", start)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(module, "HANGUP", None)
    supervisor = _supervisor(context, *workers)
    monkeypatch.setattr(supervisor._reloads, "start", lambda: None)
    monkeypatch.setattr(supervisor, "_end", lambda workers: [])
    assert supervisor.run() == code
    assert len(began) == (6 if serving is None else 5 if code else 20)
    # It does not take a processor for workers that cannot begin.
    assert all(b - a >= module._SOON_SECONDS for a, b in pairwise(began[5:]))


def test_a_reload_reaches_a_worker_that_is_being_started(
    context: SpawnContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Any] = []

    def start(process: Process) -> None:
        def answer() -> None:
            message = process.to_supervisor.recv()
            received.append(message[2])
            process.to_supervisor.send(("done", message[1], None))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert supervisor._reloads._used_by_all(new) is None
        thread.join(5)

    monkeypatch.setattr(Process, "start", start)
    supervisor = _supervisor(context, 2)
    new = msgspec.structs.replace(supervisor._reloads.config, bounds=Bounds(connections=7))
    supervisor._spawn(supervisor._slots[1])
    assert received == [msgspec.to_builtins(new)]
    assert supervisor._reloads.config is new


class Worker:
    """A slot, and the connection to its process, which always answers the same."""

    closed = False

    def __init__(self, problem: Problem | None) -> None:
        self.connection: object | None = self
        self.problem = problem
        self.used: list[Config] = []

    def send(self, message: tuple[str, int, Config]) -> None:
        self.number = message[1]
        self.used.append(message[2])

    def poll(self, seconds: float) -> bool:
        return True

    def recv(self) -> tuple[str, int, Problem | None]:
        return "done", self.number, self.problem


@pytest.mark.parametrize("bad", [[], [0], [0, 1, 2], [1], [2], [1, 2]])
def test_the_answer_to_a_reload_is_that_of_the_first_worker(
    bad: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    old, new = Config(), Config(bounds=Bounds(connections=7))
    problem = Problem("no memory")
    workers = [Worker(problem if number in bad else None) for number in range(3)]
    reloads = Reloads(lambda: new, old, workers)  # type: ignore[arg-type]
    found, answer = reloads._reloaded()
    is_used = 0 not in bad
    assert answer == (None if is_used else problem)
    assert reloads.config == (new if is_used else old)
    assert [len(worker.used) for worker in workers] == ([1, 1, 1] if is_used else [1, 0, 0])
    assert ("the old configuration stays" in caplog.text) is not is_used
    assert caplog.text.count("a worker keeps the old configuration: no memory") == (
        len(bad) if is_used else 0
    )
    assert found.changed == ["bounds.connections"]


@pytest.mark.parametrize("first", [True, False])
def test_a_reload_reaches_a_worker_that_begins_meanwhile(first: bool) -> None:
    old, new = Config(), Config(bounds=Bounds(connections=7))

    class Other(Worker):
        def recv(self) -> tuple[str, int, Problem | None]:
            later.connection = later
            return super().recv()

    other, later = Other(None), Worker(None)
    later.connection = None
    slots = [later, other] if first else [other, later]
    Reloads(lambda: new, old, slots)._reloaded()  # type: ignore[arg-type]
    assert (len(other.used), len(later.used)) == (1, 1)
    # With no worker at all, the next ones have it.
    other.connection = later.connection = None
    reloads = Reloads(lambda: new, old, slots)  # type: ignore[arg-type]
    assert reloads._reloaded()[1] is None
    assert reloads.config == new
