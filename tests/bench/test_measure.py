"""Turns: what is timed, who is compared with whom, and what threads do together."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.fakes import Ids
from pywasmtok.bench.libraries.peers import byte_alphabet
from pywasmtok.bench.measure import (
    Contender,
    LibraryFailedError,
    Result,
    copies,
    flat,
    measure,
    timed,
)
from pywasmtok.bench.running.apart import Processes
from pywasmtok.bench.running.together import Crew, in_crews
from pywasmtok.errors import __doc__ as some_text


def test_copies_are_other_strings() -> None:
    original = some_text or "text"
    assert copies([original]) == [original]
    assert copies([original])[0] is not original
    (batch,) = copies([[original, original]])
    assert batch == [original, original]
    assert batch[0] is not original
    ids = [1, 2]
    assert copies([ids])[0] is ids


def test_a_time_is_of_one_call() -> None:
    calls: list[str] = []

    def encode(text: str) -> list[int]:
        calls.append(text)
        return [1]

    waited, microseconds, answers = timed(Contender("x", encode), ["a"] * 10, warm=True)
    assert len(calls) == 50
    assert answers == [[1]] * 10
    assert waited > 0
    assert microseconds >= 0


def test_wrong_answers_are_found() -> None:
    field = [
        Contender("portable", lambda _: Ids([1, 3]), flat),
        Contender("hf", lambda _: [1, 2]),
        Contender("same", lambda _: Ids([1, 2]), flat),
    ]
    results = measure(field, [["a", "b"]], random.Random(1))
    assert {name: result.ids for name, result in results.items()} == {
        "portable": "wrong",
        "hf": "equal",
        "same": "equal",
    }
    assert all(len(result.times) == 1 for result in results.values())


def test_one_wrong_turn_is_enough() -> None:
    field = [Contender("hf", len), Contender("x", lambda text: len(text) % 3)]
    results = measure(field, [["a"], ["abc"], ["ab"]], random.Random(1))
    assert results["x"].ids == "wrong"


def test_who_is_alone_is_not_checked() -> None:
    assert measure([Contender("x", len)], [["a"]], random.Random(1))["x"].ids == "unchecked"
    assert Result().ids == "equal"


def test_threads_work_at_the_same_time_and_live_on() -> None:
    together = threading.Barrier(3, timeout=60)
    seen: list[int] = []

    def call(number: int) -> int:
        together.wait()
        seen.append(threading.get_ident())
        return number + 1

    crew = Crew(3)
    first = crew.run(call, [[1, 2], [3, 4], [5, 6]])
    second = crew.run(call, [[7], [8], [9]])
    crew.dismiss()
    assert first.answers == [[2, 3], [4, 5], [6, 7]]
    assert second.answers == [[8], [9], [10]]
    assert len(set(seen)) == 3
    assert len(first.latencies) == 6
    assert first.seconds > 0


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    crew = Crew(2)
    with pytest.raises(ZeroDivisionError):
        crew.run(lambda number: 1 // number, [[1], [0]])
    crew.dismiss()


def test_crews_compare_answers_as_well() -> None:
    field = [Contender("hf", len), Contender("x", lambda text: len(text) + 1)]
    results, outcomes = in_crews(field, [[["a"], ["b"]]], [["w"], ["w"]], random.Random(1))
    assert (results["hf"].ids, results["x"].ids) == ("equal", "wrong")
    assert len(outcomes["x"]) == 1


def who(number: int) -> tuple[int, int]:
    return number, os.getpid()


def met(folder: str) -> bool:
    """Whether all three were at it at once."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    end = time.monotonic() + 60
    while len(os.listdir(folder)) < 3 and time.monotonic() < end:
        time.sleep(0.001)
    return len(os.listdir(folder)) == 3


@pytest.fixture
def processes(request: pytest.FixtureRequest) -> Iterator[Processes]:
    them = Processes(3, partial(Contender, "x", request.param))
    yield them
    them.dismiss()


@pytest.mark.parametrize("processes", [who], indirect=True)
def test_processes_live_on_and_fewer_may_take_part(processes: Processes) -> None:
    first, second = processes.run([[1, 2], [3], [4]]), processes.run([[5], [6]])
    assert [[number for number, _ in each] for each in first.answers] == [[1, 2], [3], [4]]
    pids = [each[0][1] for each in first.answers]
    assert len({*pids, os.getpid()}) == 4
    assert [each[0][1] for each in second.answers] == pids[:2]
    assert len(first.latencies) == 4
    assert 0 < first.seconds < 60


@pytest.mark.parametrize("processes", [met], indirect=True)
def test_processes_work_at_the_same_time(processes: Processes, tmp_path: Path) -> None:
    assert processes.run([[str(tmp_path)]] * 3).answers == [[True]] * 3


@pytest.mark.parametrize("processes", [len], indirect=True)
def test_processes_take_turns_with_crews_and_are_judged(processes: Processes) -> None:
    liars = Contender("hf", lambda text: len(text) + 1)
    results, outcomes = in_crews(
        [liars, Contender("y", len)],
        [[["a"], ["b"]]],
        [["w"], ["w"]],
        random.Random(1),
        {"processes": processes.run},
    )
    assert {name: result.ids for name, result in results.items()} == {
        "hf": "equal",
        "y": "wrong",
        "processes": "wrong",
    }
    assert len(outcomes["processes"]) == 1


@pytest.mark.parametrize("processes", [len], indirect=True)
def test_an_error_in_a_process_reaches_the_caller(processes: Processes) -> None:
    with pytest.raises(RuntimeError, match="TypeError"):
        processes.run([["a"], [1]])


def test_byte_alphabet_is_the_reference_s() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(byte_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert byte_alphabet()[ord(" ")] == "Ġ"


def test_who_fails_is_named() -> None:
    def panic(_: object) -> None:
        raise BaseException("panicked")

    with pytest.raises(LibraryFailedError, match=r"bad: BaseException: panicked"):
        timed(Contender("bad", panic), ["a"])
    with pytest.raises(LibraryFailedError, match="bad"):
        in_crews([Contender("bad", panic)], [], [["w"]], random.Random(1))
