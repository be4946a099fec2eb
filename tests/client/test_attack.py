"""The attack, shortened: what it finds must be nothing, and it must find what is there."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("websockets", reason="the extra `server` is not installed")

from pywasmtok.server.workers.handover_socket import is_possible
from tools.verify.attack.good import Good, fairness, percentile, questions
from tools.verify.attack.hostile import CONTAINED, KINDS, Attacker
from tools.verify.attack.http1 import Answer
from tools.verify.attack.report import part_of
from tools.verify.attack.run import run


@pytest.mark.parametrize("long_workers", [0, 1])
def test_nothing_of_it_is_wrong_or_dead(long_workers: int) -> None:
    if long_workers and not is_possible():
        pytest.skip("connections are handed over on Linux only")
    record = run(seconds=2, tenants=5, pace=5.0, rate=20.0, long_workers=long_workers)
    assert record.problems() == []
    assert record.beside.answers > 0
    assert record.contained > len(KINDS)
    silent = {kind for kind, one in record.hostile.items() if not sum(one["outcomes"].values())}
    # A slow body is refused after longer than this lasts.
    assert silent <= {"slow-body"}
    assert json.loads(record.as_json())["contained"] == record.contained
    assert f"{record.contained} contained faults" in record.as_markdown()


def test_answers_are_compared() -> None:
    seen = Good("one")
    assert part_of([seen], 1.0).answers == 0
    asked = questions(8)
    assert {question.path for question in asked} == {"demo/encode", "demo/decode", "demo/count"}
    assert all(question.expected for question in asked)


def test_failures_of_the_server_are_no_contained_faults() -> None:
    attacker = Attacker("json-depth", "127.0.0.1", 1, "key", random.Random(1))
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
