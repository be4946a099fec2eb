"""The clock of the machine jumps, forwards and backwards, while a server works."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pywasmtok import TokenizerError
from pywasmtok.server.api.shapes import Stops
from pywasmtok.server.api.streams.state import VERSION, Seal, Standing
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Config, Logs, Storage
from pywasmtok.server.contract import Caller
from pywasmtok.server.errors import BadRequest
from pywasmtok.server.opening import open_service
from pywasmtok.server.service import Service
from pywasmtok.server.store.folder import FolderStore
from pywasmtok.tenants.errors import TooManyRequests
from server.records import tenant
from tools.verify.server_kill import TEXT, Files

YEARS = 10 * 365 * 86400.0


class Clock:
    """`time.time`, with jumps; the monotonic clock of the system has none."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        real = time.time
        patch.setattr(time, "time", lambda: real() + self.ahead)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    config = Config(storage=Storage(path=str(tmp_path)), logs=Logs(access=False), identity=True)
    with closing(open_service(config)) as made:
        yield made


@pytest.mark.parametrize("jump", [YEARS, -YEARS])
def test_acknowledged_changes_and_good_tenants(service: Service, clock: Clock, jump: float) -> None:
    files = Files(random.Random(3))
    ids: dict[str, list[int]] = {}
    keys: dict[str, str] = {}

    def put(name: str) -> None:
        service.store.put_tenant(tenant(name))
        keys[name], record = make_key(name)
        service.store.put_key(record)
        data, ids[name] = files.made()
        service.upload(service.tenant(name), data, {}, "mine")

    def all_is_right() -> None:
        for name, wanted in ids.items():
            found = service.keys.find(keys[name])
            assert found is not None
            assert found.tenant == name
            answer = service.find(Caller(name), "mine").tokenizer.encode(TEXT).ids
            assert list(answer) == wanted

    put("before")
    for name in ("there", "back"):
        clock.ahead += jump if name == "there" else -jump
        all_is_right()
        put(name)
        service.pool.evict()
        service.checks.check_if_due()
        all_is_right()
    assert service.store.check().problems == []
    store = FolderStore(Path(service.config.storage.path))
    assert {one.name for one in store.tenants()} >= {"before", "there", "back"}
    assert (store.check().problems, store.sweep()) == ([], 0)
    store.close()


@pytest.mark.parametrize("jump", [YEARS, -YEARS])
def test_rates_and_deadlines_do_not_follow_it(service: Service, clock: Clock, jump: float) -> None:
    service.store.put_tenant(tenant("a", bytes_per_second=1, burst_bytes=100))
    admitted = service.tenant("a")
    admitted.admit(100)
    admitted.ended(100)
    clock.ahead += jump
    with pytest.raises(TooManyRequests) as refused:
        admitted.admit(100)
    assert refused.value.retry_after is not None
    assert 0 < refused.value.retry_after <= 100
    data, ids = Files(random.Random(3)).made()
    limits = replace(tenant("b").limits, calls=replace(tenant("b").limits.calls, deadline=60.0))
    service.store.put_tenant(replace(tenant("b"), limits=limits))
    service.upload(service.tenant("b"), data, {}, "mine")
    clock.ahead -= 2 * jump
    assert list(service.find(Caller("b"), "mine").tokenizer.encode(TEXT).ids) == ids


def test_a_file_that_is_being_written_is_not_swept_away(service: Service, clock: Clock) -> None:
    """Its age says that it was abandoned; its lock says that it was not."""
    store = service.store
    assert isinstance(store, FolderStore)
    with store._files.written(b"half") as written:
        clock.ahead += YEARS
        assert store.sweep() == 0
        assert os.path.exists(written.path) == (os.name != "nt")


def test_a_key_that_ends_ends_early_or_late_and_others_do_not(
    service: Service, clock: Clock
) -> None:
    service.store.put_tenant(tenant("a"))
    ends, ending = make_key("a", expires=time.time() + 3600)
    stays, staying = make_key("a")
    for record in (ending, staying):
        service.store.put_key(record)
    for ahead, is_good in ((0.0, True), (YEARS, False), (-YEARS, True), (0.0, True)):
        clock.ahead = ahead
        assert (service.keys.find(ends) is not None) == is_good
        assert service.keys.find(stays) is not None
    service.store.remove_key(ending.id)
    clock.ahead = -YEARS
    assert service.keys.find(ends) is None


def test_a_state_of_a_stream_is_too_old_or_good(clock: Clock) -> None:
    seal = Seal(b"k" * 32, seconds=3600.0, most_bytes=1000, now=time.time)
    standing = Standing(VERSION, seal.expires(), "a", "mine", "0" * 64, 0, Stops(), b"core")
    state = seal.closed(standing)
    for ahead, is_good in ((0.0, True), (YEARS, False), (-YEARS, True)):
        clock.ahead = ahead
        if is_good:
            assert seal.opened(state, "a", "mine") == standing
        else:
            with pytest.raises(BadRequest, match="too old"):
                seal.opened(state, "a", "mine")


def test_a_name_that_is_given_anew_has_nothing_of_before(service: Service, clock: Clock) -> None:
    """A name of a tenant that was removed and is given anew is another tenant, whatever the clock
    says: the new one has none of the old one's files."""
    service.store.put_tenant(tenant("a"))
    data, _ = Files(random.Random(3)).made()
    service.upload(service.tenant("a"), data, {}, "mine")
    service.store.remove_tenant("a")
    clock.ahead -= YEARS
    service.store.put_tenant(tenant("a"))
    with pytest.raises(TokenizerError, match="no tokenizer"):
        service.find(Caller("a"), "mine")
