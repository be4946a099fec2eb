"""The configuration, certificates and keys are read again, and no request is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import small

from pywasmtok.server.config import Bounds, Config, Listen, Logs
from pywasmtok.server.reload import merged
from tools.verify.attack.place import workers_of

from .certificates import make_certificate
from .serving import Server, served, until

posix = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)


def test_what_needs_a_restart_stays_and_is_named() -> None:
    old = Config(tokenizers={"a": "one"}, listen=Listen(port=1, certificate="c", private_key="k"))
    new = Config(
        tokenizers={"a": "two", "b": "three"},
        listen=Listen(port=2, certificate="d", private_key="k", drain_seconds=1.0),
        bounds=Bounds(connections=7, queued=8),
        logs=Logs(access=False),
        limits={"concurrent": 3},
    )
    config, found = merged(old, new)
    assert found.changed == [
        "listen.certificate",
        "listen.drain-seconds",
        "bounds.connections",
        "tokenizers",
        "limits",
    ]
    assert found.restart == ["listen.port", "bounds.queued", "logs.access"]
    assert (config.listen.port, config.listen.certificate) == (1, "d")
    assert (config.bounds.connections, config.bounds.queued) == (7, old.bounds.queued)
    assert (config.tokenizers, config.limits) == (new.tokenizers, {"concurrent": 3})
    assert merged(new, new) == (new, ([], []))
    # TLS cannot begin or end on a port that is open.
    config, found = merged(old, msgspec.structs.replace(new, listen=Listen(port=1)))
    assert config.listen.certificate == "c"
    assert {"listen.certificate", "listen.private-key"} <= set(found.restart)


@pytest.fixture(params=[1, 2])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    workers = request.param
    if workers > 1 and not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    return Place(tmp_path, workers)


class Place:
    """A folder with a configuration, and what a server of it says."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.workers = workers
        self.config = folder / "server.toml"
        self.admin = folder / "admin"
        self.log = folder / "log"
        self.source = folder / "tokenizer.json"
        self.source.write_bytes(small.file())
        self.flags = (
            "demo=builtin:demo",
            *("--config", str(self.config), "--store", str(folder / "store")),
            *("--admin-key-file", str(self.admin)),
        )

    def write(self, text: str = "") -> None:
        self.config.write_text(f"[listen]\nworkers = {self.workers}\n{text}")

    def started(self, server: Server, verify: Any = True) -> None:
        def all_answer() -> bool:
            found = httpx.get(f"{server.address}/health", verify=verify, timeout=120).json()
            return self.workers == 1 or found["workers"]["answering"] == self.workers

        until(all_answer)

    def reload(self, server: Server, verify: Any = True) -> httpx.Response:
        return httpx.post(
            f"{server.address}/api/v1/reload",
            headers={"authorization": f"Bearer {self.admin.read_text().strip()}"},
            verify=verify,
            timeout=120,
        )

    def logged(self, text: str) -> None:
        until(lambda: text in self.log.read_text())


def _long_head(server: Server) -> int:
    headers = {"x-long": "a" * 1000}
    return httpx.get(f"{server.address}/health", headers=headers, timeout=120).status_code


def _names(server: Server, key: str) -> set[str]:
    return set(_tokenizers(server, key))


def _tokenizers(server: Server, key: str) -> dict[str, str]:
    """Their digests, by name."""
    found = server.get("/api/v1/tokenizers", key).json()["tokenizers"]
    return {name: one["digest"] for one in found for name in one["aliases"]}


@posix
def test_by_signal_and_by_request(place: Place) -> None:
    place.write()
    with served(*place.flags, log=place.log) as server:
        key = place.admin.read_text().strip()
        assert place.reload(server).json() == {"changed": [], "restart": []}
        more = f"[tokenizers]\nsmall = {json.dumps(str(place.source))}\n"
        place.write(f"port = 1\n{more}")
        server.process.send_signal(signal.SIGHUP)
        place.logged("changed: tokenizers")
        assert _names(server, key) == {"demo", "small"}
        place.write(f"{more}[bounds]\nheader-bytes = 900\n[logs]\naccess = false\n")
        answer = place.reload(server)
        assert answer.status_code == 200
        assert answer.json() == {"changed": ["bounds.header-bytes"], "restart": ["logs.access"]}
        # Each of several connections may be with another worker.
        for _ in range(6):
            assert _long_head(server) == 431
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0


@posix
def test_a_bad_configuration_keeps_the_old_one(place: Place) -> None:
    own = f"[tokenizers]\nown = {json.dumps(str(place.source))}\n"
    place.write(own)
    with served(*place.flags, log=place.log) as server:
        key = place.admin.read_text().strip()
        before = _tokenizers(server, key)
        # What it means is another file, and stays as it was.
        place.source.write_bytes(small.file(normalizer={"type": "Lowercase"}))
        missing = json.dumps(str(place.folder / "nothing.json"))
        for bad, said in (
            ("[bounds]\nconnection = 5\n", "connection"),
            ("nonsense", "is no TOML"),
            ("[limits]\nnothing = 5\n", "is no limit"),
            ("heartbeat-seconds = -1.0\n", "heartbeat-seconds"),
            ("[streams]\nmessages-per-second = 0\n", "messages-per-second"),
            (f"[bounds]\nheader-bytes = 10\n{own}small = {missing}\n", "nothing.json"),
        ):
            place.write(bad)
            answer = place.reload(server)
            assert answer.status_code == 409
            error = answer.json()["error"]
            assert error["kind"] == "conflict"
            assert "the old configuration stays" in error["message"]
            assert said in error["message"]
        place.logged("nothing.json")
        place.config.unlink()
        server.process.send_signal(signal.SIGHUP)
        place.logged("No such file")
        assert _tokenizers(server, key) == before
        assert _names(server, key) == {"demo", "own"}
        assert _long_head(server) == 200
        place.write(own)
        assert place.reload(server).status_code == 200
        assert _tokenizers(server, key)["own"] != before["own"]


@posix
def test_no_request_is_lost(place: Place) -> None:
    place.write()
    with served(*place.flags, log=place.log) as server:
        key = place.admin.read_text().strip()
        statuses: list[int] = []
        end = threading.Event()

        def ask() -> None:
            with httpx.Client(headers={"authorization": f"Bearer {key}"}, timeout=120) as client:
                while not end.is_set():
                    body = {"prompt": "Hello", "model": "demo"}
                    answer = client.post(f"{server.address}/tokenize", json=body)
                    statuses.append(answer.status_code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for connections in range(100, 110):
            place.write(f"[bounds]\nconnections = {connections}\n")
            assert place.reload(server).json()["changed"] == ["bounds.connections"]
        end.set()
        for thread in threads:
            thread.join()
        assert len(statuses) > 10
        assert set(statuses) == {200}


@posix
@needs_openssl
def test_new_handshakes_use_the_new_certificate(place: Place) -> None:
    made, key = place.folder / "certificate.pem", place.folder / "key.pem"
    make_certificate(made, key)
    place.write(f"certificate = {json.dumps(str(made))}\nprivate-key = {json.dumps(str(key))}\n")
    with served(*place.flags, log=place.log) as server:
        port = int(server.address.rpartition(":")[2])
        old = ssl.create_default_context(cafile=str(made))
        place.started(server, old)
        with httpx.Client(verify=old, timeout=120) as kept:
            assert kept.get(f"{server.address}/health").status_code == 200
            before = _certificate(port)
            good = made.read_bytes()
            made.write_text("no certificate")
            answer = place.reload(server, old)
            assert answer.status_code == 409
            assert "TLS" in answer.json()["error"]["message"]
            assert _certificate(port) == before
            made.write_bytes(good)
            make_certificate(made, key)
            server.process.send_signal(signal.SIGHUP)
            place.logged("changed: nothing")
            assert {_certificate(port) for _ in range(6)} == {made.read_text().strip()}
            # The connection of before stays.
            assert kept.get(f"{server.address}/health").status_code == 200


def _certificate(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=60).strip()


@linux
def test_a_worker_that_begins_later_has_the_new_configuration(tmp_path: Path) -> None:
    place = Place(tmp_path, 2)
    place.write()
    with served(*place.flags, log=place.log) as server:
        place.write("[bounds]\nheader-bytes = 900\n")
        assert place.reload(server).status_code == 200
        # Neither a signal to a worker nor one to all of the server ends it.
        place.started(server)
        before = workers_of(server.process.pid)
        for number in (signal.SIGHUP, signal.SIGKILL):
            for process in before:
                os.kill(process, number)
        until(lambda: len(set(workers_of(server.process.pid)) - set(before)) == 2)
        place.started(server)
        for _ in range(6):
            assert _long_head(server) == 431
        # The answer is of all workers, also of those.
        place.write("[bounds]\nheader-bytes = 800\n")
        assert place.reload(server).json()["changed"] == ["bounds.header-bytes"]
