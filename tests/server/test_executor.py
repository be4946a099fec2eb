"""Calls in threads: bounds, turns, cancelling, and which may run on the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import pywasmtok
from pywasmtok import DeadlineExceeded, InvalidArgument
from pywasmtok._host.calls import deadline
from pywasmtok.server.scheduling import inline_permission as inline
from pywasmtok.server.scheduling.cost_model import CostModel, CostModels
from pywasmtok.server.scheduling.executor import ThreadWork, watch
from pywasmtok.tenants.errors import FOREVER, Cancelled, Overloaded, TooManyRequests
from pywasmtok.tenants.limits import TenantLimits

SECONDS = 60


@dataclass
class FakeTenant:
    name: str = "acme"
    limits: TenantLimits = field(default_factory=TenantLimits)
    inside: int = 0
    costs: list[int] = field(default_factory=list)
    refused: int = 0

    def note(self, *, refused: int = 0) -> None:
        self.refused += refused

    @contextmanager
    def admitted(self, cost: int) -> Iterator[None]:
        self.costs.append(cost)
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


def tenant(name: str = "acme", **limits: Any) -> Any:
    return FakeTenant(name, replace(TenantLimits(), **limits))


@contextmanager
def working(threads: int = 2, queued: int = 1024) -> Iterator[ThreadWork]:
    work = ThreadWork(threads, queued)
    try:
        yield work
    finally:
        work.close()


class Gate:
    """A call that says when it has begun, and ends when it is told to."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.open.wait(SECONDS)
        return "done"


async def begun(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.begun.wait, SECONDS)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():
            await asyncio.sleep(0.001)


def test_a_call_runs_in_a_thread_and_its_answer_comes_back() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant()
        assert await work.run(acme, 7, threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await work.run(acme, 8, lambda: 1 // 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await work.run(acme, 9, lambda: next(iter(())))
        assert acme.costs == [7, 8, 9]
        assert acme.inside == 0
        # A thread counts after it has handed over the answer.
        end = time.monotonic() + SECONDS
        while work.numbers().threaded < 3 and time.monotonic() < end:
            await asyncio.sleep(0.001)
        assert work.numbers().threaded == 3

    with working() as work:
        asyncio.run(main(work))
        # Another event loop, as after a reload.
        asyncio.run(main(ThreadWork(1)))


def test_the_loop_goes_on_while_calls_run() -> None:
    async def main(work: ThreadWork) -> None:
        gate = Gate()
        waiting = asyncio.ensure_future(work.run(tenant(), 1, gate))
        await begun(gate)
        numbers = work.numbers()
        assert (numbers.running, numbers.queued) == (1, 0)
        gate.open.set()
        assert await waiting == "done"

    with working() as work:
        asyncio.run(main(work))


def test_a_tenant_has_so_many_calls_at_once_and_in_the_queue() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant(concurrent=1, queued=2)
        gates = [Gate() for _ in range(3)]
        calls = [asyncio.ensure_future(work.run(acme, 1, gate)) for gate in gates]
        await begun(gates[0])
        await until(lambda: work.numbers_of("acme") == (2, 1))
        with pytest.raises(TooManyRequests) as refused:
            await work.run(acme, 1, Gate())
        assert (refused.value.limit, refused.value.asked) == (2, 3)
        assert 0 < refused.value.retry_after <= 30
        # Refused before anything was counted or done; others have room.
        assert len(acme.costs) == acme.inside == 3
        assert acme.refused == 1
        assert await work.run(tenant("other"), 1, lambda: "other") == "other"
        for gate in gates:
            gate.open.set()
        assert await asyncio.gather(*calls) == ["done"] * 3
        assert acme.inside == 0

    with working(threads=4) as work:
        asyncio.run(main(work))


def test_a_tenant_that_may_run_nothing_is_refused() -> None:
    with working() as work, pytest.raises(TooManyRequests, match="`concurrent` is 0") as refused:
        asyncio.run(work.run(tenant(concurrent=0), 1, lambda: None))
    assert refused.value.retry_after == FOREVER


def test_the_process_has_so_many_calls_in_its_queue() -> None:
    async def main(work: ThreadWork) -> None:
        gate = Gate()
        calls = [asyncio.ensure_future(work.run(tenant(), 1, gate))]
        await begun(gate)
        calls += [asyncio.ensure_future(work.run(tenant(f"t{n}"), 1, gate)) for n in range(3)]
        await until(lambda: work.numbers().queued == 3)
        with pytest.raises(Overloaded) as refused:
            await work.run(late := tenant("late"), 1, gate)
        assert late.refused == 1
        assert refused.value.retry_after > 0
        gate.open.set()
        assert await asyncio.gather(*calls) == ["done"] * 4

    with working(threads=1, queued=3) as work:
        asyncio.run(main(work))


def test_a_call_that_waits_is_taken_out_when_its_task_is_cancelled() -> None:
    async def main(work: ThreadWork) -> None:
        gate, other = Gate(), tenant("other")
        running = asyncio.ensure_future(work.run(tenant(), 1, gate))
        await begun(gate)
        called: list[int] = []
        waiting = asyncio.ensure_future(work.run(other, 1, lambda: called.append(1)))
        await until(lambda: work.numbers().queued == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert work.numbers().queued == 0
        assert other.inside == 0
        gate.open.set()
        await running
        assert await work.run(other, 1, lambda: "next") == "next"
        assert called == []

    with working(threads=1) as work:
        asyncio.run(main(work))


def slow_call() -> Callable[[], object]:
    """Some seconds of the core, unless somebody stops it."""
    tok = pywasmtok.create_tokenizer(
        "builtin:demo", encoder="core", decoder="core", threads=1
    ).limited(deadline=SECONDS)
    text = "The quick brown fox " * 400_000

    def call() -> object:
        for _ in range(1000):
            tok.encode(text)
        return "to the end"

    return call


def test_a_call_that_runs_is_stopped_in_the_sandbox() -> None:
    async def main(work: ThreadWork) -> None:
        began = threading.Event()
        ended = threading.Event()
        slow = slow_call()

        def call() -> object:
            began.set()
            try:
                return slow()
            finally:
                ended.set()

        waiting = asyncio.ensure_future(work.run(tenant(), 1, call))
        assert await asyncio.to_thread(began.wait, SECONDS)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        # Long before it would have ended by itself.
        assert await asyncio.to_thread(ended.wait, SECONDS)
        await until(lambda: work.numbers().running == 0)
        assert await work.run(tenant(), 1, lambda: "free again") == "free again"

    with working(threads=1) as work:
        asyncio.run(main(work))


def test_a_client_that_leaves_takes_its_call_along() -> None:
    async def main(work: ThreadWork) -> None:
        gate = Gate()
        left = asyncio.Event()

        async def receive() -> dict[str, str]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def handler(call: Callable[[], Any]) -> Any:
            watch(receive)
            return await work.run(tenant(), 1, call)

        running = asyncio.ensure_future(work.run(tenant(), 1, gate))
        await begun(gate)
        called: list[int] = []
        waiting = asyncio.ensure_future(handler(lambda: called.append(1)))
        await until(lambda: work.numbers().queued == 1)
        left.set()
        with pytest.raises(Cancelled):
            await waiting
        assert work.numbers().queued == 0
        gate.open.set()
        assert await running == "done"
        assert called == []

    with working(threads=1) as work:
        asyncio.run(main(work))


def test_what_a_failed_call_held_goes_in_its_thread() -> None:
    ended: list[str] = []

    class Held:
        def __del__(self) -> None:
            ended.append(threading.current_thread().name)

    def fails() -> None:
        held = Held()
        try:
            raise ValueError(id(held))
        except ValueError as first:
            # A ring, and another error in the middle of which this one came.
            kept = first
            raise KeyError(id(kept)) from None

    async def run() -> None:
        with working() as work, pytest.raises(KeyError) as found:
            await work.run(tenant(), 1, fails)
        assert found.value.__traceback__ is not None
        assert [name[:14] for name in ended] == ["pywasmtok-work"]

    asyncio.run(run())


def test_the_watcher_does_not_outlive_the_call() -> None:
    async def main(work: ThreadWork) -> None:
        asked = 0

        async def receive() -> dict[str, str]:
            nonlocal asked
            asked += 1
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        watch(receive)
        assert await work.run(tenant(), 1, lambda: 3) == 3
        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert asked <= 1

    with working() as work:
        asyncio.run(main(work))


def test_after_closing_nothing_is_begun() -> None:
    work = ThreadWork(1)
    work.close()
    with pytest.raises(Overloaded):
        asyncio.run(work.run(tenant(), 1, lambda: None))


@pytest.mark.parametrize("bad", [{"threads": -1}, {"queued": -1}])
def test_counts_are_counts(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        ThreadWork(**bad)


# On the event loop.


async def prove(work: ThreadWork, who: Any) -> None:
    """The first calls run in threads, and are quick."""
    async with asyncio.timeout(SECONDS):
        while await work.run(who, 100, threading.get_ident, inline=True) != threading.get_ident():
            pass


def test_what_has_proven_short_runs_on_the_loop() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant()
        first = await work.run(acme, 100, threading.get_ident, inline=True)
        assert first != threading.get_ident()
        await prove(work, acme)
        inlined = work.numbers().inline
        # Only where the caller says so, for this tenant, with this tokenizer, and for few bytes.
        cases: tuple[tuple[Any, int, dict[str, Any]], ...] = (
            (acme, 100, {"inline": False}),
            (tenant("other"), 100, {"inline": True}),
            (acme, 100, {"inline": True, "about": "another"}),
            (acme, inline.MOST_BYTES + 1, {"inline": True}),
        )
        for who, cost, how in cases:
            ident = await work.run(who, cost, threading.get_ident, **how)
            assert ident != threading.get_ident()
        assert work.numbers().inline == inlined

    with working() as work:
        asyncio.run(main(work))


def test_a_tenant_has_no_more_at_once_by_the_loop() -> None:
    async def main(work: ThreadWork) -> None:
        acme, gate = tenant(concurrent=1), Gate()
        await prove(work, acme)
        running = asyncio.ensure_future(work.run(acme, 1, gate))
        await begun(gate)
        late = asyncio.ensure_future(work.run(acme, 100, threading.get_ident, inline=True))
        await until(lambda: work.numbers_of("acme") == (1, 1))
        gate.open.set()
        assert await running == "done"
        assert await late != threading.get_ident()

    with working() as work:
        asyncio.run(main(work))


def test_no_short_call_of_another_tenant_is_overtaken() -> None:
    async def main(work: ThreadWork) -> None:
        acme, other, gate = tenant(), tenant("other"), Gate()
        await prove(work, acme)
        await prove(work, other)
        running = asyncio.ensure_future(work.run(acme, 1, gate))
        await begun(gate)
        # One that is known to be short, and that may not run on the loop.
        too_many = inline.MOST_BYTES + 1
        waiting = asyncio.ensure_future(work.run(other, too_many, lambda: None, inline=True))
        await until(lambda: work.numbers_of("other") == (1, 0))
        late = asyncio.ensure_future(work.run(acme, 100, threading.get_ident, inline=True))
        await until(lambda: work.numbers().queued == 2)
        gate.open.set()
        assert await running == "done"
        await waiting
        assert await late != threading.get_ident()

    with working(threads=1) as work:
        asyncio.run(main(work))


def test_a_slow_call_on_the_loop_is_stopped_and_done_in_a_thread() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant()
        await prove(work, acme)
        where: list[int] = []

        def slow() -> str:
            where.append(threading.get_ident())
            end = deadline.current()
            if end is not None:
                # Of a processor: on a busy machine a wait says nothing about the call.
                until_then = time.thread_time() + 2 * inline.SLOW_SECONDS
                while time.thread_time() < until_then or end.left() > 0:
                    pass
                end.check()
            return "done"

        assert await work.run(acme, 100, slow, inline=True) == "done"
        assert where[0] == threading.get_ident()
        assert where[1] != threading.get_ident()
        # What is expected of the next ones sinks slowly, and then they are done here again.
        ident = await work.run(acme, 100, threading.get_ident, inline=True)
        assert ident != threading.get_ident()
        await prove(work, acme)

    with working() as work:
        asyncio.run(main(work))


def test_a_tenant_with_several_slow_calls_has_no_more_of_them_on_the_loop() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant()

        def slow() -> str:
            until_then = time.thread_time() + 2 * inline.SLOW_SECONDS
            while time.thread_time() < until_then:
                pass
            return "done"

        for _ in range(inline.SLOW_CALLS):
            await prove(work, acme)
            await work.run(acme, 100, slow, inline=True)
        for _ in range(60):
            ident = await work.run(acme, 100, threading.get_ident, inline=True)
            assert ident != threading.get_ident()

    with working() as work:
        asyncio.run(main(work))


def test_a_deadline_of_the_tenant_is_not_taken_for_that_of_the_loop() -> None:
    async def main(work: ThreadWork) -> None:
        acme = tenant()
        await prove(work, acme)
        calls: list[int] = []

        def refused() -> None:
            calls.append(1)
            raise DeadlineExceeded.of("not done", 0.5, 0.6)

        with pytest.raises(DeadlineExceeded):
            await work.run(acme, 100, refused, inline=True)
        assert calls == [1]

    with working() as work:
        asyncio.run(main(work))


def test_a_pace_rises_at_once_and_sinks_slowly() -> None:
    cost_model = CostModel()
    assert cost_model.expected(100) is None
    for _ in range(3):
        cost_model.saw(488, 0.001)
    assert not cost_model.is_quick(488, 1.0)
    cost_model.saw(488, 0.001)
    assert cost_model.is_quick(488, 0.0011)
    assert not cost_model.is_quick(488, 0.0009)
    assert cost_model.expected(488) == pytest.approx(0.001)
    cost_model.saw(488, 0.1)
    assert cost_model.expected(488) == pytest.approx(0.1)
    cost_model.saw(488, 0.001)
    assert 0.07 < (cost_model.expected(488) or 0) < 0.1


def test_paces_are_of_a_tenant_and_a_tokenizer_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pywasmtok.server.scheduling.cost_model._MOST", 3)
    paces = CostModels()
    first = paces.of("a", "x", True)
    assert paces.of("a", "x", True) is first
    assert paces.of("a", "x", False) is not first
    assert paces.of("b", "x", True) is not first
    assert paces.of("a", "x", True) is first
    for name in "cde":
        paces.of(name, "x", True)
    assert len(paces._known) == 3
    assert paces.of("a", "x", True) is not first


def test_slow_calls_take_the_permission_away_each_time_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("pywasmtok.server.scheduling.inline_permission.time.monotonic", lambda: now)
    cost_model = CostModel()
    for _ in range(4):
        cost_model.saw(100, 1e-6)
    permission = inline.Permission()
    assert permission.given("a", 100, cost_model)
    for pause in (60.0, 120.0, 240.0):
        for _ in range(inline.SLOW_CALLS):
            assert permission.given("a", 100, cost_model)
            permission.saw("a", 1.0)
        assert permission.given("b", 100, cost_model)
        now += pause - 1
        assert not permission.given("a", 100, cost_model)
        now += 2
        assert permission.given("a", 100, cost_model)


def test_few_slow_calls_in_a_minute_take_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may have been elsewhere, or garbage was collected."""
    now = 0.0
    monkeypatch.setattr("pywasmtok.server.scheduling.inline_permission.time.monotonic", lambda: now)
    cost_model = CostModel()
    for _ in range(4):
        cost_model.saw(100, 1e-6)
    permission = inline.Permission()
    for _ in range(20):
        for _ in range(inline.SLOW_CALLS - 1):
            permission.saw("a", 1.0)
            assert permission.given("a", 100, cost_model)
        now += 61
