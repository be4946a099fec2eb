"""`pywasmtok serve` as people run it: one process, several, and how they begin and end."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from pywasmtok import InvalidArgument, create_tokenizer
from pywasmtok.cli.exits import Exit
from pywasmtok.cli.main import main
from pywasmtok.server.auth.keys import is_key, make_key
from pywasmtok.server.config import Config, Listen, read_config
from pywasmtok.server.opening import check_workers, open_service
from pywasmtok.server.store import open_store
from pywasmtok.server.store.memory import MemoryStore
from pywasmtok.server.workers.supervisor import give_admin_key
from server.live import Connection
from server.serving import Server, served, until
from tools.verify.attack.place import workers_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

TEXT = "Hello, Welt! 你好"


@pytest.fixture(scope="module")
def ids() -> list[int]:
    return create_tokenizer("builtin:demo", decoder="core").encode(TEXT).ids


def tokenized(server: Server) -> list[int]:
    answer = server.post("/tokenize", {"prompt": TEXT})
    assert answer.status_code == 200, answer.text
    found: list[int] = answer.json()["tokens"]
    return found


def test_it_serves_at_once_and_ends_when_it_is_told(ids: list[int], tmp_path: Path) -> None:
    log = tmp_path / "log"
    with served("builtin:demo", log=log) as server:
        assert server.address.startswith("http://127.0.0.1:")
        assert server.get("/health").status_code == server.get("/ready").status_code == 200
        assert tokenized(server) == ids
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
    # Where the core was not compiled before, two lines say so.
    lines = [line for line in log.read_text().splitlines() if not line.startswith("pywasmtok: ")]
    routes = [json.loads(line)["route"] for line in lines]
    assert routes == ["probe", "probe", "tokenize"]
    assert TEXT not in log.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_it_serves_without_a_reader_of_its_output(
    flags: list[str], workers: str, tmp_path: Path
) -> None:
    """A closed pipe; a full disk is an OSError as well."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    given = ["--port", str(port), "--store", str(tmp_path / "store"), "--workers", workers]
    reader, writer = os.pipe()
    os.close(reader)
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-m", "pywasmtok", "serve", "builtin:demo", *given, *flags],
        stdout=writer,
        env={**os.environ, "PYTHONPATH": root},
    )
    os.close(writer)

    def ready() -> bool:
        assert process.poll() is None
        with suppress(httpx.HTTPError):
            return httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200
        return False

    try:
        until(ready)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()


def test_a_request_that_a_drain_cuts_off_is_told_so(tmp_path: Path) -> None:
    config, log = tmp_path / "config.toml", tmp_path / "log"
    config.write_text("[listen]\ndrain-seconds = 0.1\n", encoding="utf-8")
    with (
        served("builtin:demo", "--config", str(config), "--no-access-log", log=log) as server,
        Connection(int(server.address.rpartition(":")[2])) as slow,
    ):
        slow.send(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
        # The server has read it: on a connection of its own, this comes later.
        assert tokenized(server)
        server.process.send_signal(signal.SIGTERM)
        status, body = slow.answer()
        assert (status, json.loads(body)["error"]["code"]) == (503, 503)
        assert server.process.wait(120) == Exit.FOUND
    assert "Traceback" not in log.read_text(encoding="utf-8")


def test_everything_is_compiled_before_it_is_ready(tmp_path: Path) -> None:
    """With an empty cache, too: no request waits for a compiler."""
    cache, log = tmp_path / "cache", tmp_path / "log"

    def compiled() -> set[str]:
        return {path.name for path in cache.glob("*.cwasm")}

    config = tmp_path / "config.toml"
    config.write_text("[limits]\ntemplates = true\n", encoding="utf-8")
    flags = "builtin:demo", "--config", str(config), "--no-access-log"
    with served(*flags, log=log, PYWASMTOK_CACHE_DIR=str(cache)) as server:
        assert server.get("/ready").status_code == 200
        before = compiled()
        assert len(before) >= 2
        chat = {"messages": [{"role": "user", "content": TEXT}], "chat_template": "{{ messages }}"}
        answer = server.post("/tokenize", chat)
        assert answer.status_code == 200, answer.text
        demo = bytes(create_tokenizer("builtin:demo").made_of[0])
        assert server.put("/api/v1/tokenizers/mine", demo).status_code in (200, 201)
        assert server.post("/tokenize", {"model": "mine", "prompt": TEXT}).status_code == 200
        assert compiled() == before
    said = log.read_text().splitlines()
    assert said[0] == "pywasmtok: compiling portable and template for this processor"
    assert said[1].startswith("pywasmtok: compiled 2 in ")
    assert str(cache) in said[1]


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Server]:
    with served("demo=builtin:demo", "--store", str(tmp_path / "s"), "--workers", "2") as server:
        yield server


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_share_an_address_and_a_store(
    two_workers: Server, ids: list[int], tmp_path: Path
) -> None:
    server = two_workers
    assert tokenized(server) == ids
    before = workers_of(server.process.pid)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(set(workers_of(server.process.pid)) - set(before)) == 1)
    assert [tokenized(server) for _ in range(4)] == [ids] * 4

    demo = bytes(create_tokenizer("builtin:demo").made_of[0])
    assert server.put("/api/v1/tokenizers/mine", demo).status_code in (200, 201)
    # Each of the two sees it soon: whichever answers a connection.
    until(lambda: all(_lists_mine(server) for _ in range(8)))
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(120) == 0
    assert workers_of(server.process.pid) == []


def _lists_mine(server: Server) -> bool:
    found = server.get("/api/v1/tokenizers").json()["tokenizers"]
    return "mine" in [alias for one in found for alias in one["aliases"]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_end_with_who_started_them(two_workers: Server) -> None:
    workers = workers_of(two_workers.process.pid)
    two_workers.process.kill()
    two_workers.process.wait()
    until(lambda: not any(Path(f"/proc/{worker}/cwd").exists() for worker in workers))


def test_with_keys_it_answers_their_owners_alone(tmp_path: Path) -> None:
    config, key_file = tmp_path / "server.toml", tmp_path / "admin.key"
    config.write_text("identity = true\n[logs]\naccess = false\n")
    store = str(tmp_path / "store")
    arguments = ("builtin:demo", "--config", str(config), "--store", store)
    with served(*arguments, "--admin-key-file", str(key_file)) as server:
        admin = key_file.read_text().strip()
        assert server.post("/tokenize", {"prompt": TEXT}).status_code == 401
        assert server.get("/api/v1/tenants", admin).status_code == 200
        assert server.get("/ready").status_code == 200


def test_an_admin_key_turns_keys_on_and_a_flag_says_otherwise(tmp_path: Path) -> None:
    key_file = tmp_path / "admin.key"
    arguments = ("builtin:demo", "--admin-key-file", str(key_file))
    with served(*arguments) as server:
        admin = key_file.read_text().strip()
        for path in ("/api/v1/tenants", "/api/v1/tokenizers", "/metrics"):
            assert server.get(path).status_code == 401, path
        assert server.post("/tokenize", {"prompt": TEXT}).status_code == 401
        assert server.get("/api/v1/tenants", admin).status_code == 200
    with served(*arguments, "--no-keys") as server:
        assert server.get("/api/v1/tenants").status_code == 200


def test_workers_cannot_share_memory() -> None:
    with pytest.raises(InvalidArgument, match="--store"):
        check_workers(Config(listen=Listen(workers=2)))


def test_a_port_that_is_taken_is_a_typed_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err
    assert main(["serve", "--port", "70000"]) == 2
    assert main(["serve", "no/such/file", "--port", "0"]) == 2
    assert main(["serve", "--host", "0.0.0.0", "--port", "0", "--config", "no.toml"]) == 2


def test_an_admins_key_is_made_once_and_must_be_ones_own(tmp_path: Path) -> None:
    store, path = MemoryStore(), tmp_path / "key"
    give_admin_key(store, path)
    key = path.read_text().strip()
    assert is_key(key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    give_admin_key(store, path)
    assert path.read_text().strip() == key
    assert [one.tenant for one in store.keys()] == [None]
    path.chmod(0o644)
    with pytest.raises(InvalidArgument, match="read by others"):
        give_admin_key(store, path)
    path.chmod(0o600)
    path.write_text("password")
    with pytest.raises(InvalidArgument, match="no key"):
        give_admin_key(store, path)
    path.write_text(make_key(None)[0])
    give_admin_key(store, path)
    assert len(store.keys()) == 2


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_a_revoked_admins_key_stays_revoked(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    store: Any = MemoryStore() if kind == "memory" else open_store(str(tmp_path / "store"))
    path = tmp_path / "key"
    give_admin_key(store, path)
    (old,) = store.keys()
    store.remove_key(old.id)
    if kind == "folder":
        store.close()
        store = open_store(str(tmp_path / "store"))
    # The last key: nobody could use the server.
    with pytest.raises(InvalidArgument, match="was revoked"):
        give_admin_key(store, path)
    other = tmp_path / "other"
    give_admin_key(store, other)
    give_admin_key(store, path)
    assert old.hash not in [one.hash for one in store.keys()]
    assert "was revoked" in caplog.text
    store.close()


def test_a_key_file_whose_key_has_expired_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, path = MemoryStore(), tmp_path / "key"
    give_admin_key(store, path)
    (old,) = store.keys()
    store.put_key(make_key(None)[1], keep_others=0.0)
    give_admin_key(store, path)
    assert f"the key in {path} has expired: it opens nothing" in caplog.text
    for one in store.keys():
        store.put_key(replace(one, expires=old.created))
    with pytest.raises(InvalidArgument, match="has expired"):
        give_admin_key(store, path)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_needs_keys_and_has_none_says_how_they_are_made(
    tmp_path: Path, workers: str
) -> None:
    store, log, file = str(tmp_path / "store"), tmp_path / "log", str(tmp_path / "key")
    how = "builtin:demo", "--host", "0.0.0.0", "--store", store, "--workers", workers
    with served(*how, log=log):
        until(lambda: f"`pywasmtok tenants add NAME --store {store}`" in log.read_text())
        assert log.read_text().count("refused with 401") == 1
    with served(*how, "--admin-key-file", file, log=log) as server:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(120)
    assert "refused with 401" not in log.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_whose_log_is_not_read_goes_on(tmp_path: Path, workers: str) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    how = "builtin:demo", "--workers", workers, "--store", str(tmp_path / "store")
    with os.fdopen(reader, "rb"), served(*how, log=writer) as server:
        # This is a line of the log.
        assert server.post("/api/v1/reload", None).json()["changed"] == []
        assert server.get("/health").status_code == 200


def test_a_store_with_keys_needs_them(tmp_path: Path) -> None:
    folder = str(tmp_path / "store")
    store = open_store(folder)
    give_admin_key(store, tmp_path / "key")
    store.close()
    service = open_service(read_config(None, {"storage": {"path": folder}}))
    assert service.config.needs_keys
    service.close()
    said = {"storage": {"path": folder}, "identity": False}
    service = open_service(read_config(None, said))
    assert not service.config.needs_keys
    service.close()


def test_a_file_that_is_refused_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text("no tokenizer")
    assert main(["serve", f"a={tmp_path / 'bad.json'}", "--port", "0"]) == 2
    assert f"a={tmp_path / 'bad.json'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path", ["/tokenize", "/api/v1/tokenizers/demo/encode", "/api/v1/tokenizers", "/health"]
)
@pytest.mark.parametrize(
    "name",
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Via"],
)
def test_no_path_of_a_server_without_keys_answers_what_a_proxy_forwards(
    without_keys: Server, path: str, name: str
) -> None:
    body = {"/tokenize": {"prompt": TEXT}, "/api/v1/tokenizers/demo/encode": {"text": TEXT}}.get(
        path
    )
    method = "GET" if body is None else "POST"
    address = without_keys.address + path
    with httpx.Client(timeout=60) as client:
        # The second of a connection is read in another way.
        for _ in range(2):
            assert client.request(method, address, json=body).status_code == 200
        for _ in range(2):
            answer = client.request(method, address, json=body, headers={name: "10.0.0.2"})
            assert answer.status_code == 403


@pytest.fixture(scope="module")
def without_keys() -> Iterator[Server]:
    with served("builtin:demo") as server:
        yield server
