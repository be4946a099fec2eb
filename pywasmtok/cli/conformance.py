"""The command `pywasmtok conformance`: the runner `tokconf`, in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import BackendUnavailable, InvalidArgument
from .common import print_json
from .exits import Exit

__all__ = ["run"]

# What tokconf ends with: all is well, a case went wrong.
_FINE, _RED = 0, 1


def run(options: argparse.Namespace) -> int:
    if find_spec("tokconf") is None:
        raise BackendUnavailable(
            "the runner of the conformance suite, tokconf, is not installed",
            hint="pip install ./conformance/runner in a clone of the repository",
        )
    with tempfile.TemporaryDirectory(prefix="pywasmtok-conformance-") as temporary:
        out = Path(options.out or temporary)
        done = subprocess.run(
            [sys.executable, "-m", "tokconf", *_arguments(options, out)],
            # The answer of `--json` is ours alone.
            stdout=subprocess.PIPE if options.json else None,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode not in (_FINE, _RED) or not (out / "results.ndjson").is_file():
            said = done.stderr.strip().removeprefix("tokconf: ")
            raise InvalidArgument(f"tokconf did not run: {said}", hint="--suite names its folder")
        sys.stderr.write(done.stderr)
        if options.json:
            print_json(_answer(out / "results.ndjson"))
    return Exit.DONE if done.returncode == _FINE else Exit.FOUND


def _arguments(options: argparse.Namespace, out: Path) -> list[str]:
    given = [] if options.suite is None else ["--suite", options.suite]
    build = "*" if options.build == "all" else options.build
    given += ["run", "-i", f"pywasmtok:{build}", "--out", str(out)]
    for name in ("cases", "level"):
        for value in getattr(options, name) or ():
            given += [f"--{name}", value]
    if options.jobs is not None:
        given += ["--jobs", str(options.jobs)]
    return given


def _answer(results: Path) -> dict[str, Any]:
    """The end of the stream of results, and the cases that went wrong."""
    records = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    footer = records[-1]
    wrong = [
        {name: one.get(name) for name in ("id", "adapter", "outcome", "reason")}
        for one in records
        if one["kind"] == "result" and one["outcome"] in ("fail", "xpass", "aborted")
    ]
    return {"ok": footer["ok"], "totals": footer["totals"], "wrong": wrong}
