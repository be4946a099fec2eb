"""The attack, shortened: what it finds must be nothing, and it must find what is there."""

from __future__ import annotations

import asyncio
import json
import random
from types import SimpleNamespace

import pytest

pytest.importorskip("websockets", reason="the extra `server` is not installed")

from pywasmtok.server.workers.handover_socket import is_possible
from tools.verify.attack.attacker import CONTAINED, Attacker
from tools.verify.attack.good import Good, fairness, load, percentile, questions
from tools.verify.attack.hostile import KINDS
from tools.verify.attack.http1 import Answer
from tools.verify.attack.place import Place
from tools.verify.attack.report import part_of
from tools.verify.attack.run import run


@pytest.mark.parametrize("long_workers", [0, 1])
def test_nothing_of_it_is_wrong_or_dead(long_workers: int) -> None:
    if long_workers and not is_possible():
        pytest.skip("connections are handed over on Linux only")
    # The server ends the first two after longer than this lasts, and an upload may take as long.
    slow = {"slow-body", "large-upload", "stale-read"}
    # Uploads wait for each other: on a busy machine the last of them needs a longer run.
    for seconds in (2, 8, 32):
        record = run(seconds, 5, pace=5.0, rate=20.0, long_workers=long_workers, gives_way=False)
        assert record.problems() == []
        ended = {kind for kind, one in record.hostile.items() if sum(one["outcomes"].values())}
        if ended >= KINDS.keys() - slow:
            break
    assert ended >= KINDS.keys() - slow
    assert record.beside.answers > 0
    assert record.contained > len(KINDS)
    assert len(record.resident) in (0, 2 + record.rounds)
    assert json.loads(record.as_json())["contained"] == record.contained
    assert f"{record.contained} contained faults" in record.as_markdown()


def test_what_is_new_is_asked_for_on_other_connections() -> None:
    """A stale answer is a failure of the server."""
    from tools.verify.attack import connections

    attacker = Attacker("stale-read", "127.0.0.1", 1, "key", None, random.Random(1))
    answers = [b'{"ids": [1]}', b'{"ids": [2]}', b'{"error": {"kind": "overloaded"}}']
    statuses = [200, 200, 503]

    class Connection:
        async def ask(self, request: bytes) -> Answer:
            if request.startswith(b"PUT"):
                return Answer(200, {}, b"{}")
            number = len(asked) % 3
            asked.append(request)
            return Answer(statuses[number], {}, answers[number])

        def drop(self) -> None:
            pass

    asked: list[bytes] = []
    attacker.connection = Connection  # type: ignore[method-assign, assignment]
    attacker.chance.randrange = lambda *_: 1  # type: ignore[method-assign]
    asyncio.run(connections.stale_read(attacker))
    assert attacker.details == {"stale": 3, "as uploaded": 3, "busy": 2}
    assert attacker.outcomes == {"failed": 3, "served": 5}


def test_an_open_loop_counts_the_wait_behind_a_late_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second call was due while the first one was running."""
    from tools.verify.attack import good

    now = 100.0
    took = iter((3.0, 0.25, 0.25, 0.25))

    class Connection:
        def __init__(self, *_: object) -> None:
            pass

        async def ask(self, request: bytes) -> Answer:
            nonlocal now
            now += next(took)
            return Answer(503, {}, b"")

        def drop(self) -> None:
            pass

    async def slept(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(good, "Connection", Connection)
    # Of this module alone: servers of other tests may still have threads.
    monkeypatch.setattr(good, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(good, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": slept}))
    place = Place(1, {"a": "key"}, None, None)  # type: ignore[arg-type]
    (seen,) = asyncio.run(load(place, ["a"], questions(1), until=103.5, pace=1.0))
    # Due at 100, 101, 102 and 103; begun at 100, 103, 103.25 and 103.5.
    assert seen.seconds == [3.0, 2.25, 1.5]
    assert part_of([seen], 1.0).failures == 3


def test_answers_are_compared() -> None:
    seen = Good("one")
    assert part_of([seen], 1.0).answers == 0
    asked = questions(8)
    assert {question.path for question in asked} == {"demo/encode", "demo/decode", "demo/count"}
    assert all(question.expected for question in asked)


def test_failures_of_the_server_are_no_contained_faults() -> None:
    attacker = Attacker("json-depth", "127.0.0.1", 1, "key", None, random.Random(1))
    typed = json.dumps({"error": {"kind": "bad_request", "message": "no"}}).encode()
    for status, body in ((400, typed), (200, b"{}"), (500, typed), (502, b"<html>")):
        attacker.note_answer(Answer(status, {}, body))
    assert attacker.outcomes == {"refused": 1, "served": 1, "failed": 2}
    assert sum(attacker.outcomes[one] for one in CONTAINED) == 1


def test_figures() -> None:
    assert fairness([5, 5, 5, 5]) == 1.0
    assert fairness([10, 0]) == 0.5
    assert fairness([0, 0]) == 0.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(100)], 0.99) == 99.0
