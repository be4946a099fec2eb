"""Bytes a second, and calls at once."""

from __future__ import annotations

import os
import threading

import pytest
from clock import Clock

from pywasmtok.tenants import TooManyRequests
from pywasmtok.tenants.bucket import Bucket
from pywasmtok.tenants.slots import Slots


def test_it_fills_with_time() -> None:
    clock = Clock()
    bucket = Bucket(100, 250, clock)
    bucket.take(250)
    assert bucket.wait(50) == 0.5
    clock.now += 0.5
    bucket.take(50)
    assert bucket.level == 0
    clock.now += 3600
    assert bucket.level == 250


def test_a_refusal_says_when_there_is_room() -> None:
    clock = Clock()
    bucket = Bucket(100, 250, clock)
    bucket.take(200)
    with pytest.raises(TooManyRequests, match="100 bytes a second, 250 at once") as caught:
        bucket.take(150)
    assert (caught.value.retry_after, caught.value.limit, caught.value.asked) == (1.0, 100, 150)
    # What was refused costs nothing.
    assert bucket.level == 50
    clock.now += caught.value.retry_after
    bucket.take(150)


def test_what_is_larger_than_the_burst_leaves_a_debt() -> None:
    clock = Clock()
    bucket = Bucket(100, 250, clock)
    bucket.take(1250)
    assert bucket.level == -1000
    assert bucket.wait(1) == pytest.approx(10.01)
    assert bucket.wait(9999) == pytest.approx(12.5)
    clock.now += 12.5
    bucket.take(1000)


def test_what_was_not_done_is_given_back() -> None:
    bucket = Bucket(1, 100, Clock())
    bucket.take(70)
    bucket.give_back(50)
    assert bucket.level == 80
    bucket.give_back(1000)
    assert bucket.level == 100


def test_a_clock_that_goes_back_takes_nothing() -> None:
    clock = Clock()
    bucket = Bucket(100, 250, clock)
    bucket.take(200)
    clock.now -= 50
    assert bucket.level == 50


def test_other_numbers_from_now_on() -> None:
    clock = Clock()
    bucket = Bucket(100, 250, clock)
    bucket.take(200)
    bucket.set(10, 1000)
    # A larger burst may be had at once; a smaller one holds at once.
    assert bucket.level == 800
    bucket.set(10, 100)
    assert bucket.level == 100
    bucket.take(100)
    assert bucket.wait(10) == 1.0


def test_nothing_a_second_is_never() -> None:
    bucket = Bucket(0, 10, Clock())
    bucket.take(10)
    with pytest.raises(TooManyRequests) as caught:
        bucket.take(1)
    assert caught.value.retry_after == 86_400
    assert caught.value.hint is None


def test_threads_share_what_there_is() -> None:
    bucket = Bucket(0, 1000, Clock())
    taken: list[int] = []

    def take() -> None:
        for _ in range(200):
            try:
                bucket.take(1)
            except TooManyRequests:
                return
            taken.append(1)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1000


def test_slots() -> None:
    slots = Slots(2)
    slots.enter()
    slots.enter()
    with pytest.raises(TooManyRequests, match="2 calls") as caught:
        slots.enter()
    assert (caught.value.limit, caught.value.asked) == (2, 3)
    slots.leave()
    slots.enter()
    assert slots.taken == 2
    with pytest.raises(TooManyRequests, match="may run 0 calls") as caught:
        Slots(0).enter()
    assert caught.value.hint is None
    assert caught.value.retry_after == 86_400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_child_of_a_fork_begins_with_none() -> None:
    slots, bucket = Slots(1), Bucket(0, 5, Clock())
    slots.enter()
    child = os.fork()
    if child == 0:
        slots.enter()
        bucket.take(5)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (slots.taken, bucket.level) == (1, 5)
