"""Each fault has its right outcome, on the case where it happens and on no other."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokconf.cli import FINE, MISUSED, RED, main
from tokconf.fuzz import Difference, Pair, record
from tokconf.playing import protocol
from tokconf.playing.process import AdapterFailureError, AdapterProcess
from tokconf.run import Settings, run
from tokconf.suite import Suite, SuiteError

MakeSuite = Callable[..., Suite]
RUNNER = Path(__file__).resolve().parent.parent / "runner"


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
    # An answer may take five seconds times this.
    done = played(make_suite(timeout_factor=0.5 if fault == "hanger" else 12.0), fault)
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
        ("expectations.toml", '[[case]]\nmatch = "a"\noutcome = "pass"\nreason = "misspelt"\n'),
        ("expectations.toml", '[[case]]\nmatch = [7]\noutcome = "fail"\nreason = "misspelt"\n'),
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


def says(**answers: dict[str, Any]) -> str:
    return f"says {json.dumps(answers)}"


def one(slug: str, op: str, **more: Any) -> dict[str, Any]:
    about = {"since": "1.0", "why": "it is about the runner", "op": op}
    return {"id": f"encode/bytes/{slug}", **about, **more}


BACK = one("back", "decode", ids=[97], expect={"text": "a"})
STREAM = one("stream", "stream", steps=[{"push": [97]}, {"flush": True}], expect={"text": "a"})
LOAD = one("load", "load", expect={"served_by": "core"})
BROKEN = {"ok": False, "error": {"code": "internal", "message": "it is broken"}}


def long_case(**more: Any) -> dict[str, Any]:
    from conftest import case
    from tokconf.playing.judge import digest

    return case("odd", "a" * 300, expect={"ids_digest": digest([97] * 300)}, **more)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"note": "\ud83d"}, "no JSON in UTF-8"),
        ({"note": float("nan")}, "no JSON in UTF-8"),
        ({"note": json.loads("[" * 40 + "]" * 40)}, "more than 32 levels"),
        ({"ids": [97] * 299 + [[1]]}, "not of type 'integer'"),
        ({"ids": [97] * 299 + ["x"]}, "not of type 'integer'"),
        ({"ids": [97] * 298 + [1, 97.5]}, "not of type 'integer'"),
        ({"ids": [97] * 299 + [97.0]}, ""),
        ({"ids": [97], "error": None}, "len of the ids differs"),
        ({"offsets": [[0, 1]] * 299 + [[0]]}, "is too short"),
    ],
)
def test_no_answer_stops_the_run(
    make_suite: MakeSuite, tmp_path: Path, answer: dict[str, Any], reason: str
) -> None:
    suite = make_suite([long_case(want=["offsets"]), BACK])
    hello = {"features": ["offsets:byte"]}
    done = played(suite, says(hello=hello, encode=answer))
    assert outcomes(done) == {"odd": "fail" if reason else "pass", "back": "pass"}
    assert reason in done["results"]["odd"].get("reason", "")


def test_nesting_that_no_parser_takes(make_suite: MakeSuite) -> None:
    assert outcomes(played(make_suite(), "nested")) == PASSED | {"chat": "fail"}


def test_offsets_that_were_not_asked_for(make_suite: MakeSuite) -> None:
    refused = {"error": {"code": ["invalid_text"]}}
    suite = make_suite([one("bytes", "encode", input={"b64": "/w=="}, expect=refused), BACK])
    hello = {"features": ["offsets:byte"]}
    done = played(suite, says(hello=hello, encode={"ids": [1], "offsets": [[0, 1]]}))
    assert outcomes(done) == {"bytes": "fail", "back": "pass"}


def test_offsets_that_are_declared_and_missing(make_suite: MakeSuite) -> None:
    suite = make_suite([one("o", "invariant", invariant="offsets_slice_text", input={"text": "a"})])
    hello = {"features": ["offsets:char"]}
    assert outcomes(played(suite, says(hello=hello))) == {"o": "pass"}
    assert outcomes(played(suite, says(hello=hello, encode={"offsets": "absent"}))) == {"o": "fail"}


def test_a_case_that_breaks_the_runner_stops_no_other(make_suite: MakeSuite) -> None:
    absent = {"file": {"name": "absent.txt", "sha256": "0" * 64}}
    done = played(make_suite([one("odd", "encode", input=absent, expect={"ids": []}), BACK]))
    assert outcomes(done) == {"odd": "aborted", "back": "pass"}
    assert "absent.txt" in done["results"]["odd"]["reason"]


@pytest.mark.parametrize(
    "text",
    [
        'command = ["no-such-program-anywhere"]\n',
        'command = ["nul\\u0000"]\n',
        'command = ["x"]\n[variants.a]\ncommand = []\n',
        'command = ["x"]\n[variants.a]\ntimeout_factor = -1\n',
        'command = ["x"]\navailable = ["nul\\u0000"]\n',
        r"""command = ["x"]
available = ["python3", "-c", "import os, sys; os.write(2, b'\\xff'); sys.exit(1)"]
""",
    ],
)
def test_what_can_not_be_started_stops_no_other_adapter(
    make_suite: MakeSuite, tmp_path: Path, text: str
) -> None:
    suite = make_suite()
    (suite.root / "adapters" / "gone").mkdir()
    (suite.root / "adapters" / "gone" / "adapter.toml").write_text(f'name = "gone"\n{text}')
    command(suite, "run", "--out", str(tmp_path))
    assert command(suite, "run", "-i", "gone*") == RED
    matrix = json.loads((tmp_path / "report.json").read_text())["matrix"]
    assert matrix["mini"]["encode"]["pass"] == 5


@pytest.mark.parametrize("op", ["stream_open", "stream_push", "stream_flush", "stream_close"])
def test_an_error_in_a_step_is_a_failure(make_suite: MakeSuite, op: str) -> None:
    suite = make_suite([STREAM])
    assert outcomes(played(suite)) == {"stream": "pass"}
    done = played(suite, says(**{op: {**BROKEN, "text": "a"}}))
    assert outcomes(done) == {"stream": "fail"}
    assert "it is broken" in done["results"]["stream"]["reason"]
    unsupported = {"ok": False, "error": {"code": "unsupported", "feature": "streams"}}
    assert outcomes(played(suite, says(**{op: unsupported}))) == {"stream": "skip"}


def test_an_error_of_unload_is_charged_once(make_suite: MakeSuite) -> None:
    load = one("load", "load", expect={"served_by": "core"})
    # Other options are another load, for which the tokenizer before goes.
    other = {**BACK, "load_options": {"fallback": "allow"}}
    more = [{**other, "id": f"encode/bytes/{name}"} for name in ("other", "same")]
    done = played(make_suite([load, BACK, *more]), says(unload=BROKEN))
    assert outcomes(done) == {"load": "fail", "back": "pass", "other": "fail", "same": "pass"}
    assert "unload answered the error internal: it is broken" in done["results"]["load"]["reason"]


def test_a_load_may_leave_out_the_size_of_the_vocabulary(make_suite: MakeSuite) -> None:
    suite = make_suite([one("load", "load", expect={"served_by": "core", "vocab_size": 256})])
    assert outcomes(played(suite)) == {"load": "pass"}
    assert outcomes(played(suite, says(load={"vocab_size": "absent"}))) == {"load": "pass"}
    assert outcomes(played(suite, says(load={"vocab_size": 7}))) == {"load": "fail"}


def test_offsets_in_bytes_of_a_pair(make_suite: MakeSuite) -> None:
    texts = {"input": {"text": "é"}, "pair": {"text": "aéb"}, "want": ["offsets"]}
    expect = {"offsets": [[0, 1], [0, 1], [1, 2], [2, 3]]}
    suite = make_suite([one("pair", "encode", **texts, expect=expect)])
    hello = {"features": ["offsets:byte", "pair"]}
    for offsets, outcome in (
        ([[0, 2], [0, 1], [1, 3], [3, 4]], "pass"),
        ([[0, 2], [0, 1], [1, 3], [3, 5]], "fail"),
        ([[0, 2], [0, 1], [1, 2], [3, 4]], "fail"),
        ([[0, 2], [0, 1], [1, 3]], "fail"),
    ):
        answer = says(hello=hello, encode={"ids": [1] * len(offsets), "offsets": offsets})
        assert outcomes(played(suite, answer)) == {"pair": outcome}


def test_a_token_has_to_come_back_and_its_id_need_not(make_suite: MakeSuite) -> None:
    suite = make_suite([one("v", "invariant", invariant="vocabulary_round_trip", ids=[65, 66])])
    for answers, outcome in (
        ({}, "pass"),
        ({"token_to_id": {"id": 7}}, "fail"),
        ({"token_to_id": {"id": None}}, "fail"),
        ({"token_to_id": {"id": 7}, "id_to_token": {"token": "A"}}, "pass"),
    ):
        assert outcomes(played(suite, says(**answers))) == {"v": outcome}


def test_what_a_wrapper_started_ends_with_it(make_suite: MakeSuite) -> None:
    (mini,) = make_suite().adapters().values()
    # `exit` keeps the shell from becoming the command.
    adapter = replace(mini, command=["sh", "-c", f"{shlex.join(mini.command)}; exit $?"])
    adapter.env["MINIATURE"] = "hanger"
    process = AdapterProcess(adapter)
    with pytest.raises(AdapterFailureError, match="timeout"):
        process.ask("encode", 1.0, input={"text": "hang"})
    # Standard output is at its end where nothing holds it any more.
    assert process._lines.get(timeout=60) is None


def test_available_has_the_environment_of_the_adapter(make_suite: MakeSuite) -> None:
    suite = make_suite(adapter='available = ["sh", "-c", "test $MINIATURE = echo"]\n')
    assert command(suite, "run", "-i", "mini") == FINE


@pytest.mark.parametrize("words", ['["false"]', '["no-such-program-anywhere"]'])
def test_a_setup_that_fails_is_red(make_suite: MakeSuite, words: str) -> None:
    assert command(make_suite(adapter=f"setup = [{words}]\n"), "setup") == RED


@pytest.mark.parametrize(
    "options",
    [
        ("--no-skips", "mnii"),
        ("--no-skips", "other"),
        ("--required", "mnii"),
        ("--cases", "encode/bytes/plain", "--cases", "encode/bites"),
        ("--tokenizer", "bytes", "--tokenizer", "bites"),
    ],
)
def test_a_misspelt_name_selects_nothing_in_silence(
    make_suite: MakeSuite, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    suite = make_suite()
    add_adapter(suite, "other", "")
    assert command(suite, "run", "-i", "mini", *options) == MISUSED
    assert f"there is no {'adapter' if len(options) == 2 else options[0][2:-1]}" in (
        capsys.readouterr().err.replace("tokenizer", "tokenize")
    )


def test_no_skips_takes_patterns_and_means_that_it_plays(make_suite: MakeSuite) -> None:
    suite = make_suite()
    path = suite.root / "adapters" / "mini" / "adapter.toml"
    path.write_text(path.read_text() + "[variants.small]\nenv = {}\n")
    assert command(suite, "run") == FINE
    assert command(suite, "run", "--no-skips", "mini") == RED
    add_adapter(suite, "absent", 'available = ["false"]\n')
    played_by_all = ("run", "--cases", "encode/bytes/plain")
    assert command(suite, *played_by_all, "--no-skips", "mini:*") == FINE
    assert command(suite, *played_by_all, "--no-skips", "absent") == RED


def test_a_draft_of_known_differences_names_an_adapter_of_the_run(
    make_suite: MakeSuite, tmp_path: Path
) -> None:
    suite = make_suite()
    command(suite, "run", "--out", str(tmp_path))
    results = str(tmp_path / "results.ndjson")
    assert command(suite, "known", "-i", "mini", results) == FINE
    assert command(suite, "known", "-i", "mnii", results) == MISUSED


def start(suite: Suite, *words: str, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tokconf", "--suite", str(suite.root), *words],
        env={**os.environ, "PYTHONPATH": str(RUNNER), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_reader_that_goes_away_makes_nothing_fine(make_suite: MakeSuite) -> None:
    suite = make_suite()
    add_adapter(suite, "wrong", 'env = { MINIATURE = "always-wrong" }\n')
    process = start(suite, "run")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == RED
    assert process.stderr is not None
    assert process.stderr.read() == b""


def test_texts_that_the_terminal_does_not_have(make_suite: MakeSuite) -> None:
    suite = make_suite()
    path = suite.root / "adapters" / "mini" / "adapter.toml"
    said = says(encode={**BROKEN, "error": {"code": "internal", "message": "é"}})
    path.write_text(path.read_text().replace('"echo"', json.dumps(said)))
    said, problems = start(suite, "run", PYTHONIOENCODING="ascii").communicate(timeout=60)
    assert b"internal: \\xe9" in said
    assert problems == b""


def test_fuzzing_compares_ids_and_finds_every_crash(make_suite: MakeSuite) -> None:
    suite = make_suite()
    for name, code in (("a", "invalid_text"), ("b", "internal")):
        said = says(encode={"ok": False, "error": {"code": code}})
        add_adapter(suite, name, f"env = {{ MINIATURE = {json.dumps(said)} }}\n")
    add_adapter(suite, "crasher", 'env = { MINIATURE = "crasher" }\n')
    for names, text, differs in (
        (("mini", "mini"), "crash", False),
        (("a", "b"), "crash", False),
        (("mini", "a"), "crash", True),
        (("mini", "crasher"), "crash", True),
        (("crasher", "crasher"), "crash", True),
        (("crasher", "crasher"), "plain", False),
    ):
        protocol.use(suite.root / "schemas")
        pair = Pair(suite, names, "bytes", False)
        assert (pair.difference(text) is not None) is differs
        pair.close()
    found = Difference("a", {"ids": [1, 97, 2]}, {"ids": [97]})
    path = record(suite, ("a", "b"), "bytes", found, True)
    (written,) = json.loads(path.read_text())["cases"]
    assert written["options"] == {"add_special": True}


def test_fuzzing_what_does_not_start(make_suite: MakeSuite) -> None:
    suite = make_suite()
    add_adapter(suite, "stillborn", 'env = { MINIATURE = "stillborn" }\n')
    words = ("-i", "mini", "--against", "stillborn", "--tokenizer", "bytes")
    assert command(suite, "fuzz", *words) == MISUSED
