"""The end of several workers, and what they all have from the process that starts them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds, Config
from pywasmtok.server.reload import Problem
from pywasmtok.server.store import open_store
from pywasmtok.server.workers.reloads import Reloads
from tools.verify.attack.place import workers_of

from .live import Connection
from .serving import served, until

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


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


class Worker:
    """A slot, and the connection to its process, which always answers the same."""

    def __init__(self, problem: Problem | None) -> None:
        self.connection: object = self
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
