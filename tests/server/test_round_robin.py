"""Turns between tenants: equal bytes to equal askers, nobody left out, nothing idle while it could
work; and the same answers as a version that is slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pywasmtok.server.scheduling.queues import Turn, Turns
from pywasmtok.server.scheduling.round_robin import FairQueue

QUANTUM = 100


class Oracle:
    """Deficit round robin as it is told: round after round, one key after the other."""

    def __init__(self, quantum: int, most_debt: int) -> None:
        self.quantum, self.most_debt = quantum, most_debt
        self.ring: list[str] = []
        self.waiting: dict[str, list[tuple[int, Any]]] = {}
        self.credit: dict[str, int] = {}
        self.debts: dict[str, int] = {}
        self.begun: str | None = None

    def push(self, key: str, cost: int, item: Any) -> None:
        if key not in self.waiting:
            self.ring.append(key)
            self.waiting[key] = []
            self.credit[key] = -self.debts.pop(key, 0)
        self.waiting[key].append((cost, item))

    def pop(self, ready: Callable[[str], bool]) -> Any:
        if not any(ready(key) for key in self.ring):
            self.ring_turned_once()
            return None
        while True:
            key = self.ring[0]
            if ready(key):
                cost, item = self.waiting[key][0]
                if self.begun != key and self.credit[key] < cost:
                    self.credit[key] += self.quantum
                self.begun = key
                if self.credit[key] >= cost:
                    self.credit[key] -= cost
                    self.take(key, 0)
                    return item
            self.begun = None
            self.ring.append(self.ring.pop(0))

    def ring_turned_once(self) -> None:
        # Everybody's turn is over, and the order is as before.
        self.begun = None

    def remove(self, key: str, item: Any) -> None:
        self.take(key, [one for _, one in self.waiting[key]].index(item))

    def take(self, key: str, place: int) -> None:
        del self.waiting[key][place]
        if not self.waiting[key]:
            del self.waiting[key]
            self.ring.remove(key)
            if self.begun == key:
                self.begun = None
            if self.credit[key] < 0:
                self.debts[key] = -self.credit[key]
            del self.credit[key]
        if not self.waiting:
            self.debts = {}

    def charge(self, key: str, cost: int) -> None:
        if key in self.credit:
            self.credit[key] = max(-self.most_debt, self.credit[key] - cost)
        elif self.waiting:
            self.debts[key] = min(self.most_debt, self.debts.get(key, 0) + cost)


KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), KEYS, st.integers(0, 1000)),
        st.tuples(st.just("pop"), st.frozensets(KEYS), st.none()),
        st.tuples(st.just("remove"), KEYS, st.integers(0, 5)),
        st.tuples(st.just("charge"), KEYS, st.integers(1, 900)),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(STEPS)
def test_it_answers_as_the_obvious_version_does(steps: list[tuple[str, Any, Any]]) -> None:
    queue: FairQueue[int] = FairQueue(QUANTUM, 700)
    oracle = Oracle(QUANTUM, 700)
    entries: dict[str, list[Any]] = {}
    for number, (what, key, value) in enumerate(steps):
        if what == "push":
            entries.setdefault(key, []).append(queue.push(key, value, number))
            oracle.push(key, value, number)
        elif what == "charge":
            queue.charge(key, value)
            oracle.charge(key, value)
        elif what == "remove":
            waiting = [one for one in entries.get(key, []) if queue_has(queue, one)]
            if waiting:
                one = waiting[value % len(waiting)]
                oracle.remove(key, one.item)
                assert queue.remove(one)
                assert not queue.remove(one)
        else:
            found = queue.pop(lambda name, blocked=key: name not in blocked)  # type: ignore[misc]
            expected = oracle.pop(lambda name, blocked=key: name not in blocked)  # type: ignore[misc]
            assert (None if found is None else found.item) == expected
        assert len(queue) == sum(map(len, oracle.waiting.values()))
        for name in "abcd":
            assert queue.waiting(name) == len(oracle.waiting.get(name, ()))


def queue_has(queue: FairQueue[int], entry: Any) -> bool:
    flow = queue._ring.get(entry.key)
    return flow is not None and entry in flow.entries


@settings(max_examples=20)
@given(st.lists(st.lists(st.integers(1, 2000), min_size=40, max_size=60), min_size=2, max_size=6))
def test_who_always_has_something_waiting_gets_as_many_bytes_as_the_others(
    costs: list[list[int]],
) -> None:
    queue: FairQueue[int] = FairQueue(QUANTUM)
    for key, of_key in enumerate(costs):
        for cost in of_key:
            queue.push(str(key), cost, cost)
    done = [0] * len(costs)
    largest = max(map(max, costs))
    while all(queue.waiting(str(key)) for key in range(len(costs))):
        entry = queue.pop(lambda _: True)
        assert entry is not None
        done[int(entry.key)] += entry.cost
        # The bound that is proved of deficit round robin.
        assert max(done) - min(done) <= QUANTUM + 2 * largest


@settings(max_examples=20)
@given(st.integers(1, 30), st.integers(0, 5000))
def test_a_rare_asker_waits_for_one_turn_of_each_other(others: int, cost: int) -> None:
    queue: FairQueue[int] = FairQueue(QUANTUM)
    for key in range(others):
        for _ in range(300):
            queue.push(f"busy{key}", 50, 0)
    for _ in range(7):
        queue.pop(lambda _: True)
    queue.push("rare", cost, 1)
    before = 0
    while (entry := queue.pop(lambda _: True)) is not None and entry.key != "rare":
        before += entry.cost
        if before > 1_000_000:
            break
    rounds = max(1, math.ceil(cost / QUANTUM))
    assert before <= others * (rounds + 1) * QUANTUM


def test_who_used_more_than_was_said_waits_for_the_others() -> None:
    queue: FairQueue[str] = FairQueue(QUANTUM, most_debt=500)
    for key in "ab":
        for _ in range(10):
            queue.push(key, 100, key)
    first = queue.pop(lambda _: True)
    assert first is not None
    queue.charge(first.key, 10_000)
    other = "b" if first.key == "a" else "a"
    order = [queue.pop(lambda _: True) for _ in range(7)]
    # A debt of five quanta: the other one goes first for as long.
    assert [one.key for one in order if one is not None][:5] == [other] * 5


def test_a_debt_is_kept_while_others_wait_and_forgotten_when_nobody_does() -> None:
    queue: FairQueue[str] = FairQueue(QUANTUM, most_debt=500)
    queue.push("a", 1, "a")
    queue.push("b", 1, "b")
    entry = queue.pop(lambda _: True)
    assert entry is not None
    queue.charge(entry.key, 400)
    assert queue._debts == {entry.key: 400}
    queue.pop(lambda _: True)
    assert queue._debts == {}
    queue.charge("a", 400)
    assert queue._debts == {}


def test_a_quantum_is_at_least_a_byte() -> None:
    with pytest.raises(ValueError, match="quantum"):
        FairQueue(0)


# The rules around it: queues, and what a tenant may run at once.

CALLS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 1 << 20), st.booleans()), max_size=40
)


@settings(max_examples=50)
@given(CALLS, st.integers(1, 5), st.integers(1, 3), st.randoms())
def test_threads_never_idle_beside_a_call_that_may_run(
    calls: list[tuple[str, int, bool]], threads: int, most: int, random: Any
) -> None:
    turns: Turns[int] = Turns(threads)
    running: list[Turn[int]] = []
    left = list(enumerate(calls))
    ended: list[int] = []
    while left or turns.waiting or running:
        if left and random.random() < 0.6:
            number, (tenant, cost, long) = left.pop(0)
            turns.add(Turn(tenant, cost, long, number), most)
        else:
            turn = turns.next()
            if turn is not None:
                running.append(turn)
            elif running:
                done = running.pop(random.randrange(len(running)))
                turns.ended(done, random.random() / 10)
                ended.append(done.item)
        assert len(running) == turns.running <= threads
        assert sum(one.long for one in running) <= max(1, threads // 2)
        for tenant in "abc":
            mine = sum(one.tenant == tenant for one in running)
            assert mine == turns.running_of(tenant) <= most
    # Nothing starves, and nothing is left behind.
    assert sorted(ended) == list(range(len(calls)))
    assert not turns._most
    assert not turns.counts._own


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_a_short_call_finds_a_thread_beside_any_number_of_long_ones(threads: int) -> None:
    turns: Turns[str] = Turns(threads)
    for number in range(100):
        turns.add(Turn(f"t{number}", 2 << 20, True, "long"), 8)
    begun = []
    while (turn := turns.next()) is not None:
        begun.append(turn)
    assert len(begun) == max(1, threads // 2)
    turns.add(Turn("small", 200, False, "short"), 8)
    if threads == 1:
        turns.ended(begun.pop(), 0.0)
    found = turns.next()
    assert found is not None
    assert found.item == "short"


def test_long_calls_are_not_starved_by_short_ones() -> None:
    turns: Turns[str] = Turns(1)
    turns.add(Turn("large", 2 << 20, True, "long"), 8)
    order = []
    for _ in range(3):
        turns.add(Turn("small", 10, False, "short"), 8)
        turns.add(Turn("small", 10, False, "short"), 8)
        turn = turns.next()
        assert turn is not None
        order.append(turn.item)
        turns.ended(turn, 0.0)
    assert "long" in order


def test_a_call_that_waits_can_be_taken_out() -> None:
    turns: Turns[str] = Turns(1)
    one, other = Turn("a", 1, False, "one"), Turn("a", 1, False, "other")
    turns.add(one, 1)
    turns.add(other, 1)
    assert turns.remove(one)
    assert not turns.remove(one)
    assert turns.next() is other
    assert not turns.remove(other)
    assert turns.waiting == 0
