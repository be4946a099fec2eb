"""The tools that fuzz for long say how much they did, and of which build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pywasmtok._host.wasm.artifacts import read_template
from tools.verify.chat.attacks import ordeal

from .environment import needs_chats, needs_reference

pytestmark = [needs_reference, needs_chats]


def said(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_renders_are_counted_in_the_log(tmp_path: Path) -> None:
    from tools.verify import fuzz_chat

    log = tmp_path / "runs.jsonl"
    options = ["--kind", "grammar", "--contexts", "20", "--log", str(log)]
    assert fuzz_chat.main([*options, "--renders", "30"]) == 0
    assert fuzz_chat.main([*options, "--renders", "10", "--seed", "2"]) == 0
    first, second = said(log)
    assert first["renders"] >= 30 > second["renders"] >= 10
    assert first["undocumented"] == second["undocumented"] == 0
    assert (first["seed"], second["seed"]) == (0, 2)
    assert first["template.wasm"] == second["template.wasm"] == read_template().sha256


def test_mutants_are_counted_in_the_log(tmp_path: Path) -> None:
    from tools.verify import fuzz_mutants

    log = tmp_path / "runs.jsonl"
    assert fuzz_mutants.main(["--mutants", "20", "--log", str(log)]) == 0
    assert [(line["mutants"], line["wrong"]) for line in said(log)] == [(20, 0)]


def test_a_death_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.verify import fuzz_mutants

    log = tmp_path / "runs.jsonl"
    monkeypatch.setattr(ordeal, "mutants", lambda *_: [{"death": -11}])
    assert fuzz_mutants.main(["--mutants", "20", "--log", str(log)]) == 1
    assert not log.exists()
