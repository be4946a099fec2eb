"""The conformance suite is red for each of these faults, and green without one."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "conformance"
sys.path.insert(0, str(SUITE / "runner"))
suite_mutant = pytest.importorskip("suite_mutant")

# A few groups that ask for it; the whole suite is part of the CI.
ASKED = {
    "moved-start": "encode/metaspace-first-stripped/",
    "emptied-word": "encode/wordlevel-stripped/",
    "forged-over-borders": "segments/bpe-cl100k/",
    "other-control-tokens": "segments/bpe-cl100k/",
    "gguf-holds": "stream/",
    "gguf-loses": "stream/gguf-llama3-prompts/",
    "key-twice": "encode/vocab-twice/",
    "stated-id": "encode/added-id-moved/",
}


def played(fault: str, where: str) -> dict[str, str]:
    running, suites = (import_module(f"tokconf.{name}") for name in ("run", "suite"))
    suite = suites.Suite(SUITE)
    program = str(Path(__file__).parents[1] / "suite_mutant.py")
    adapter = suites.Adapter("mutant", SUITE, [sys.executable, program, fault], timeout_factor=10.0)
    adapter.env["PYTHONPATH"] = str(ROOT)
    cases = [case for case in suite.cases if case.id.startswith(where)]
    if where == "stream/":
        cases = [case for case in cases if "gguf" in case.tokenizer]
    assert cases
    records: list[dict[str, Any]] = []
    running.run(suite, [adapter], cases, running.Settings(jobs=1), records.append)
    return {record["id"]: record["outcome"] for record in records if "id" in record}


@pytest.mark.parametrize("fault", suite_mutant.MUTANTS)
def test_a_mutant_is_red(fault: str) -> None:
    outcomes = played(fault, ASKED.get(fault, "chat/scopes/"))
    assert "fail" in outcomes.values()
    # Wrong in one way only: the rest is answered as it should be.
    assert "pass" in outcomes.values()


@pytest.mark.parametrize("where", sorted({*ASKED.values(), "chat/scopes/"}))
def test_without_a_fault_it_is_green(where: str) -> None:
    assert set(played("none", where).values()) <= {"pass", "skip"}
