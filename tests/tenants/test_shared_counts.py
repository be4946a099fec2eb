"""Limits that several processes share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from clock import Clock

from pywasmtok.tenants import TooManyRequests
from pywasmtok.tenants import shared_counts as shared
from pywasmtok.tenants.bucket import Bucket
from pywasmtok.tenants.counts import RUNNING, STREAMS
from pywasmtok.tenants.shared_counts import Board, SharedCounts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks of files here")

CONTEXT = get_context("spawn")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(CONTEXT.RawArray, 3, tmp_path / "lock")


def both(board: Board) -> tuple[SharedCounts, SharedCounts]:
    return SharedCounts(board, 0), SharedCounts(board, 1)


def taken(buckets: list[Bucket], cost: int) -> int:
    """What all give, one after another, until each has refused."""
    left, total = list(buckets), 0
    while left:
        for bucket in list(left):
            try:
                bucket.take(cost)
            except TooManyRequests:
                left.remove(bucket)
            else:
                total += cost
    return total


def test_a_total_is_that_of_all_processes(board: Board) -> None:
    one, other = both(board)
    assert (one.add(RUNNING, "acme", 2), other.add(RUNNING, "acme", 1)) == (2, 1)
    other.add(RUNNING, "zeta", 5)
    other.add(STREAMS, "acme", 7)
    for counts in (one, other):
        assert [counts.total(RUNNING, name) for name in ("acme", "zeta", "new")] == [3, 5, 0]
    assert not one.may_start("acme", 3)
    one.add(RUNNING, "acme", -1)
    assert one.may_start("acme", 3)
    assert (one.own(RUNNING, "acme"), one.total(RUNNING, "acme")) == (1, 2)


def test_what_a_process_that_ended_held_is_given_back(board: Board) -> None:
    one, other = both(board)
    one.add(RUNNING, "acme", 2)
    other.add(RUNNING, "acme", 3)
    board.clear(1)
    assert one.total(RUNNING, "acme") == 2
    # The next process of this number begins with nothing.
    again = SharedCounts(board, 1)
    again.add(RUNNING, "acme", 1)
    assert one.total(RUNNING, "acme") == 3


def test_a_process_begins_without_the_folder_of_the_lock(tmp_path: Path) -> None:
    board = Board(CONTEXT.RawArray, 3, tmp_path / "numbers" / "limits")
    one, other = both(board)
    shutil.rmtree(tmp_path / "numbers")
    again = SharedCounts(board, 1)
    one.add(RUNNING, "acme", 2)
    again.add(RUNNING, "acme", 1)
    assert other.total(RUNNING, "acme") == 3


def test_places_of_tenants_that_were_removed_are_used_again(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_TENANTS", 4)
    small = Board(CONTEXT.RawArray, 2, board.lock)
    one, other = both(small)
    for name in "abcd":
        one.add(RUNNING, name, 1)
        other.add(RUNNING, name, 1)
    bucket = one.bucket("a", 0, 10, Clock())
    bucket.take(10)
    # The table is full: this one is counted in each process.
    one.add(RUNNING, "e", 1)
    assert (one.total(RUNNING, "e"), other.total(RUNNING, "e")) == (1, 0)
    one.forget("a")
    assert one.place("e") is None
    other.forget("a")
    one.add(RUNNING, "e", 1)
    assert (one.total(RUNNING, "e"), other.total(RUNNING, "e")) == (2, 2)
    # With the place it has nothing else of the tenant before it.
    one.bucket("e", 0, 10, Clock()).take(10)


def test_a_tenant_that_is_made_anew_has_its_burst(board: Board) -> None:
    counts = both(board)
    assert taken([one.bucket("acme", 0, 10, Clock()) for one in counts], 1) == 10
    for one in counts:
        one.forget("acme")
    assert taken([one.bucket("acme", 0, 10, Clock()) for one in counts], 1) == 10


def test_a_lock_that_is_never_opened_stops_nothing(board: Board) -> None:
    one, other = both(board)
    bucket = other.bucket("acme", 0, 10, Clock())
    mine = one.bucket("acme", 0, 10, Clock())
    bucket.take(1)
    with one.lock:
        mine.take(2)
        bucket.take(3)
        bucket.take(1)
        # Not more than this process knows to be there.
        with pytest.raises(TooManyRequests):
            bucket.take(6)
        other.add(RUNNING, "acme", 1)
    assert one.total(RUNNING, "acme") == 1
    # What was admitted without the lock is taken with the next call.
    bucket.take(1)
    assert mine.level == bucket.level == 2


@pytest.mark.parametrize("step", ["load", "save"])
def test_a_level_that_fails_leaves_no_lock(
    board: Board, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    one, other = both(board)
    bucket = one.bucket("acme", 0, 10, Clock())

    def fail(bucket: Bucket) -> None:
        raise OverflowError

    monkeypatch.setattr(type(bucket), step, fail)
    with pytest.raises(OverflowError):
        bucket.take(1)
    assert not bucket._lock._lock.locked()
    with other.lock as is_locked:
        assert is_locked


@pytest.mark.parametrize(("burst", "cost"), [(1000, 7), (1 << 20, 100), (1 << 28, 50_000)])
def test_a_burst_is_there_once(board: Board, burst: int, cost: int) -> None:
    clock = Clock()
    buckets = [counts.bucket("acme", 0, burst, clock) for counts in both(board)]
    # What a process holds as a lease, another may be refused.
    assert burst - burst // 256 - cost < taken(buckets, cost) <= burst
    assert taken(buckets, cost) == 0


def test_a_rate_is_there_once(board: Board) -> None:
    clock = Clock()
    buckets = [counts.bucket("acme", 100, 200, clock) for counts in both(board)]
    assert taken(buckets, 10) == 200
    for _ in range(5):
        clock.now += 1
        assert taken(buckets, 10) == 100
    clock.now += 1
    assert [bucket.level for bucket in buckets] == [100, 100]
    buckets[0].take(40)
    buckets[0].give_back(40)
    assert buckets[1].wait(100) == pytest.approx(0.4)
    assert buckets[0].level == 100


def test_a_larger_burst_is_had_once(board: Board) -> None:
    clock = Clock()
    buckets = [counts.bucket("acme", 0, 100, clock) for counts in both(board)]
    assert taken(buckets, 10) == 100
    for bucket in buckets:
        bucket.set(0, 150)
    assert taken(buckets, 10) == 50


def test_a_smaller_burst_holds_at_once(board: Board) -> None:
    clock = Clock()
    buckets = [counts.bucket("acme", 0, 1 << 28, clock) for counts in both(board)]
    for bucket in buckets:
        bucket.take(10)
    buckets[0].set(0, 1000)
    buckets[0].take(500)
    buckets[1].set(0, 1000)
    assert taken(buckets, 10) == 500


def test_processes_that_all_wait_take_turns(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("pywasmtok.tenants.shared_counts.time.monotonic", clock)
    counts = both(board)
    starts: list[int] = []
    running: SharedCounts | None = None
    for _ in range(4000):
        clock.now += 0.001
        if running is not None:
            running.add(RUNNING, "acme", -1)
        running = None
        # The process that has just ended a call asks first.
        for one in sorted(counts, key=lambda one: one is not counts[starts[-1] if starts else 0]):
            if running is None and one.may_start("acme", 1):
                running = one
                one.add(RUNNING, "acme", 1)
                starts.append(counts.index(one))
            elif running is not None:
                assert not one.may_start("acme", 1)
    assert 0.3 < sum(starts) / len(starts) < 0.7
    # A process that asks no more is waited for no longer.
    assert len(starts) > 3000


def _take(board: Board, number: int, begin: Any, given: Any) -> None:
    # A process that is paused has the lock for long; otherwise it is taken from it.
    setattr(shared, "_LOCK_SECONDS", 60.0)  # noqa: B010
    bucket = SharedCounts(board, number).bucket("acme", 0, 3000, Clock())
    begin.wait()
    given[number] = taken([bucket], 1)


def test_processes_that_take_at_once(board: Board) -> None:
    begin, given = CONTEXT.Barrier(3), CONTEXT.RawArray("Q", 3)
    run: Callable[..., None] = _take
    processes = [CONTEXT.Process(target=run, args=(board, n, begin, given)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert 2998 - 3 * 2 <= sum(given) <= 3000
