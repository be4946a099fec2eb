"""Each fault has its right outcome, on the case where it happens and on no other."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokconf.cli import FINE, RED, main
from tokconf.run import Settings, run
from tokconf.suite import Suite, SuiteError

MakeSuite = Callable[..., Suite]


def played(suite: Suite, fault: str = "echo", settings: Settings | None = None) -> dict[str, Any]:
    (adapter,) = suite.adapters().values()
    adapter.env["MINIATURE"] = fault
    records: list[dict[str, Any]] = []
    ok = run(suite, [adapter], suite.cases, settings or Settings(jobs=1), records.append)
    assert records[-1]["ok"] == ok
    found = {record["id"].split("/")[-1]: record for record in records if "id" in record}
    return {"ok": ok, "results": found, "records": records}


def add_adapter(suite: Suite, name: str, more: str) -> None:
    """A second adapter beside the miniature of the suite."""
    said = (suite.root / "adapters" / "mini" / "adapter.toml").read_text()
    if "env" in more:
        said = "\n".join(line for line in said.splitlines() if not line.startswith("env"))
    folder = suite.root / "adapters" / name
    folder.mkdir()
    (folder / "adapter.toml").write_text(said.replace('"mini"', f'"{name}"') + "\n" + more)


def command(suite: Suite, *words: str) -> int:
    return main(["--suite", str(suite.root), *words])


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
    assert done["records"][-1]["unavailable"] == ["mini"]
    # Nothing was tested.
    assert not done["ok"]


def test_an_unavailable_one_is_red_only_where_it_is_asked_for(make_suite: MakeSuite) -> None:
    suite = make_suite()
    add_adapter(suite, "absent", 'available = ["false"]\n')
    assert command(suite, "run") == FINE
    assert command(suite, "run", "-i", "*") == FINE
    assert command(suite, "run", "-i", "absent") == RED
    assert command(suite, "run", "-i", "mini", "-i", "absent") == RED
    assert command(suite, "run", "-i", "mini") == FINE
    assert command(suite, "smoke", "-i", "absent") == RED
    assert command(suite, "setup", "-i", "absent") == RED


def test_skips_alone_are_red(make_suite: MakeSuite) -> None:
    from conftest import CASES

    counted = [case for case in CASES if case["op"] == "count"]
    assert command(make_suite(counted), "run") == RED


def test_python_means_the_interpreter_of_the_runner(
    make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = make_suite()
    path = suite.root / "adapters" / "mini" / "adapter.toml"
    said = path.read_text().replace(json.dumps(sys.executable), '"python3"')
    path.write_text(said + 'available = ["python3", "-c", "import tokconf"]\n')
    monkeypatch.setenv("PATH", "")
    assert command(suite, "run", "-i", "mini") == FINE


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("adapter.toml", 'name = "odd\n'),
        ("adapter.toml", 'name = "odd"\n'),
        ("adapter.toml", 'name = "odd"\ncommand = "main.py"\n'),
        ("adapter.toml", 'name = "odd"\ncommand = ["x"]\ntimeout = 3\n'),
        ("expectations.toml", "[[case]\n"),
        ("expectations.toml", '[[case]]\nmatch = "a"\nwhy = "b"\n'),
    ],
)
def test_a_broken_description_stops_no_other_adapter(
    make_suite: MakeSuite, capsys: pytest.CaptureFixture[str], file: str, text: str
) -> None:
    suite = make_suite()
    add_adapter(suite, "odd", "")
    (suite.root / "adapters" / "odd" / file).write_text(text)
    assert command(suite, "run", "-i", "mini") == FINE
    assert command(suite, "run") == RED
    assert file in capsys.readouterr().out
    assert command(suite, "run", "-i", "odd") == RED
    assert command(suite, "list", "adapters") == FINE
    assert command(suite, "lint") == RED
    assert file in capsys.readouterr().out


def test_a_misspelt_feature_is_named(
    make_suite: MakeSuite, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = make_suite()
    add_adapter(suite, "typist", 'env = { MINIATURE = "misspelt" }\n')
    assert command(suite, "run", "-i", "typist") == RED
    assert "'ofsets:char' is not known to this suite; is 'offsets:char' meant?" in (
        capsys.readouterr().out
    )


def test_what_does_not_start_is_said_once(
    make_suite: MakeSuite, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from conftest import case

    suite = make_suite([case(f"n{number}", "text") for number in range(200)])
    add_adapter(suite, "stillborn", 'env = { MINIATURE = "stillborn" }\n')
    assert command(suite, "run", "-j", "1", "-i", "stillborn", "--out", str(tmp_path)) == RED
    said = capsys.readouterr().out.splitlines()
    assert sum("the library is not what it was" in line for line in said) >= 1
    assert len(said) < 10
    assert "199 cases aborted" in (tmp_path / "report.md").read_text()


def test_outside_of_a_suite_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tokconf.suite.__file__", str(tmp_path / "lib" / "tokconf" / "suite.py"))
    with pytest.raises(SuiteError, match=re.escape(f"no suite in {tmp_path}")) as caught:
        Suite.found()
    assert "--suite" in str(caught.value)


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
