"""`tools.bench.server`, shortened: it must run, and compare servers that answer alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.bench import server as bench_server

DEMO = Path(__file__).parents[2] / "conformance" / "http" / "tokenizer" / "tokenizer.json"


def test_a_short_run_measures_each_server_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tokenizers", reason="the minimal server calls it")
    result, table = tmp_path / "result.json", tmp_path / "result.md"
    arguments = f"--tokenizer {DEMO} --servers ours,hf --rounds 1 --seconds 0.2 --corpus zhja"
    arguments += f" --sizes 200 --connections 2 --large 100000 --json {result} --markdown {table}"
    assert bench_server.main(arguments.split()) == 0
    record = json.loads(result.read_text(encoding="utf-8"))
    for case in (*record["cases"], *record["beside"]):
        # On a machine that is busy with other things one may have answered nothing in the time.
        assert {which: found["failed"] for which, found in case["servers"].items()} == {
            "ours": 0,
            "hf": 0,
        }
    assert "Answers that were no answers: 0." in table.read_text(encoding="utf-8")
    assert "200 B x 2" in capsys.readouterr().err
