"""The public tests of `tokenizers` and `tiktoken`, against the libraries and against the drop-ins.

    python -m tools.verify.public_suites WORK --record docs/records/DATE-public-suites

WORK keeps the source distributions, a virtual environment and the outcome of each run: a second
start goes on where the first one ended. Delete `WORK/runs` to run the tests again. None of the
tests is changed; `suites/exchanged.py` exchanges the import. PYWASMTOK_ASSETS names the folder with
real tokenizer files.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from pywasmtok.backends.hf import REFERENCE
from pywasmtok.bench.json_text import json_text

from .suites.reasons import reason_of

ROOT = Path(__file__).resolve().parents[2]
SIDES = ("library", "drop-in")
PACKAGES = (
    *("pytest", "pytest-asyncio", "hypothesis", "numpy", "tqdm", "huggingface_hub"),
    # To unpack a source distribution, pip asks for what would build it.
    *("maturin", "setuptools", "setuptools-rust", "wheel"),
)


class Suite(NamedTuple):
    library: str
    version: str
    folder: str
    """In which the tests run."""
    left_out: tuple[str, ...] = ()


SUITES = (
    Suite(
        "tokenizers",
        REFERENCE,
        "bindings/python",
        # The first measures time, the second trains and needs data sets.
        ("tests/test_benchmarks.py", "tests/documentation/test_tutorial_train_from_iterators.py"),
    ),
    Suite("tiktoken", "0.14.0", "."),
)


def prepare(work: Path) -> Path:
    """The interpreter of the environment, in which everything is installed."""
    python = work / "venv" / "bin" / "python"
    done = work / "venv" / "ready"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        pinned = [f"{suite.library}=={suite.version}" for suite in SUITES]
        install: list[object] = [python, "-m", "pip", "install", "-q", *PACKAGES, *pinned, ROOT]
        subprocess.run([str(part) for part in install], check=True)
        done.touch()
    return python


def sources(suite: Suite, work: Path, python: Path) -> Path:
    name = f"{suite.library}-{suite.version}"
    if not (work / name).exists():
        # Without isolation: only the names of files are needed, and no compiler.
        fetch = ["pip", "download", "-q", "--no-binary", ":all:", "--no-deps"]
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [python, "-m", *fetch, "--no-build-isolation", "-d", work, name.replace("-", "==")],
            check=True,
            env={**os.environ, "PATH": path},
        )
        with tarfile.open(work / f"{name}.tar.gz") as archive:
            # Without the library itself, which would be imported from here.
            root = work / name / suite.folder
            wanted = [root / part for part in ("tests", "conftest.py", "pytest.ini")]
            members = [
                member
                for member in archive
                if any((work / member.name).is_relative_to(path) for path in wanted)
            ]
            archive.extractall(work, members, filter="data")
    return work / name / suite.folder


def run(suite: Suite, side: str, work: Path, python: Path) -> list[dict[str, str]]:
    """The outcome of each test."""
    report = work / "runs" / f"{suite.library}.{side}.xml"
    if not report.exists():
        first = work / "first"
        first.mkdir(exist_ok=True)
        (first / "sitecustomize.py").write_text("import tools.verify.suites.exchanged\n")
        assets = os.environ.get("PYWASMTOK_ASSETS", str(ROOT.parent / "shared" / "assets"))
        env = {
            **os.environ,
            "PYTHONPATH": f"{first}{os.pathsep}{ROOT}",
            "SUITE_SIDE": side,
            "SUITE_ASSETS": assets,
            "SUITE_FILES": str(work / "hub"),
            "TIKTOKEN_CACHE_DIR": str(Path(assets, "tiktoken-cache")),
        }
        left_out = [f"--ignore={path}" for path in suite.left_out]
        made = report.with_suffix(".part")
        report.parent.mkdir(exist_ok=True)
        subprocess.run(
            [python, "-m", "pytest", "-q", "tests", *left_out, f"--junit-xml={made}"],
            cwd=sources(suite, work, python),
            env=env,
            check=False,
        )
        made.rename(report)
    return [_outcome(case) for case in ElementTree.parse(report).iter("testcase")]


def _outcome(case: ElementTree.Element) -> dict[str, str]:
    test = f"{case.get('classname')}.{case.get('name')}"
    for kind, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(kind)
        if found is not None:
            return {"test": test, "outcome": outcome, "message": found.get("message") or ""}
    return {"test": test, "outcome": "passed"}


def summary(suite: Suite, outcomes: dict[str, list[dict[str, str]]]) -> dict[str, Any]:
    counts = {side: dict(Counter(one["outcome"] for one in outcomes[side])) for side in SIDES}
    passed = {one["test"] for one in outcomes["library"] if one["outcome"] == "passed"}
    failed = [
        {
            "test": one["test"],
            "reason": reason_of(one["test"], one["message"]),
            "library": "passed" if one["test"] in passed else "failed",
        }
        for one in outcomes["drop-in"]
        if one["outcome"] == "failed"
    ]
    return {"version": suite.version, "counts": counts, "failed": failed}


def markdown(record: dict[str, Any]) -> str:
    lines = [f"# Public tests, {record['date']}, {record['machine']}", ""]
    lines += ["| tests of | run against | passed | failed | skipped |", "|---|---|---|---|---|"]
    for name, found in record["suites"].items():
        for side in SIDES:
            numbers = [
                str(found["counts"][side].get(kind, 0)) for kind in ("passed", "failed", "skipped")
            ]
            lines.append(f"| {name} {found['version']} | {side} | {' | '.join(numbers)} |")
    lines += ["", "Failures of the drop-ins:", ""]
    lines += ["| test | the library | reason |", "|---|---|---|"]
    for found in record["suites"].values():
        lines += [
            f"| `{one['test']}` | {one['library']} | {one['reason']} |" for one in found["failed"]
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("work", type=Path)
    parser.add_argument("--record", type=Path, help="without its suffix")
    asked = parser.parse_args()
    work = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = prepare(work)
    found = {
        suite.library: summary(suite, {side: run(suite, side, work, python) for side in SIDES})
        for suite in SUITES
    }
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    record = {"date": today, "machine": machine, "suites": found}
    print(markdown(record))
    if asked.record:
        asked.record.with_suffix(".json").write_text(json_text(record) + "\n")
        asked.record.with_suffix(".md").write_text(markdown(record))


if __name__ == "__main__":
    main()
