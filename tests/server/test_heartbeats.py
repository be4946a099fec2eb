"""Workers that end or hang: what the supervisor does, logs and counts."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import pytest

from pywasmtok import InvalidArgument
from pywasmtok.server.config import read_config
from pywasmtok.server.workers.heartbeats import Heartbeats, Silence, cause_of
from server.serving import Server, served, until
from tools.verify.attack.place import workers_of
from tools.verify.server_kill import TEXT, Files

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_only_time_in_which_the_supervisor_ran_is_silence() -> None:
    now = 0.0
    silence = Silence(lambda: now)
    for _ in range(50):
        now += 0.2
        silence.look(1.0)
    assert silence.seconds == pytest.approx(9.8)
    # The machine sleeps for an hour: that is one look, for the worker as for the supervisor.
    now += 3600
    silence.look(1.0)
    assert silence.seconds == pytest.approx(10.8)
    silence.look(2.0)
    assert silence.seconds == 0.0


def test_the_cause_of_an_end_is_named() -> None:
    assert cause_of(3) == ("exit", "ended with exit code 3")
    assert cause_of(-signal.SIGTERM) == ("SIGTERM", "was ended by SIGTERM")
    assert cause_of(-1000) == ("signal", "was ended by signal 1000")


def test_heartbeats_and_restarts_are_counted() -> None:
    beats = Heartbeats(get_context("spawn"), 3)
    assert beats.plain() == {"configured": 3, "answering": 0, "restarts": {}}
    beats.beat(0)
    beats.beat(2)
    for reason in ("exit", "silent", "exit"):
        beats.restarted(2, reason)
    assert beats.plain()["restarts"] == {"silent": 1, "exit": 2}
    assert (beats.last(0) > 0, beats.last(1), beats.last(2)) == (True, 0.0, 0.0)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_bound_that_is_none(seconds: float) -> None:
    with pytest.raises(InvalidArgument, match="heartbeat-seconds"):
        read_config(None, {"listen": {"heartbeat-seconds": seconds}})


@contextmanager
def _two_workers(folder: Path, seconds: float) -> Iterator[Server]:
    config = folder / "server.toml"
    config.write_text(
        f"[listen]\nworkers = 2\nheartbeat-seconds = {seconds}\n"
        "[logs]\naccess = false\n[metrics]\nopen = true\n"
    )
    arguments = ("demo=builtin:demo", "--config", str(config), "--store", str(folder / "s"))
    with served(*arguments, log=folder / "log") as server:
        until(lambda: _workers(server)["answering"] == 2)
        yield server


def _workers(server: Server) -> dict[str, Any]:
    answer = server.get("/health")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()["workers"]
    return found


def _restarts(server: Server, reason: str) -> int:
    return int(_workers(server)["restarts"].get(reason, 0))


@linux
def test_a_worker_that_is_killed_or_hangs_is_replaced_logged_and_counted(tmp_path: Path) -> None:
    with _two_workers(tmp_path, 5.0) as server:
        killed, hangs = workers_of(server.process.pid)
        os.kill(killed, signal.SIGKILL)
        until(lambda: _restarts(server, "SIGKILL") == 1)
        os.kill(hangs, signal.SIGSTOP)
        until(lambda: _workers(server)["answering"] < 2)
        until(lambda: _restarts(server, "silent") > 0)
        until(lambda: _workers(server)["answering"] == 2)
        assert not {killed, hangs} & set(workers_of(server.process.pid))
        metrics = server.get("/metrics").text
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
    name = "pywasmtok_server_worker_restarts_total"
    assert f'{name}{{reason="SIGKILL"}} 1.0' in metrics
    assert f'{name}{{reason="silent"}}' in metrics
    assert "pywasmtok_server_workers_answering 2.0" in metrics
    log = (tmp_path / "log").read_text()
    assert f"worker 0 (process {killed}) was ended by SIGKILL" in log
    assert f"worker 1 (process {hangs}) is silent for " in log
    assert f"worker 1 (process {hangs}) was ended by SIGKILL" in log


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_acknowledged_changes_outlive_a_worker(tmp_path: Path, number: signal.Signals) -> None:
    """Each worker in its turn, uploads between them; then the whole server at once."""
    files, ids = Files(random.Random(4)), dict[str, list[int]]()
    with _two_workers(tmp_path, 5.0) as server:

        def put() -> None:
            data, wanted = files.made()
            name = f"mine{len(ids)}"
            # On a connection that the worker has taken there may be no answer.
            with suppress(httpx.TransportError):
                answer = server.put(f"/api/v1/tokenizers/{name}", data)
                assert answer.status_code == 200, answer.text
                ids[name] = wanted

        put()
        for worker in workers_of(server.process.pid):
            os.kill(worker, number)
            put()
            until(partial(_is_gone, server, worker))
            until(lambda: _workers(server)["answering"] == 2)
            put()
            for _ in range(4):
                _compare(server, ids)
        assert len(ids) >= 3
        workers = workers_of(server.process.pid)
        for one in (server.process.pid, *workers):
            os.kill(one, signal.SIGKILL)
    with served("--store", str(tmp_path / "s"), "--workers", "2") as server:
        _compare(server, ids)
        assert server.post("/api/v1/store/verify", {}).json()["problems"] == []


def _is_gone(server: Server, worker: int) -> bool:
    return worker not in workers_of(server.process.pid)


def _compare(server: Server, ids: dict[str, list[int]]) -> None:
    for name, wanted in ids.items():
        answer = server.post(f"/api/v1/tokenizers/{name}/encode", {"text": TEXT})
        assert (answer.status_code, answer.json().get("ids")) == (200, wanted)


@linux
def test_a_pause_of_the_whole_server_ends_no_worker(tmp_path: Path) -> None:
    with _two_workers(tmp_path, 10.0) as server:
        workers = workers_of(server.process.pid)
        all_of_it = [server.process.pid, *workers]
        for one in all_of_it:
            os.kill(one, signal.SIGSTOP)
        time.sleep(11)
        for one in all_of_it:
            os.kill(one, signal.SIGCONT)
            # The supervisor looks before the workers run.
            time.sleep(1)
        until(lambda: _workers(server)["answering"] == 2)
        assert workers_of(server.process.pid) == workers
        assert _workers(server)["restarts"] == {}
