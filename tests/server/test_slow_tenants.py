"""Whose calls have lately been long."""

from __future__ import annotations

from clock import Clock

from pywasmtok.server.workers.slow_tenants import SlowTenants


def marks_and_clock() -> tuple[SlowTenants, Clock]:
    clock = Clock()
    return SlowTenants(clock=clock), clock


def test_one_long_call_marks_for_ten_seconds_and_nobody_else() -> None:
    marks, clock = marks_and_clock()
    assert not marks
    marks.saw("a", 0.05)
    assert marks
    assert marks.has("a")
    assert not marks.has("b")
    clock.now += 9.9
    assert marks.has("a")
    clock.now += 0.2
    assert not marks.has("a")


def test_short_calls_never_do() -> None:
    marks, _ = marks_and_clock()
    for _ in range(1000):
        marks.saw("a", 0.002)
    assert not marks


def test_calls_of_medium_length_do_when_there_are_many_at_once() -> None:
    marks, clock = marks_and_clock()
    for _ in range(20):
        marks.saw("seldom", 0.008)
        clock.now += 2.0
        assert not marks.has("seldom")
    for _ in range(3):
        marks.saw("often", 0.008)
        clock.now += 0.1
    assert marks.has("often")


def test_who_goes_on_is_remembered_for_longer_and_in_the_end_no_longer() -> None:
    marks, clock = marks_and_clock()
    lengths = []
    for _ in range(6):
        marks.saw("a", 0.05)
        began = clock.now
        while marks.has("a"):
            clock.now += 1.0
        lengths.append(clock.now - began)
    assert lengths == [10.0, 40.0, 160.0, 600.0, 600.0, 600.0]


def test_who_has_stopped_is_forgotten() -> None:
    marks, clock = marks_and_clock()
    marks.saw("a", 0.05)
    clock.now += 25.0
    assert not marks.has("a")
    assert not marks
    marks.saw("a", 0.05)
    clock.now += 9.0
    assert marks.has("a")
    clock.now += 2.0
    assert not marks.has("a")


def test_it_does_not_grow_for_ever() -> None:
    marks, _ = marks_and_clock()
    for number in range(10_000):
        marks.saw(str(number), 1.0)
    assert marks.has("9999")
    assert len(marks._marks) <= 4096
