"""Checks of the store while it is served: on a schedule, on demand, and what is said of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clock import Clock
from starlette.testclient import TestClient

from pywasmtok._host.linux.file_systems import try_to_lock
from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Config, Logs, Storage
from pywasmtok.server.contract import PUBLIC, Checked
from pywasmtok.server.errors import Draining
from pywasmtok.server.opening import open_service
from pywasmtok.server.service import Service
from pywasmtok.server.store import MEMORY, open_store
from pywasmtok.server.store.folder import FolderStore
from pywasmtok.server.store.schedule import Checks
from server.records import digest, tenant, tokenizer
from server.serving import served, until

DATA = b"some file", b"another"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FolderStore]:
    made = FolderStore(tmp_path)
    made.put_tenant(tenant("a"))
    for data in DATA:
        made.put_tokenizer(tokenizer(PUBLIC, data), data, f"m{len(data)}")
    yield made
    made.close()


def spoil(folder: Path, data: bytes) -> None:
    path = folder / "files" / digest(data)
    path.chmod(0o600)
    path.write_bytes(b"x" + data[1:])


def checks_of(store: FolderStore, clock: Any = None, **storage: Any) -> Checks:
    return Checks(store, Storage(path=str(store.folder), **storage), clock or Clock(1e9))


def test_a_folder_that_is_called_memory_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory").mkdir()
    checks = Checks(open_store(MEMORY), Storage())
    checks.start()
    assert checks._thread is None
    assert asyncio.run(checks.now()) == Checked([], 0, 0, 0)
    checks.close()
    assert list((tmp_path / "memory").iterdir()) == []


def test_all_processes_share_one_schedule(store: FolderStore) -> None:
    clock = Clock(1e9)
    one, other = checks_of(store, clock), checks_of(store, clock)
    assert one.check_if_due() == Checked([], 0, 2, sum(map(len, DATA)))
    assert (one.check_if_due(), other.check_if_due()) == (None, None)
    clock.now += 86399
    assert other.check_if_due() is None
    clock.now += 1
    assert other.check_if_due() is not None
    assert one.check_if_due() is None
    one.close()
    other.close()


def test_a_clock_that_jumps_makes_a_check_early_and_ends_none(store: FolderStore) -> None:
    clock = Clock(1e9)
    checks = checks_of(store, clock)
    for jump in (0.0, -1e8, 1e8, 1e8):
        clock.now += jump
        assert checks.check_if_due() is not None
        assert checks.check_if_due() is None
    checks.close()


@pytest.mark.parametrize("said", [b"", b"{", b"[1]", b'{"checked": "x"}', b'{"checked": null}'])
def test_a_damaged_note_of_the_last_check_means_that_one_is_due(
    store: FolderStore, said: bytes
) -> None:
    (store.folder / "checked.json").write_bytes(said)
    checks = checks_of(store)
    assert checks.last()["checked"] is None
    assert checks.check_if_due() is not None
    assert checks.last() == {"checked": 1e9, "problems": 0, "set_aside": 0}
    checks.close()


@pytest.mark.skipif(os.name == "nt", reason="no such lock there")
def test_while_one_process_checks_no_other_does(store: FolderStore) -> None:
    """A clock that stands still would make each of them due."""
    inside, go_on = threading.Event(), threading.Event()
    one, other = checks_of(store, check_seconds=0.0), checks_of(store, check_seconds=0.0)

    def waiting(length: int) -> None:
        inside.set()
        assert go_on.wait(60)

    one._slowly = waiting  # type: ignore[method-assign]
    thread = threading.Thread(target=one.check_if_due)
    thread.start()
    assert inside.wait(60)
    assert other.check_if_due() is None
    go_on.set()
    thread.join()
    assert other.check_if_due() is not None
    one.close()
    other.close()


def test_bytes_a_second_are_bounded_and_a_check_ends_with_the_server(store: FolderStore) -> None:
    waited: list[float] = []
    checks = checks_of(store, check_bytes_per_second=4)

    class End(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return self.is_set()

    checks._end = End()
    assert checks.check_if_due() is not None
    assert sorted(waited) == sorted(len(data) / 4 for data in DATA)
    checks.close()
    (store.folder / "checked.json").unlink()
    with pytest.raises(Draining):
        checks.check_if_due()


def test_many_records_are_read_in_parts(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pywasmtok.server.store.rows._PART", 2)
    parts: list[int] = []
    for name in ("b", "c", "d", "e"):
        store.put_tenant(tenant(name))
    assert store.check(with_files=False, pace=parts.append).problems == []
    # Five tenants, two tokenizers (twice) and two names.
    assert parts == [2 * 256] * 5


def test_it_runs_by_itself_and_sets_aside_what_is_damaged(
    tmp_path: Path, store: FolderStore, caplog: pytest.LogCaptureFixture
) -> None:
    checks = checks_of(store, time.time, check_seconds=0.02)
    spoil(tmp_path, DATA[0])
    checks.start()
    until(lambda: checks.last()["set_aside"] == 1)
    (tmp_path / "files" / digest(DATA[1])).unlink()
    until(lambda: checks.last()["problems"] == 2)
    checks.close()
    assert "a check found 1 problems; 1 records and files were set aside" in caplog.text
    assert json.loads((tmp_path / "checked.json").read_bytes())["files"] == 0


def test_zero_seconds_mean_no_check(store: FolderStore) -> None:
    checks = checks_of(store, check_seconds=0.0)
    checks.start()
    assert checks._thread is None
    checks.close()


ADMIN, ADMINS = make_key(None)
KEY, KEYS = make_key("acme")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    config = Config(
        storage=Storage(path=str(tmp_path / "s")),
        logs=Logs(access=False),
        identity=True,
        tokenizers={"demo": "builtin:demo"},
    )
    made = open_service(config)
    made.store.put_tenant(tenant("acme"))
    for record in (ADMINS, KEYS):
        made.store.put_key(record)
    yield made
    made.close()


def test_an_admin_asks_for_a_check_and_the_rest_is_served(service: Service) -> None:
    folder = Path(service.config.storage.path)
    service.store.put_tokenizer(tokenizer("acme", DATA[0]), DATA[0], "mine")
    spoil(folder, DATA[0])
    with TestClient(create_app(service), base_url="http://localhost") as client:
        path = "/api/v1/store/verify"
        for headers, status in (({}, 401), ({"authorization": f"Bearer {KEY}"}, 403)):
            assert client.post(path, headers=headers).status_code == status
        assert service.store.aside() == 0
        answer = client.post(path, headers={"authorization": f"Bearer {ADMIN}"})
        assert answer.status_code == 200
        found = answer.json()
        assert (found["problems"], found["set_aside"]) == ([f"{digest(DATA[0])} is damaged"], 1)
        assert found["files"] == 2
        health = client.get("/health").json()["store"]
        assert (health["problems"], health["set_aside"]) == (1, 1)
        assert health["checked"] > 0
        for name, status in (("demo", 200), ("mine", 422)):
            asked = client.post(
                f"/api/v1/tokenizers/{name}/count",
                json={"text": "Hello"},
                headers={"authorization": f"Bearer {KEY}"},
            )
            assert asked.status_code == status, asked.text


def test_a_drain_does_not_wait_for_a_check(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = service.store.check

    def check(*, pace: Any, **options: Any) -> Checked:
        service.lifecycle.drain()
        return real(pace=pace, **options)

    monkeypatch.setattr(service.store, "check", check)
    with TestClient(create_app(service), base_url="http://localhost") as client:
        answer = client.post("/api/v1/store/verify", headers={"authorization": f"Bearer {ADMIN}"})
    assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "draining")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="several workers, and a signal")
def test_workers_check_and_end_in_the_middle_of_a_check(tmp_path: Path) -> None:
    config, path = tmp_path / "server.toml", tmp_path / "s"
    arguments = (
        "demo=builtin:demo",
        "--config",
        str(config),
        "--store",
        str(path),
        "--no-access-log",
    )

    def settings(more: str) -> None:
        config.write_text(f"[listen]\nworkers = 2\n[storage]\ncheck-seconds = 0.05\n{more}\n")

    settings("")
    with served(*arguments, log=tmp_path / "log") as server:
        # No tenant asks for this file: only a check finds it.
        data = b"y" * 1000
        store = FolderStore(path)
        store.put_tokenizer(tokenizer(PUBLIC, data), data, "unused")
        spoil(path, data)
        until(lambda: server.get("/health").json()["store"]["set_aside"] == 1)
        assert server.post("/api/v1/tokenizers/demo/count", {"text": "Hello"}).status_code == 200
        store.close()
        said = f"{digest(data)} had other bytes than were stored"
        until(lambda: said in (tmp_path / "log").read_text())
    settings("check-bytes-per-second = 1")
    with served(*arguments, log=tmp_path / "log") as server:
        before = (path / "checked.json").read_bytes()
        until(lambda: _is_locked(path / "checked.json"))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0
        assert (path / "checked.json").read_bytes() == before


def _is_locked(path: Path) -> bool:
    file = os.open(path, os.O_RDWR)
    try:
        return not try_to_lock(file)
    finally:
        os.close(file)


def test_a_damaged_tenant_does_not_stop_changes_of_others(service: Service) -> None:
    """The catalog reads all records at each change."""
    import sqlite3

    service.store.put_tenant(tenant("other"))
    connection = sqlite3.connect(
        Path(service.config.storage.path) / "records.sqlite", isolation_level=None
    )
    connection.execute("UPDATE tenants SET disabled = 1 WHERE name = 'acme'")
    connection.close()
    service.store.put_tenant(tenant("later"))
    assert [one.name for one in service.store.tenants()] == ["later", "other"]
    assert service.tenant("later").name == "later"
    assert service.keys.find(KEY) is None
    assert service.keys.find(ADMIN) is not None
