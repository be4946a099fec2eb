"""Runs Python in a process of its own, for tests whose failure would end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 300
# Python 3.12 and newer warn of each fork of a process that has threads.
QUIET = ("-W", "ignore:This process:DeprecationWarning")

# Faults of every kind, one after the other, and then a call that is right.
TRAP_ALL = """
    import cores, pywasmtok.errors as errors

    def trap_all(tok):
        for text, code in cores.TRAPS.items():
            try:
                tok.encode_ids(text)
            except errors.CoreTrap as trap:
                assert code in str(trap), trap
            else:
                raise AssertionError(code)
        assert tok.encode_ids("right", False) == cores.ids_of("right")
"""


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """The code finds this folder's modules and the package on its path."""
    paths = os.pathsep.join([str(HERE), str(ROOT)])
    # What is around the tests must not decide what they see.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYWASMTOK_")}
    return subprocess.Popen(
        [sys.executable, *QUIET, "-c", dedent(code)],
        env={**kept, "PYTHONPATH": paths, "PYWASMTOK_CACHE_DIR": "off", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, **environment: str) -> str:
    """What it prints. Fails if it dies, hangs, or says anything on standard error."""
    process = start(code, **environment)
    return finish(process)


def finish(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {SECONDS} s\n{out}\n{err}") from None
    assert process.returncode == 0, f"ended with {process.returncode}\n{out}\n{err}"
    assert err == ""
    return out.strip()
