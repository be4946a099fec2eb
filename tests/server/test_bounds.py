"""Copies in memory whose size requests could choose: names, kinds of requests, slow tenants."""

from __future__ import annotations

import errno
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pywasmtok import TokenizerError
from pywasmtok.server.config import Config, Logs, Numbers, Storage
from pywasmtok.server.contract import PUBLIC, AliasRecord, Caller
from pywasmtok.server.observe.metrics import ServerMetrics
from pywasmtok.server.opening import open_service
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.scheduling import inline_permission
from pywasmtok.server.service import Service
from pywasmtok.server.store import failures
from pywasmtok.server.store.folder import FolderStore
from pywasmtok.tenants.errors import UnknownTokenizer
from server.records import digest, tenant, tokenizer
from tools.verify.server_kill import Files


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    config = Config(storage=Storage(path=str(tmp_path)), logs=Logs(access=False), identity=True)
    with closing(open_service(config)) as made:
        yield made


def test_meanings_of_names_are_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pywasmtok.server.service._MOST_FOUND", 3)
    service.store.put_tenant(tenant("a"))
    data, _ = Files(random.Random(1)).made()
    found = service.upload(service.tenant("a"), data, {}, "n0")
    for number in range(1, 10):
        service.store.put_alias(AliasRecord("a", f"n{number}", found))
    for number in range(10):
        assert service.find(Caller("a"), f"n{number}").digest == found
        with pytest.raises(UnknownTokenizer):
            service.find(Caller("a"), f"unknown{number}")
        assert len(service._found[1]) <= 4


def test_numbers_at_hand_are_bounded_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pywasmtok.server.observe.metrics._MOST_NUMBERS", 3)
    metrics = ServerMetrics(Numbers(tenants=2))
    for _ in range(2):
        for number in range(10):
            metrics.request(
                Exchange("POST", "encode", "own", Caller(f"t{number}"), status=200, seconds=0.1)
            )
            assert len(metrics._numbers) <= 3
    text = metrics.render()[0].decode()
    assert 'pywasmtok_server_requests_total{dialect="own",route="encode",status="2xx"} 20.0' in text
    assert 'status="2xx",tenant="other"} 16.0' in text
    metrics.close()


def test_slow_tenants_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_permission, "_MOST_KNOWN", 3)
    permission = inline_permission.Permission()
    for number in range(10):
        permission.saw(f"t{number}", 10.0)
    assert list(permission._slow) == ["t7", "t8", "t9"]


def test_problems_that_a_check_names_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pywasmtok.server.store.verification._MOST_NAMED", 3)
    store = FolderStore(tmp_path)
    for number in range(5):
        data = b"%d" % number
        store.put_tokenizer(tokenizer(PUBLIC, data), data, f"m{number}")
        (tmp_path / "files" / digest(data)).unlink()
    found = store.check()
    assert found.problems[3:] == ["2 more problems"]
    store.close()


def test_a_disk_that_fails_is_a_line_a_second(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 50.0
    monkeypatch.setattr(failures, "_clock", lambda: now)
    monkeypatch.setattr(failures, "_said", {})
    for second in range(3):
        now = 50.0 + second
        for number in (errno.EIO, errno.ENOSPC) * 5:
            with pytest.raises(TokenizerError), failures.typed_errors():
                raise OSError(number, f"number {number}")
        with pytest.raises(TokenizerError), failures.typed_errors():
            raise sqlite3.OperationalError("no such table")
    assert len(caplog.records) == 3 * 3
