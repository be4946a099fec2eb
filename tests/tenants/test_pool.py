"""Who loses instances, and what a pool survives."""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import weakref
from pathlib import Path

import pytest
from clock import Clock

from pywasmtok import SnapshotStore
from pywasmtok._host.linux import ON, private_memory
from pywasmtok._host.snapshots.image import Image
from pywasmtok.errors import HostError
from pywasmtok.tenants import Overloaded, Tenant, TenantPool

from .parts import limits, pool, small

TEXT = "Hello world, Hello"


def working(whole: TenantPool, count: int) -> tuple[list[Tenant], str, list[int]]:
    """Tenants that have encoded something, the one that was first idle first."""
    made = [whole.add(f"t{number}", limits()) for number in range(count)]
    digest, ids = "", []
    for tenant in made:
        digest = tenant.add(small()).digest
        ids = tenant.tokenizer(digest).encode(TEXT).ids
        if isinstance(whole._clock, Clock):
            whole._clock.now += 1
    return made, digest, ids


def test_who_is_idle_for_long_loses_its_instances() -> None:
    clock = Clock()
    whole = pool(idle_seconds=10, clock=clock)
    (first, second), digest, ids = working(whole, 2)
    clock.now += 8.5
    assert whole.evict() == 1
    assert (len(first.instances), len(second.instances)) == (0, 1)
    assert whole.evict() == 0
    # It notices nothing but the time.
    assert first.tokenizer(digest).encode(TEXT).ids == ids
    assert len(first.instances) == 1


def test_who_has_a_call_is_not_idle() -> None:
    clock = Clock()
    whole = pool(idle_seconds=10, clock=clock)
    (tenant,), _, _ = working(whole, 1)
    clock.now += 8
    with tenant.admitted(1):
        clock.now += 8
    assert whole.evict() == 0
    clock.now += 11
    assert whole.evict() == 1


@pytest.mark.parametrize("bound", ["max_memory", "max_maps"])
def test_beyond_a_bound_the_longest_idle_go_first(bound: str) -> None:
    whole = pool(clock=Clock())
    tenants, _, _ = working(whole, 4)
    assert whole.evict() == 0
    instances, memory, maps = whole.usage()
    assert instances == 4
    assert memory > 0
    assert maps >= 4
    setattr(whole, bound, (memory if bound == "max_memory" else maps) // 2)
    tenants[0].tokenizer(tenants[0].digests()[0])
    assert whole.evict() == 2
    assert [len(one.instances) for one in tenants] == [0, 0, 1, 1] or [
        len(one.instances) for one in tenants
    ] == [1, 0, 0, 1]


def test_a_tokenizer_that_was_evicted_while_in_use() -> None:
    whole = pool()
    (tenant,), digest, ids = working(whole, 1)
    tok = tenant.tokenizer(digest)
    stream = tok.decode_stream()
    said = stream.step(ids[0])
    tenant.evict()
    assert len(tenant.instances) == 0
    said += "".join(stream.step(one) for one in ids[1:]) + stream.flush()
    assert said == tok.decode(ids)
    assert tok.encode(TEXT).ids == ids
    # Each call had an instance of its own, and none is kept.
    assert len(tenant.instances) == 0
    assert tenant.tokenizer(digest) is not tok


def test_whoever_makes_many_is_kept_within_bounds() -> None:
    whole = pool(max_maps=0)
    tenants, _, _ = working(whole, 70)
    assert sum(len(one.instances) for one in tenants) < 70


def test_removing_and_closing() -> None:
    whole = pool()
    (first, second), _, _ = working(whole, 2)
    whole.remove("t0")
    with pytest.raises(KeyError):
        whole.get("t0")
    assert (len(whole), len(first.instances), len(second.instances)) == (1, 0, 1)
    whole.close()
    assert len(whole) == len(second.instances) == 0
    whole.close()


def test_from_the_disk_again(tmp_path: Path) -> None:
    data = small(model={"type": "WordLevel", "vocab": {"[UNK]": 0, "x": 1}, "unk_token": "[UNK]"})
    store = SnapshotStore(tmp_path / "snapshots")
    whole = TenantPool(store)
    tenant = whole.add("a", limits())
    digest = tenant.add(data).digest
    ids = tenant.tokenizer(digest).encode("x").ids
    core = tenant.tokenizer(digest).core_backend
    assert core is not None
    assert core.core.image is not None
    image = weakref.ref(core.core.image)
    tenant.evict()
    del core
    gc.collect()
    # An image that can be found again is not held for who is idle.
    assert image() is None
    assert tenant.tokenizer(digest).encode("x").ids == ids
    core = tenant.tokenizer(digest).core_backend
    assert core is not None
    assert core.core.from_snapshot


def test_no_more_memory_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others lose what they do not use; then it is the process that is full, and says so."""
    whole = pool()
    (first, second), digest, _ = working(whole, 2)
    third = whole.add("t2", limits())
    third.add(small())
    third.evict()
    clone, failures = Image.clone, [1]

    def full(self: Image, *args: object) -> object:
        if failures:
            failures.pop()
            raise OSError(12, os.strerror(12))
        return clone(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Image, "clone", full)
    assert third.tokenizer(digest).encode(TEXT)
    assert sorted(len(one.instances) for one in (first, second)) == [0, 1]
    whole.get("t2").evict()
    failures += [1] * 100
    with pytest.raises(Overloaded, match="Cannot allocate memory") as caught:
        third.tokenizer(digest)
    assert caught.value.retry_after > 0
    with pytest.raises(Overloaded), third.admitted(1):
        raise HostError("full", feature="address-space")
    failures.clear()
    assert third.tokenizer(digest).encode(TEXT)


@pytest.mark.skipif(not ON, reason="Linux says it page by page")
def test_what_an_instance_has_written() -> None:
    whole = pool()
    (tenant,), digest, _ = working(whole, 1)
    before = tenant.instances.measure()
    assert 0 < before < 8 << 20
    tenant.tokenizer(digest).encode("Hello world " * 40_000)
    assert tenant.instances.measure() > before + 1_000_000
    assert tenant.usage().memory == tenant.instances.memory


def test_an_estimate_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pool()
    (tenant,), _, _ = working(whole, 1)
    monkeypatch.setattr(private_memory, "own_bytes", lambda address, size: None)
    least = tenant.instances.measure()
    assert least >= 1 << 20
    (instance,) = tenant.instances.alive()
    instance.grow_to(instance.size + (16 << 20))
    assert tenant.instances.measure() >= 16 << 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_takes_tenants_along() -> None:
    whole = pool()
    (tenant,), digest, ids = working(whole, 1)
    child = os.fork()
    if child == 0:
        status = 1
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            with tenant.turn(1):
                same = tenant.tokenizer(digest).encode(TEXT).ids == ids
            other = whole.add("child", limits())
            same = same and other.tokenizer(other.add(small()).digest).encode(TEXT).ids == ids
            status = 0 if same and whole.evict() == 0 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tenant.tokenizer(digest).encode(TEXT).ids == ids


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        working(pool(), 2)
    assert caplog.records == []
