"""Many threads, one tokenizer."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from pywasmtok import errors
from pywasmtok._host.calls import pool as pools
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.linux import processors as processor_counts

from .cores import HOLD, LET_GO, LONG, ids_of, load, sample_core
from .test_helpers import wait_for


@contextmanager
def busy(tok: CoreTokenizer) -> Iterator[Future[bytes]]:
    """A call that is inside the core until the block ends."""
    pool, executor = tok._pool, ThreadPoolExecutor(1)
    before = pool.size - len(pool.idle)
    future = executor.submit(tok.encode_ids, HOLD, False)
    executor.shutdown(wait=False)
    wait_for(lambda: pool.size - len(pool.idle) > before)
    inside = set(pool._live).difference(pool.idle)
    try:
        yield future
    finally:
        for instance in inside:
            instance._view[LET_GO] = 1


def test_two_threads_are_inside_the_core_at_the_same_time() -> None:
    tok = load()
    tok.encode_ids("warm")
    with busy(tok) as future:
        # Would wait for the first call if the lock of Python or one of ours were held during it.
        assert tok.encode_ids("quick", False) == ids_of("quick")
        assert not future.done()
    assert future.result(60) == ids_of(HOLD)
    assert tok._pool.size == 2


def test_a_second_instance_does_not_read_the_file_again() -> None:
    tok = load(b"\0" * 1000)
    first, second = tok._pool.acquire(), tok._pool.acquire()
    assert first.handles() == second.handles()
    assert first.base() != second.base()
    assert first.read(0, first.size) == second.read(0, second.size)
    first.encode_ids(b"changes", 0)
    assert first.read(0, first.size) != second.read(0, second.size)
    tok._pool.release(first)
    tok._pool.release(second)


def test_copying_is_an_equal_way_of_cloning(monkeypatch: pytest.MonkeyPatch) -> None:
    """What serves systems without anonymous files."""
    from pywasmtok._host.snapshots import image

    monkeypatch.setattr(image, "_anonymous_file", lambda layout, parts: None)
    tok = load()
    assert not tok._pool._source._image.shared
    with busy(tok) as one, busy(tok) as other:
        assert tok.encode_ids("x", False) == ids_of("x")
    assert one.result(60) == other.result(60) == ids_of(HOLD)


def test_24_threads_share_one_tokenizer() -> None:
    tok = load()
    wrong = []

    def work(seed: int) -> None:
        for n in range(300):
            text = f"{seed} {n} " + "x" * (seed * n % 500)
            if tok.encode_ids(text, False) != ids_of(text):
                wrong.append(text)
            if n % 50 == seed % 50:
                with pytest.raises(errors.CoreTrap):
                    tok.encode_ids("\1u")
            if n % 100 == 7 and tok.decode(ids_of(text), False) != text:
                wrong.append(text)

    with ThreadPoolExecutor(24) as executor:
        list(executor.map(work, range(24)))
    assert wrong == []
    assert tok._pool.size <= tok._pool.limit
    assert len(tok._pool.idle) == tok._pool.size


def test_who_finds_no_instance_waits_for_one() -> None:
    tok = load()
    tok._pool.limit = 1
    with ThreadPoolExecutor(1) as executor:
        with busy(tok) as future:
            after = executor.submit(tok.encode_ids, "after", False)
            wait_for(lambda: tok._pool.attention)
            assert not after.done()
        assert future.result(60) == ids_of(HOLD)
        assert after.result(60) == ids_of("after")
    assert tok._pool.size == 1


def test_who_waits_gets_a_new_instance_when_another_call_traps() -> None:
    tok = load()
    tok._pool.limit = 1
    held = tok._pool.acquire()
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(tok.encode_ids, "waits", False)
        wait_for(lambda: tok._pool.attention)
        tok._pool.settle(held, errors.CoreTrap("trapped"))
        assert future.result(60) == ids_of("waits")


def test_when_no_more_instances_can_be_made_there_are_those_that_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tok = load()
    held = tok._pool.acquire()

    def refuse() -> None:
        raise errors.HostError("no instance")

    monkeypatch.setattr(tok._pool._source, "new_instance", refuse)
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(tok.encode_ids, "waits", False)
        wait_for(lambda: tok._pool.attention)
        tok._pool.release(held)
        assert future.result(60) == ids_of("waits")
    tok._pool.idle.clear()
    del held
    gc.collect()
    with pytest.raises(errors.HostError, match="no instance"):
        tok.encode_ids("x")


def test_an_instance_lost_on_its_way_is_replaced() -> None:
    """KeyboardInterrupt can strike between two instructions; the pool must not run dry of it."""
    tok = load()
    for _ in range(3 * tok._pool.limit):
        tok._pool.acquire()
        assert tok.encode_ids("x", False) == ids_of("x")
    assert tok._pool.size <= tok._pool.limit


def test_close_during_a_call() -> None:
    tok = load()
    tok.encode_ids("warm")
    with busy(tok) as future:
        tok.close()
        assert tok.closed
    assert future.result(60) == ids_of(HOLD)
    assert tok._pool.idle == []
    for call in (lambda: tok.encode_ids("x"), lambda: tok.encode_ids("x" * LONG), tok.info):
        with pytest.raises(errors.TokenizerClosed):
            call()
    tok.close()


def test_close_wakes_those_who_wait() -> None:
    tok = load()
    tok._pool.limit = 1
    with busy(tok) as future, ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(tok.encode_ids, "waits")
        wait_for(lambda: tok._pool.attention)
        tok.close()
        with pytest.raises(errors.TokenizerClosed):
            waiting.result(60)
    assert future.result(60) == ids_of(HOLD)


def test_waiting_calls_are_served_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that never pauses would take each instance again before another one has woken up."""
    monkeypatch.setattr(pools, "_PATIENCE", 0.0)
    tok = load()
    pool = tok._pool
    pool.limit = 1
    held = pool.acquire()
    order: list[int] = []

    def call(number: int) -> None:
        instance = pool.acquire()
        order.append(number)
        pool.release(instance)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        while len(pool._line) < number:
            time.sleep(0.001)
    pool.release(held)
    # They came before.
    pool.release(pool.acquire())
    assert order == [0, 1, 2, 3, 4]
    for thread in threads:
        thread.join()
    assert (len(pool.idle), pool.size, pool._line) == (1, 1, [])


def test_a_call_that_is_given_up_passes_on_what_it_was_handed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "_PATIENCE", 0.0)
    tok = load()
    pool = tok._pool
    pool.limit = 1
    held = pool.acquire()

    def given_up() -> None:
        pool.release(held)
        raise errors.Cancelled("given up")

    # After the wait: at this moment the line has one turn, which is handed the instance.
    monkeypatch.setattr(pools.cancel, "check", given_up)
    monkeypatch.setattr(pools._Turn, "wait", lambda turn, seconds: None)
    with pytest.raises(errors.Cancelled):
        pool.acquire()
    assert pool.idle == [held]
    assert pool._line == []


@pytest.mark.parametrize("threads", [False, True])
def test_dropping_a_tokenizer_frees_its_instances_without_the_collector(
    threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYWASMTOK_THREADS", "1")
    gc.collect()
    gc.disable()
    try:
        tok = load(threads=threads)
        tok.encode_ids("x")
        tok.encode_ids("x" * LONG)
        with pytest.raises(errors.CoreTrap):
            tok.encode_ids("\1u" + "x" * LONG)
        tok.encode_ids("x")
        gone = [weakref.ref(instance) for instance in tok._pool.idle]
        source = tok._pool._source
        gone.append(weakref.ref(source._group if threads else source._image))
        del source
        del tok
        # A thread that did a call for another one holds what it worked with a moment longer.
        end = time.monotonic() + 60
        while any(ref() is not None for ref in gone) and time.monotonic() < end:
            time.sleep(0.001)
        assert [ref() for ref in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_load_and_drop_many_times_keeps_no_files_open(tmp_path: Path) -> None:
    import os

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("counts the open files of Linux")
    load()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        load().encode_ids("x")
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_instance_that_has_become_large_gives_its_memory_back() -> None:
    tok = load()
    tok.encode_ids("x")
    pool = tok._stoppable()
    # Pairs are not cut into pieces.
    tok.encode_pair_ids("x" * 20_000_000, "y", False)
    assert pool.size == 0
    tok.encode_pair_ids("x" * LONG, "y", False)
    assert pool.size == 1


def test_the_limit_follows_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_counts, "ON", False)
    for processors, limit in ((1, 4), (8, 16), (100, 32), (None, 4)):
        monkeypatch.setattr(
            processor_counts.os, "cpu_count", lambda processors=processors: processors
        )
        assert pools.default_limit() == limit


def test_many_tokenizers_and_threads_with_faults() -> None:
    """Three good tenants beside one that does everything wrong."""
    stop = threading.Event()
    good = [load() for _ in range(3)]
    bad = load()

    def hostile() -> int:
        faults = 0
        while not (stop.is_set() and faults):
            for text in ("\1o", "\1r", "\1u", "\1z", "\1N", "\1P"):
                with pytest.raises(errors.CoreTrap):
                    bad.encode_ids(text)
                faults += 1
        return faults

    def honest(tok: CoreTokenizer) -> int:
        return sum(tok.encode_ids(f"text {n}", False) == ids_of(f"text {n}") for n in range(2000))

    with ThreadPoolExecutor(4) as executor:
        faults = executor.submit(hostile)
        assert list(executor.map(honest, good)) == [2000] * 3
        stop.set()
        assert faults.result() > 0


def test_core_is_shared_by_all_tokenizers() -> None:
    assert load()._pool._source._core is sample_core(False)
