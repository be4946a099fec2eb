"""The interpreter ends cleanly whatever arrays are still alive, without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from host.processes import QUIET

import pywasmtok

SETUP = """
import gc, os, sys, threading, time
import pywasmtok
from pywasmtok import EncodedColumn
from tokenizer.arrow import by_hand
tok = pywasmtok.create_tokenizer("builtin:demo")
batch = tok.encode_batch(["one", "", "two three"] * 100)
"""

BY_HAND = {
    "taken": """
class Kept:
    def __init__(self):
        self.array = by_hand.taken(batch.__arrow_c_array__()[1], by_hand.Array)
        self.release = by_hand.Release(self.array.release)
        self.address = by_hand.addressof(self.array)
    def __del__(self):
        # Late: the module of the callback is gone.
        self.release(self.address)
kept = Kept()
kept.self = kept
sys.kept = kept
""",
    "capsules": "sys.kept = batch.__arrow_c_array__(), batch.__arrow_c_stream__()",
    "cycle": "kept = [batch.__arrow_c_array__()]; kept.append(kept)",
    "fork": """
kept = batch.__arrow_c_array__()
child = os.fork()
if not child:
    del kept
    gc.collect()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
""",
    "daemon": """
def consume():
    while True:
        by_hand.lists_of(batch)
for _ in range(2):
    threading.Thread(target=consume, daemon=True).start()
time.sleep(0.1)
""",
}
OF_POLARS = {
    "series": "kept = pl.Series(EncodedColumn(batch)); frame = pl.DataFrame({'ids': kept})",
    "outside": "sys.kept = pl.Series(EncodedColumn(batch))",
    "read": """
sys.kept = tok.encode_arrow(pl.Series(["one", None])), tok.encode_arrow(pl.DataFrame({"a": ["b"]}))
""",
    "cycle": "kept = [pl.Series(EncodedColumn(batch))]; kept.append(kept)",
    "exit": "kept = pl.Series(EncodedColumn(batch)); print('end'); sys.exit()",
}


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, *QUIET, "-c", SETUP + code + "\nprint('end')"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONPATH": str(Path(pywasmtok.__file__).parent.parent)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("kept", BY_HAND)
def test_what_this_package_made(kept: str) -> None:
    if kept == "fork" and not hasattr(os, "fork"):
        pytest.skip("the system has no fork")
    run(BY_HAND[kept])


@pytest.mark.parametrize("kept", OF_POLARS)
def test_what_polars_took(kept: str) -> None:
    pytest.importorskip("polars", reason="polars is not installed: pip install polars")
    run("import polars as pl\n" + OF_POLARS[kept])


def test_what_pyarrow_took() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pyarrow")
    run("""
import pyarrow as pa
texts = pa.table({"text": ["one", None]})
sys.kept = pa.array(batch), pa.table({"ids": batch}), tok.encode_arrow(texts)
""")
