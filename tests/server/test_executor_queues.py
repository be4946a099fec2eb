"""Short calls beside long ones: threads of their own, and how a call is found to be long."""

from __future__ import annotations

import asyncio
import threading
import time

from pywasmtok import DeadlineExceeded
from pywasmtok._host.calls import deadline
from pywasmtok.server.scheduling.cost_model import LONG_SECONDS, CostModel
from server.test_executor import Gate, begun, tenant, until, working


def test_a_short_call_does_not_wait_for_long_ones_whoever_makes_them() -> None:
    async def main() -> None:
        with working(threads=4) as work:
            gates = [Gate() for _ in range(3)]
            running = [asyncio.ensure_future(work.run(tenant("evil"), 1, one)) for one in gates]
            await begun(gates[0])
            await begun(gates[1])
            # Nothing is known of this tenant's calls yet.
            assert await work.run(tenant("good"), 1, lambda: "short", inline=True) == "short"
            assert not gates[2].begun.is_set()
            for one in gates:
                one.open.set()
            assert await asyncio.gather(*running) == ["done"] * 3

    asyncio.run(main())


def test_long_calls_do_not_wait_for_short_ones() -> None:
    async def main() -> None:
        with working(threads=2) as work:
            short, long = Gate(), Gate()
            first = asyncio.ensure_future(work.run(tenant("one"), 1, short, inline=True))
            await begun(short)
            second = asyncio.ensure_future(work.run(tenant("two"), 1, long))
            await begun(long)
            long.open.set()
            assert await second == "done"
            short.open.set()
            assert await first == "done"

    asyncio.run(main())


def test_a_call_that_waits_for_another_of_its_tenant_goes_on_in_the_other_lane() -> None:
    async def main() -> None:
        with working(threads=2) as work:
            acme, gate = tenant(concurrent=1), Gate()
            long = asyncio.ensure_future(work.run(acme, 1, gate))
            await begun(gate)
            short = asyncio.ensure_future(work.run(acme, 1, lambda: "short", inline=True))
            await until(lambda: work.numbers().queued == 1)
            gate.open.set()
            assert await long == "done"
            assert await short == "short"

    asyncio.run(main())


def test_what_is_too_slow_among_the_short_ones_is_done_among_the_long_ones() -> None:
    threads = []

    def spin() -> str:
        threads.append(threading.current_thread().name)
        long_enough = time.thread_time() + 2 * LONG_SECONDS
        while time.thread_time() < long_enough:
            pass
        end = deadline.current()
        if end is not None:
            # As a guest that spins until its deadline.
            raise DeadlineExceeded.of("too late", end.seconds, end.seconds)
        return "done"

    async def main() -> None:
        with working(threads=2) as work:
            for _ in range(3):
                assert await work.run(tenant(), 1, spin, inline=True, about="slow") == "done"
                # How long it took is noted after the answer is handed over.
                await until(lambda: work.numbers().threaded == len(threads))

    asyncio.run(main())
    # The first is tried among the short ones; after that it is known.
    assert [name.rpartition("-")[2] for name in threads] == ["1", "0", "0", "0"]


def test_one_long_call_says_nothing() -> None:
    cost_model = CostModel()
    cost_model.saw(100, 1.0)
    assert not cost_model.is_long
    cost_model.saw(100, 1.0)
    assert cost_model.is_long
    cost_model.saw(100, LONG_SECONDS / 2)
    assert not cost_model.is_long
