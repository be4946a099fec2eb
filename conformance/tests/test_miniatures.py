"""Each fault has its right outcome, on the case where it happens and on no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tokconf.run import Settings, run
from tokconf.suite import Suite

MakeSuite = Callable[..., Suite]


def played(suite: Suite, fault: str = "echo", settings: Settings | None = None) -> dict[str, Any]:
    (adapter,) = suite.adapters().values()
    adapter.env["MINIATURE"] = fault
    records: list[dict[str, Any]] = []
    ok = run(suite, [adapter], suite.cases, settings or Settings(jobs=1), records.append)
    assert records[-1]["ok"] == ok
    found = {record["id"].split("/")[-1]: record for record in records if "id" in record}
    return {"ok": ok, "results": found, "records": records}


def outcomes(done: dict[str, Any]) -> dict[str, str]:
    return {name: record["outcome"] for name, record in done["results"].items()}


PASSED = dict.fromkeys(("plain", "crash", "hang", "chat", "last"), "pass") | {"counted": "skip"}


def test_the_one_without_a_fault(make_suite: MakeSuite) -> None:
    done = played(make_suite())
    assert done["ok"]
    assert outcomes(done) == PASSED


def test_always_wrong(make_suite: MakeSuite) -> None:
    done = played(make_suite(), "always-wrong")
    assert not done["ok"]
    assert outcomes(done) == {name: "fail" for name in PASSED} | {"counted": "skip"}
    plain = done["results"]["plain"]
    assert plain["got"]["ids"] == [*plain["expected"]["ids"], 1]


@pytest.mark.parametrize(
    ("fault", "case", "reason"),
    [
        ("crasher", "crash", "crash: ended with -11"),
        ("hanger", "hang", "timeout"),
        ("chatty", "chat", "protocol_violation"),
        ("liar", "counted", "bad_request"),
    ],
)
def test_a_fault_is_charged_to_its_case(
    make_suite: MakeSuite, fault: str, case: str, reason: str
) -> None:
    done = played(make_suite(), fault)
    assert not done["ok"]
    assert outcomes(done) == PASSED | {case: "fail"}
    assert reason in done["results"][case]["reason"]


def test_a_silent_fallback_passes_nothing(make_suite: MakeSuite) -> None:
    done = played(make_suite(), "fallback")
    assert not done["ok"]
    assert set(outcomes(done).values()) == {"fail", "skip"}
    assert "fallback" in done["results"]["plain"]["reason"]


def test_what_does_not_start_is_red_and_named(make_suite: MakeSuite) -> None:
    done = played(make_suite(), "stillborn")
    assert not done["ok"]
    assert "pass" not in outcomes(done).values()
    (about,) = [one for one in done["records"] if one["kind"] == "implementation"]
    assert "the library is not what it was" in about["reason"]


def test_a_missing_tool_is_unavailable(make_suite: MakeSuite) -> None:
    suite = make_suite(adapter='available = ["false"]\n')
    done = played(suite)
    assert done["ok"]
    assert done["records"][-1]["unavailable"] == ["mini"]
    assert not played(suite, settings=Settings(required=("mini",)))["ok"]


def test_a_skip_is_red_where_all_was_asked_for(make_suite: MakeSuite) -> None:
    assert not played(make_suite(), settings=Settings(skips_are_red=("mini",)))["ok"]


KNOWN = """[[case]]
match = "encode/bytes/{name}"
outcome = "{outcome}"
reason = "known for the test"
"""


@pytest.mark.parametrize(
    ("fault", "entry", "outcome", "ok"),
    [
        ("crasher", ("crash", "fail"), "xfail", True),
        ("echo", ("crash", "fail"), "xpass", False),
        ("crasher", ("crash", "skip"), "skip", True),
        ("crasher", ("crash", "flaky"), "xfail", True),
        ("echo", ("crash", "flaky"), "pass", True),
    ],
)
def test_expectations(
    make_suite: MakeSuite, fault: str, entry: tuple[str, str], outcome: str, ok: bool
) -> None:
    name, kind = entry
    suite = make_suite(expectations=KNOWN.format(name=name, outcome=kind))
    done = played(suite, fault)
    assert (outcomes(done)["crash"], done["ok"]) == (outcome, ok)


def test_a_stale_expectation_is_red(make_suite: MakeSuite) -> None:
    suite = make_suite(expectations=KNOWN.format(name="nowhere", outcome="fail"))
    (adapter,) = suite.adapters().values()
    records: list[dict[str, Any]] = []
    ok = run(suite, [adapter], suite.cases, Settings(), records.append, everything=True)
    assert not ok
    assert records[-1]["stale"] == [{"adapter": "mini", "match": "encode/bytes/nowhere"}]


def test_a_failure_at_level_may_is_shown_and_not_red(make_suite: MakeSuite) -> None:
    from conftest import case

    suite = make_suite([case("open", "crash", level="may")])
    done = played(suite, "crasher")
    assert done["ok"]
    assert outcomes(done) == {"open": "fail"}
