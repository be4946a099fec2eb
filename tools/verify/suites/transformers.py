"""Runs transformers' own tests of tokenizers, with the core inside and without.

    python -m tools.verify.suites.transformers --work FOLDER --record docs/records/DAY-suite.md

The tests come from the source distribution of that version, unmodified. It lacks the classes for
single models, so this writes one for each family: the class, and a folder with the real
tokenizer.json (`PYWASMTOK_ASSETS`). They run without network. The folder keeps a virtual
environment, the tests and one report a run. Runs whose report is there are not repeated. The status
is 1 where a test fails with the core and passes without.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[3]
ASSETS = Path(os.environ.get("PYWASMTOK_ASSETS") or ROOT.parent / "shared" / "assets")
PACKAGES = ("jinja2", "numpy", "parameterized", "protobuf", "pytest", "sentencepiece", "wasmtime")

FAMILIES = {
    "bert-base-cased": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    "llama2": "LlamaTokenizer",
    "qwen2.5": "Qwen2Tokenizer",
    "t5": "T5Tokenizer",
}

CASES = """\
import os
import unittest

import transformers
from pywasmtok.compat.transformers import backend_of, patch_transformers

from . import test_tokenization_common as common

if os.environ["INSIDE"] == "core":
    patch_transformers()


class Test(common.TokenizerTesterMixin, common.TokenizersBackendTesterMixin, unittest.TestCase):
    from_pretrained_id = [os.environ["FAMILY"]]
    tokenizer_class = rust_tokenizer_class = getattr(transformers, os.environ["CLASS"])

    def test_what_is_inside(self):
        assert backend_of(self.get_tokenizer()).name == os.environ["INSIDE"]
"""


class Run(NamedTuple):
    """The outcome of one family: of each test, its state and what it said."""

    outcomes: dict[str, tuple[str, str]]
    seconds: float

    @classmethod
    def read(cls, report: Path) -> Run:
        suite = ElementTree.parse(report).getroot()[0]
        outcomes: dict[str, tuple[str, str]] = {}
        for case in suite.iter("testcase"):
            marks = [mark for mark in case if mark.tag in ("failure", "error", "skipped")]
            said = (marks[0].tag, marks[0].get("message", "")) if marks else ("passed", "")
            # A subtest is a further entry of the same name: the worse one counts.
            name = case.get("name", "")
            if outcomes.get(name, ("passed",))[0] not in ("failure", "error"):
                outcomes[name] = said
        return cls(outcomes, float(suite.get("time", 0)))

    def counts(self) -> str:
        states = Counter(state for state, _ in self.outcomes.values())
        failed = states["failure"] + states["error"]
        return f"{states['passed']} passed, {failed} failed, {states['skipped']} skipped"


def prepare(work: Path, version: str) -> Path:
    """The folder with the tests. A virtual environment lies beside it."""
    python, source = work / "venv/bin/python", work / f"transformers-{version}"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        install = [str(python), "-m", "pip", "install", "-q", f"transformers=={version}", *PACKAGES]
        subprocess.run(install, check=True)
    if not source.exists():
        download = ["download", "-q", "--no-deps", "--no-binary", "transformers", "-d", str(work)]
        command = [str(python), "-m", "pip", *download, f"transformers=={version}"]
        subprocess.run(command, check=True)
        with tarfile.open(work / f"transformers-{version}.tar.gz") as archive:
            wanted = [one for one in archive if one.name.startswith(f"{source.name}/tests/")]
            archive.extractall(work, wanted, filter="data")
    tests = source / "tests"
    (tests / "fixtures").mkdir(exist_ok=True)
    (tests / "__init__.py").touch()
    (tests / "fixtures/sample_text.txt").write_text("A few lines,\n\nand naïve words.\n")
    (tests / "test_family.py").write_text(CASES)
    return tests


def run(work: Path, tests: Path, family: str, inside: str) -> Run:
    report = work / f"{tests.parent.name}-{family}-{inside}.xml"
    if not report.exists():
        folder = work / family
        folder.mkdir(exist_ok=True)
        packed = ASSETS / family / "tokenizer.json.xz"
        plain = packed.with_suffix("")
        data = lzma.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
        (folder / "tokenizer.json").write_bytes(data)
        config = {"tokenizer_class": FAMILIES[family], "model_max_length": 512}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        names = {"FAMILY": str(folder), "CLASS": FAMILIES[family], "INSIDE": inside}
        here = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        unfinished = report.with_suffix(".part")
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={unfinished}"]
        subprocess.run(
            [work / "venv/bin/python", *command, tests / "test_family.py"],
            cwd=tests.parent,
            env={**os.environ, **names, **here},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        unfinished.rename(report)
    return Run.read(report)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--version", default="5.23.0", help="of transformers, from 5.0 on")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="all by default")
    parser.add_argument("--record", type=Path, help="a file for the table")
    options = parser.parse_args()
    work = options.work.resolve() / options.version
    work.mkdir(parents=True, exist_ok=True)
    tests = prepare(work, options.version)
    lines = [
        f"# transformers {options.version}: its tests of tokenizers",
        "",
        f"`python -m tools.verify.suites.transformers --version {options.version}`",
        "",
        "Each family has the tests of `TokenizerTesterMixin` and `TokenizersBackendTesterMixin`,",
        "and one that looks what is inside. The suite skips tests by itself.",
        "",
        "| family | class | plain | seconds | with the core | seconds |",
        "|---|---|---|---|---|---|",
    ]
    failures = []
    worse = 0
    for family in options.family or FAMILIES:
        print(family, file=sys.stderr, flush=True)
        plain, core = (run(work, tests, family, inside) for inside in ("tokenizers", "core"))
        cells = (family, FAMILIES[family], plain.counts(), f"{plain.seconds:.0f}",
                 core.counts(), f"{core.seconds:.0f}")  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        for name, (state, said) in core.outcomes.items():
            if state in ("failure", "error"):
                before = plain.outcomes.get(name, ("missing", ""))[0]
                worse += before == "passed"
                reason = " ".join(said.split())[:200]
                failures.append(f"- {family}, `{name}` (plain: {before}): {reason}")
    lines += ["", *(failures or ["No test fails with the core."])]
    table = "\n".join(lines) + "\n"
    print(table, end="")
    if options.record is not None:
        options.record.write_text(table, encoding="utf-8")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
