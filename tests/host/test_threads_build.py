"""Workers that share one memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pywasmtok import errors
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.calls.workers import STACK_BYTES
from pywasmtok._host.wasm.status import Interrupted
from pywasmtok._host.wasm.wasm_file import MemoryLimits
from pywasmtok._host.wasm.wasmtime_objects import SharedMemory

from .cores import HOLD, LONG, TRAPS, ids_of, load, sample_core
from .processes import SECONDS
from .test_helpers import wait_for
from .test_pool import busy


@pytest.fixture
def tok() -> CoreTokenizer:
    return load(threads=True)


def test_every_call(tok: CoreTokenizer) -> None:
    assert tok.build == "threads"
    for text in ("", "abc", "x" * LONG):
        assert tok.encode_ids(text, False) == ids_of(text)
        assert tok.decode(ids_of(text), False) == text
    assert tok.encode_full("ab", None, False).tokens() == ["a", "a"]
    assert tok.encode_batch_ids(["a", "b"], False)[0] == ids_of("ab")
    assert tok.info() == {"format": "test"}


def test_workers_share_the_memory_and_nothing_else(tok: CoreTokenizer) -> None:
    first, second = tok._pool.acquire(), tok._pool.acquire()
    assert first.base() == second.base()
    assert first.handles().tokenizer == second.handles().tokenizer
    assert first.handles().session != second.handles().session
    stacks = [one.exported_global("__stack_pointer") for one in (first, second)]
    assert abs(stacks[0] - stacks[1]) >= STACK_BYTES
    # The test core writes 42 where its thread-local block starts.
    assert [bytes(one.read(one.seat.tls, one.seat.tls + 1)) for one in (first, second)] == [
        b"*"
    ] * 2


def test_workers_are_inside_the_core_at_the_same_time(tok: CoreTokenizer) -> None:
    with busy(tok) as future:
        assert tok.encode_ids("quick", False) == ids_of("quick")
        assert not future.done()
    assert future.result(60) == ids_of(HOLD)


def test_24_threads() -> None:
    tok = load(threads=True)

    def work(seed: int) -> bool:
        texts = [f"{seed} {n}" for n in range(100)]
        return all(tok.encode_ids(text, False) == ids_of(text) for text in texts)

    with ThreadPoolExecutor(24) as executor:
        assert all(executor.map(work, range(24)))
    assert len(tok._pool.idle) == tok._pool.size <= tok._pool.limit


@pytest.mark.parametrize(("text", "code"), TRAPS.items())
def test_after_a_trap_everything_starts_over(tok: CoreTokenizer, text: str, code: str) -> None:
    bystander = tok._pool.acquire()
    tok.encode_ids("x")
    group = tok._pool._source._group
    with pytest.raises(errors.CoreTrap, match=code):
        tok.encode_ids(text)
    assert group.poisoned
    assert tok._pool.idle == []
    assert tok.encode_ids("next", False) == ids_of("next")
    assert tok._pool._source._group is not group
    # Who was busy during the trap does not come back into use either.
    tok._pool.release(bystander)
    assert bystander not in tok._pool.idle
    assert tok.encode_ids("next", False) == ids_of("next")


def test_a_call_that_ends_with_the_allocator_locked(tok: CoreTokenizer) -> None:
    """A new worker needs memory, and would wait for that lock for ever."""
    pool = tok._pool
    group, holder = pool._source._group, pool.acquire()

    def hold() -> None:
        try:
            holder.interruptible(lambda one: one.encode_ids(b"\1l", 0))
        except Interrupted as error:
            pool.settle(holder, error)

    answers: list[bytes] = []
    held = threading.Thread(target=hold, daemon=True)
    waits = threading.Thread(
        target=lambda: answers.append(tok.encode_ids("next", False)), daemon=True
    )
    held.start()
    wait_for(lambda: bytes(holder.read(28, 29)) == b"\1")
    waits.start()
    # It holds the lock of the pool as soon as it makes an instance.
    wait_for(lambda: "<locked" in repr(pool._lock) or not waits.is_alive())
    holder.cancel()
    for thread in (held, waits):
        thread.join(SECONDS)
    assert answers == [ids_of("next")]
    assert group.poisoned
    assert pool._source._group is not group


def test_the_place_of_a_worker_that_got_lost_is_used_again(tok: CoreTokenizer) -> None:
    seat = tok._pool.acquire().seat
    assert tok._pool._source._group._free == [seat]
    assert tok._pool.acquire().seat is seat


def test_the_maximum_of_the_module_bounds_the_memory(tok: CoreTokenizer) -> None:
    with pytest.raises(errors.LimitExceeded):
        tok.encode_pair_ids("x" * 60_000_000, "y", True)


def test_a_memory_without_a_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="maximum"):
        SharedMemory(sample_core(True).engine, MemoryLimits(1, None, is_shared=True))


def test_the_memory_grows_under_running_workers(tok: CoreTokenizer) -> None:
    before = tok._pool.acquire()
    old = before.size
    after = tok._pool.acquire()
    big = "x" * 1_000_000
    assert after.encode_ids(big.encode(), 0) == ids_of(big)
    assert before.encode_ids(b"small", 0) == ids_of("small")
    assert before.size > old
