"""Checks the suite itself."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from .playing.protocol import features
from .suite import WITHOUT_TOKENIZER, Suite

CLAUSE = re.compile(r"^\| ([A-Z]-\d+) \|", re.MULTILINE)
MODAL = re.compile(r"\b(should|must|shall|ought)\b", re.IGNORECASE)
LONGEST_INLINE = 4000
_TEXTS = ("input", "inputs", "segments", "template")
# Clauses that no case can show: they speak of the protocol as such, which the runner checks.
BY_RUNNER = {"R-1", "R-2", "F-1"}


def problems(suite: Suite) -> list[str]:
    return [
        *_schemas(suite),
        *_ids(suite),
        *_clauses(suite),
        *_features(suite),
        *_cases(suite),
        *_tokenizers(suite),
    ]


def _schemas(suite: Suite) -> list[str]:
    found = []
    for folder, pattern, name in (
        ("cases", "**/*.json", "cases.json"),
        ("adapters", "*/adapter.toml", "adapter.json"),
        ("adapters", "*/expectations.toml", "expectations.json"),
    ):
        for path in sorted((suite.root / folder).glob(pattern)):
            if path.name == "retired.json":
                continue
            try:
                document = _document(path)
            except ValueError as broken:
                found.append(f"{path.relative_to(suite.root)}: {broken}")
                continue
            for problem in suite.violations(name, document):
                found.append(f"{path.relative_to(suite.root)}: {problem}")
    return found


def _document(path: Path) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text())
    return json.loads(path.read_bytes())


def _ids(suite: Suite) -> list[str]:
    counted = Counter(case.id for case in suite.cases)
    found = [f"{name}: {count} cases have this id" for name, count in counted.items() if count > 1]
    retired_path = suite.root / "cases" / "retired.json"
    retired = json.loads(retired_path.read_text()) if retired_path.is_file() else []
    found += [f"{name}: the id was retired" for name in retired if name in counted]
    for case in suite.cases:
        place = f"{case.area}/{case.group}/"
        if not case.id.startswith(place):
            found.append(f"{case.id}: stands in {place}")
        if (case.path.parent.name, case.path.stem) != (case.area, case.group):
            found.append(f"{case.id}: its file is not cases/{case.area}/{case.group}.json")
    return found


def _clauses(suite: Suite) -> list[str]:
    stated = set(CLAUSE.findall((suite.root / "SPEC.md").read_text()))
    used: set[str] = set()
    found = []
    for case in suite.cases:
        clauses = case.data.get("spec", [])
        if not clauses:
            found.append(f"{case.id}: names no clause")
        for clause in clauses:
            used.add(clause)
            if clause not in stated:
                found.append(f"{case.id}: there is no clause {clause}")
    found += [f"SPEC.md: no case tests {clause}" for clause in sorted(stated - used - BY_RUNNER)]
    return found


def _features(suite: Suite) -> list[str]:
    """Features that cases require, that the schema knows and that SPEC.md describes."""
    known = set(features(suite.root / "schemas"))
    found = [
        f"{case.id}: requires {name}, which is no feature of the protocol"
        for case in suite.cases
        for name in case.requires
        if name not in known
    ]
    described = (suite.root / "SPEC.md").read_text()
    return found + [
        f"SPEC.md: does not describe the feature {name}"
        for name in sorted(known)
        if f"`{name}`" not in described
    ]


def _cases(suite: Suite) -> list[str]:
    found = []
    for case in suite.cases:
        data = case.data
        if MODAL.search(data["why"]):
            found.append(f"{case.id}: its why says what has to be instead of what is tested")
        if case.op in ("stream", "stop"):
            if not data.get("steps"):
                found.append(f"{case.id}: has no steps")
        elif case.op != "invariant" and "expect" not in data:
            found.append(f"{case.id}: expects nothing")
        if case.op == "invariant" and "invariant" not in data:
            found.append(f"{case.id}: names no invariant")
        if "origin" not in data:
            found.append(f"{case.id}: has no origin")
        if case.op not in WITHOUT_TOKENIZER and case.tokenizer not in suite.tokenizers:
            found.append(f"{case.id}: there is no tokenizer {case.tokenizer!r}")
        written = json.dumps({k: data[k] for k in _TEXTS if k in data})
        if len(written) > LONGEST_INLINE:
            found.append(f"{case.id}: a text of {len(written)} characters stands inline: a recipe")
    return found


def _tokenizers(suite: Suite) -> list[str]:
    used = {case.tokenizer for case in suite.cases}
    found = []
    for name, file in suite.tokenizers.items():
        if name not in used:
            found.append(f"tokenizers: {name} is used by no case")
        if file.path is not None and not file.path.is_file():
            found.append(f"tokenizers: {name}: {file.path} is missing")
    return found
