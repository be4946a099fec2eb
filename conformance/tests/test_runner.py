"""The parts of the runner that need no process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import CASES, case
from tokconf import lint
from tokconf.diff import compare
from tokconf.playing import protocol
from tokconf.playing.inputs import BadInputError, unfold
from tokconf.playing.judge import byte_to_char, differences, digest
from tokconf.playing.process import AdapterFailureError
from tokconf.results import Report, line
from tokconf.run import Settings, run
from tokconf.suite import Suite, matches
from tokconf.views import badge, junit, write_all

MakeSuite = Callable[..., Suite]


@pytest.mark.parametrize(
    ("pattern", "case_id", "selected"),
    [
        ("encode/**", "encode/bytes/plain", True),
        ("encode", "encode/bytes/plain", True),
        ("encode/bytes", "encode/bytes/plain", True),
        ("encode/by", "encode/bytes/plain", False),
        ("*/bytes/p*", "encode/bytes/plain", True),
        ("encode/*", "encode/bytes/plain", True),
        ("*/plain", "encode/bytes/plain", False),
        ("**/plain", "encode/bytes/plain", True),
    ],
)
def test_patterns(pattern: str, case_id: str, selected: bool) -> None:
    assert matches(pattern, case_id) is selected


def test_recipes(tmp_path: Path) -> None:
    recipe = {"concat": [{"text": "a"}, {"repeat": {"text": "bc", "n": 2}}]}
    assert unfold(recipe, tmp_path) == {"text": "abcbc"}
    (tmp_path / "t.txt").write_text("naïve")
    wrong = {"file": {"name": "t.txt", "sha256": "0" * 64}}
    with pytest.raises(BadInputError, match="has changed"):
        unfold(wrong, tmp_path)
    assert unfold({"b64": "/w=="}, tmp_path) == {"b64": "/w=="}


def test_what_is_right() -> None:
    answer = {"ok": True, "ids": [1, 2], "text": "a"}
    assert differences({"ids": [1, 2]}, answer) == []
    assert differences({"ids": [1]}, answer) == ["ids differ"]
    assert differences({"ids_digest": digest([1, 2])}, answer) == []
    assert differences({"ids_digest": digest([1, 3])}, answer)
    assert differences({"any_of": [{"ids": [9]}, {"ids": [1, 2]}]}, answer) == []
    refused = {"ok": False, "error": {"code": "unsupported"}}
    assert differences({"error": {"code": ["unsupported"]}}, refused) == []
    assert differences({"error": {"code": ["internal"]}}, refused)
    assert differences({"error": {"code": ["internal"]}}, answer)
    assert differences({"ids": [1]}, refused)


def test_offsets_in_bytes_become_characters() -> None:
    assert byte_to_char("aé🌶b", [[0, 1], [1, 3], [3, 7], [7, 8]]) == [
        *([0, 1], [1, 2], [2, 3], [3, 4]),
    ]
    assert byte_to_char("é", [[0, 1]]) == [[0, -1]]


def test_reports_say_what_happened(make_suite: MakeSuite, tmp_path: Path) -> None:
    suite = make_suite([*CASES, case("script", "</script><!--")])
    (adapter,) = suite.adapters().values()
    adapter.env["MINIATURE"] = "always-wrong"
    stream = tmp_path / "results.ndjson"
    with stream.open("w") as file:
        run(
            suite,
            [adapter],
            suite.cases,
            Settings(),
            lambda record: file.write(line(record)) and None,
        )
    out = tmp_path / "out"
    out.mkdir()
    write_all(Report.read(stream), suite, out)
    page = (out / "report.html").read_text()
    embedded = page.split('id="data">')[1].split("</script>")[0]
    data = json.loads(embedded)
    assert data["adapters"][0]["cells"]["encode"] == {"fail": 6, "skip": 1}
    assert data["results"]["mini"][0]["got"]["ids"]
    junit = ElementTree.parse(out / "junit.xml").getroot()
    assert [suite.get("failures") for suite in junit] == ["6"]
    markdown = (out / "report.md").read_text()
    assert "| mini 1 | 0/6 |" in markdown
    assert "- `encode/bytes/plain`: fail: `ids differ`" in markdown
    assert json.loads((out / "badge-mini.json").read_text())["color"] == "red"


def test_a_diff_names_what_became_worse() -> None:
    def report(outcome: str) -> Report:
        return Report(results=[{"adapter": "a", "id": "encode/x/y", "outcome": outcome}])

    (change,) = compare(report("pass"), report("fail"))
    assert change.worse
    (change,) = compare(report("fail"), report("pass"))
    assert not change.worse
    assert compare(report("pass"), report("pass")) == []
    nothing = Report()
    for old, new, mark in (
        (report("pass"), report("skip"), "worse"),
        (report("pass"), nothing, "worse"),
        (report("pass"), report("xfail"), "worse"),
        (report("xfail"), report("fail"), "worse"),
        (nothing, report("fail"), "worse"),
        (report("fail"), report("xfail"), "better"),
        (report("xfail"), report("pass"), "better"),
        (report("fail"), nothing, ""),
        (nothing, report("pass"), ""),
        (report("fail"), report("aborted"), ""),
    ):
        (change,) = compare(old, new)
        assert str(change).split(" a ")[0].strip() == mark
    old, new = report("pass"), report("fail")
    new.results[0]["level"] = "may"
    (change,) = compare(old, new)
    assert not change.worse


def test_reports_are_as_red_as_the_run() -> None:
    def report(outcome: str, level: str = "must", **footer: object) -> Report:
        result = {"adapter": "a", "id": "encode/x/y", "outcome": outcome, "level": level}
        return Report(header={"suite": "1"}, results=[result], footer=footer)

    stale = [{"adapter": "a", "match": "encode/x/z"}]
    for one, colour, failures in (
        (report("pass"), "brightgreen", "0"),
        (report("pass", stale=stale), "red", "0"),
        (report("skip"), "red", "0"),
        (report("fail"), "red", "1"),
        (report("xfail"), "yellow", "0"),
        (report("fail", "may"), "yellow", "0"),
    ):
        assert badge.documents(one)["a"]["color"] == colour
        (suite,) = ElementTree.fromstring(junit.document(one))
        assert suite.get("failures") == failures


def test_a_stop_before_the_first_id() -> None:
    protocol.use(Path(__file__).resolve().parent.parent / "schemas")
    match = {"kind": "string", "string": "x", "visible": False, "start": 0, "end": 1}
    for index in (-1, 0):
        answer = {
            "ok": True,
            "kind": "stopped",
            "text": "",
            "match": {**match, "token_index": index},
        }
        protocol.check("stop_flush", answer)
    answer["match"]["token_index"] = -2
    with pytest.raises(AdapterFailureError):
        protocol.check("stop_flush", answer)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"why": "it should be right"}, "instead of what is tested"),
        ({"spec": ["E-77"]}, "no clause E-77"),
        ({"requires": ["ofsets:char"]}, "requires ofsets:char"),
        ({"input": {"text": "a" * 5000}}, "stands inline"),
        ({"id": "decode/bytes/plain"}, "stands in encode/bytes/"),
        ({"tokenizer": "nobody"}, "no tokenizer 'nobody'"),
        ({"level": "perhaps"}, "perhaps"),
    ],
)
def test_lint(make_suite: MakeSuite, change: dict[str, object], problem: str) -> None:
    suite = make_suite([*CASES[1:], {**CASES[0], **change}])
    found = lint.problems(suite)
    assert any(problem in one for one in found) if problem else found == []


def test_lint_of_ids(make_suite: MakeSuite) -> None:
    suite = make_suite([*CASES, CASES[0]])
    assert any("2 cases have this id" in one for one in lint.problems(suite))
    (suite.root / "cases" / "retired.json").write_text('["encode/bytes/last"]')
    assert any("retired" in one for one in lint.problems(Suite(suite.root)))
