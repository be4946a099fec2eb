"""Memory for files that are being read: what is reserved, and which loads are refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from pywasmtok import SnapshotStore
from pywasmtok._host import linux
from pywasmtok.errors import MemoryLimit
from pywasmtok.tenants import Overloaded, TenantPool, TooManyRequests, loads
from pywasmtok.tenants.loads import Loads, needed

from .parts import limits, pool, small

MOST = 1000


def made(used: Callable[[int], int] = lambda room: 0) -> Loads:
    return Loads(lambda: MOST, used)


def test_what_a_file_needs() -> None:
    flat = needed(0, b"")
    gguf, json, ranks = (
        needed(1000, start) - flat for start in (b"GGUF\x03", b'\xef\xbb\xbf\n {"a"', b"IQ== 0\n")
    )
    assert 1000 < gguf < json < ranks
    # An instance has a bound, whatever the file is.
    assert needed(100, b"{", 5000) == 5200
    assert needed(100, b"{", 1 << 40) == flat + 14 * 100


def test_one_load_may_have_all_and_many_of_one_tenant_a_half() -> None:
    one = made()
    with one.reading("a", 1000):
        assert one.reserved == 1000
    with ExitStack() as stack:
        stack.enter_context(one.reading("a", 200))
        assert one.reserved == 200
        with pytest.raises(TooManyRequests) as refused:
            read(one, "a", 301)
        assert (refused.value.limit, refused.value.asked) == (500, 501)
        # For the others nothing has changed.
        read(one, "b", 400)
    assert one.reserved == 0


def test_a_load_inside_of_a_load_is_the_same() -> None:
    one = made()
    with one.reading("a", 600):
        with one.reading("a", 600):
            assert one.reserved == 600
        assert one.reserved == 600
    assert one.reserved == 0


def test_a_load_waits_for_the_end_of_others() -> None:
    one = made()
    entered = threading.Event()
    first = one.reading("a", 900)
    first.__enter__()

    def second() -> None:
        with one.reading("b", 900):
            entered.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not entered.wait(0.1)
    first.__exit__(None, None, None)
    assert entered.wait(10)
    thread.join()
    assert one.reserved == 0


def test_a_load_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "_WAIT_SECONDS", 0.1)
    one = made()
    with one.reading("a", 900):
        with pytest.raises(Overloaded) as refused:
            read(one, "b", 101)
        assert refused.value.retry_after > 0
    assert one.reserved == 0


def test_what_never_fits_is_refused_at_once() -> None:
    one = made(lambda room: 300)
    with one.reading("a", 700):
        pass
    with pytest.raises(MemoryLimit, match="700 of 1000 are free") as refused, one.reading("a", 701):
        pass
    assert (refused.value.limit, refused.value.asked) == (1000, 1001)
    assert one.reserved == 0
    # A file of the program itself is counted and not refused.
    with one.reading("a", 5000, bounded=False):
        assert one.reserved == 5000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_has_no_loads_of_its_parent() -> None:
    one = made()
    with one.reading("a", 900):
        child = os.fork()
        if child == 0:
            one._here = threading.local()
            with one.reading("b", 900):
                os._exit(0 if one.reserved == 900 else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_file_is_read_only_with_room(tmp_path: Path) -> None:
    # A file of this test alone: others may have left an image of theirs.
    data = small(chat_template="room")
    whole = TenantPool(SnapshotStore(tmp_path), max_memory=needed(len(data), b"{") - 1)
    tenant = whole.add("a", limits())
    with pytest.raises(MemoryLimit):
        tenant.add(data)
    whole.max_memory += 1
    digest = tenant.add(data).digest
    assert whole.loads.reserved == 0
    # With a snapshot nothing is read.
    whole.max_memory = 0
    tenant.evict()
    assert tenant.tokenizer(digest).encode("Hello").ids


def test_idle_tenants_make_room() -> None:
    whole = pool()
    idle = whole.add("idle", limits())
    digest = idle.add(small()).digest
    idle.tokenizer(digest).encode("Hello world")
    assert idle.instances.measure() > 0
    whole.max_memory = needed(len(small(vocab={"<unk>": 0})), b"{")
    assert len(idle.instances) == 1
    whole.add("b", limits()).add(small(chat_template="x"))
    assert len(idle.instances) == 0


def test_what_the_process_has_counts_and_no_tenant_is_evicted_in_vain() -> None:
    process = [0]
    whole = pool(max_memory=1 << 30, process_memory=lambda: process[0])
    idle = whole.add("idle", limits())
    idle.tokenizer(idle.add(small()).digest).encode("Hello world")
    process[0] = 1 << 30
    with pytest.raises(MemoryLimit):
        whole.add("b", limits()).add(small(chat_template="y"))
    # Elsewhere all memory of an instance counts as its own, so that giving it up seems to help.
    assert len(idle.instances) == 1 or not linux.ON


def read(one: Loads, tenant: str, size: int) -> None:
    """In a thread of its own: in one thread, a load inside of another one is the same load."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            with one.reading(tenant, size):
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
