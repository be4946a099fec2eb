from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from pywasmtok.server.workers import garbage as collector
from pywasmtok.server.workers.garbage import Collector


class Ring:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def off() -> Iterator[None]:
    """As while it works: nothing else collects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Place:
    """A clock, and requests."""

    def __init__(self) -> None:
        self.now = 0.0
        self.requests = 0
        self.collector = Collector(lambda: self.requests, clock=lambda: self.now)

    def step(self, seconds: float = 0.1, requests: int = 1) -> int | None:
        self.now += seconds
        self.requests += requests
        return self.collector.step()


def young(number: int) -> list[list[int]]:
    """More of them, and alive."""
    return [[one] for one in range(number)]


def test_few_objects_are_left_alone() -> None:
    assert Place().step() is None


def test_rings_of_requests_are_found() -> None:
    place = Place()
    ring = Ring()
    gone = weakref.ref(ring)
    del ring
    kept = young(6000)
    assert place.step() == 0
    assert gone() is None
    assert len(kept) == 6000


def test_a_large_request_is_not_looked_through_until_it_stays() -> None:
    place = Place()
    kept = young(50_000)
    steps = [place.step() for _ in range(10)]
    assert steps == [None] * 9 + [0]
    assert len(kept) == 50_000


def test_who_makes_many_objects_for_ever_does_not_keep_rings_alive() -> None:
    """A stream of large requests that leave more behind than they may: it does not grow."""
    place = Place()
    left = []
    for _ in range(60):
        left.append(weakref.ref(Ring()))
        for _ in range(12_000):
            Ring()
        place.step()
        kept = young(100)
    assert len(kept) == 100
    assert sum(one() is not None for one in left) <= 10


def test_the_old_ones_have_their_turn_however_busy_it_is() -> None:
    place = Place()
    ring = Ring()
    gone = weakref.ref(ring)
    gc.collect()
    del ring
    steps = []
    for _ in range(700):
        for _ in range(2600):
            Ring()
        steps.append(place.step())
    assert steps.count(2) == 1
    assert gone() is None
    assert steps.count(1) >= 10


def test_all_is_looked_at_once_nobody_asks() -> None:
    place = Place()
    kept = young(6000)
    steps = [place.step() for _ in range(60)]
    assert 2 not in steps
    assert place.step(requests=0) == 2
    # And not again, for nothing.
    assert [place.step(requests=0) for _ in range(100)] == [None] * 100
    assert len(kept) == 6000


def test_the_clock_goes_and_stops_with_the_loop() -> None:
    gc.enable()

    async def run() -> bool:
        made = Collector(lambda: 0)
        made.start()
        try:
            assert not gc.isenabled()
            ring = Ring()
            gone = weakref.ref(ring)
            del ring
            kept = young(6000)
            end = asyncio.get_running_loop().time() + 20
            while gone() is not None and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(collector.STEP_SECONDS)
            return gone() is None and len(kept) == 6000
        finally:
            made.stop()

    assert asyncio.run(run())
    assert gc.isenabled()
