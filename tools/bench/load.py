"""What loading a tokenizer costs, and what one more instance of it does.

    python -m tools.bench.load FILE ...             tokenizer.json files
    python -m tools.bench.load FILE ... --markdown  for docs/performance.md

Each figure is the best of several fresh processes, after importing all that it needs of the
library: milliseconds on the clock, and in brackets those of the processor. "first": nothing is
known of the file; "second": an earlier process has loaded it. With "core" the compiled core was
opened before the clock started, as by any tokenizer that the process loaded earlier; without, it
is part of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

# What each library does with `path`, after `prepare`.
LIBRARIES = {
    "tokenizers": ("import tokenizers", "tokenizers.Tokenizer.from_file(path)"),
    "fastokens": ("import fastokens", "fastokens.Tokenizer.from_json_str(open(path).read())"),
    "gigatoken": ("import gigatoken", "gigatoken.Tokenizer.from_json(open(path).read())"),
}

OURS = """
import pywasmtok, wasmtime
from pywasmtok import _host
from pywasmtok._host.calls import cloning, helpers, interrupt, limited, pool, tokenizer, workers
from pywasmtok._host.linux import thread_stack
from pywasmtok._host.snapshots import store
from pywasmtok._host.wasm import core
import fcntl
"""
OPEN = OURS + "core.open_core(None); thread_stack.require()"
LOAD = 'pywasmtok.create_tokenizer(path, encoder="core", decoder="core")'

TIMED = """
import sys, time
path = sys.argv[1]
{prepare}
clock, processor = time.perf_counter(), time.process_time()
loaded = {load}
print(json_of((time.perf_counter() - clock) * 1e3, (time.process_time() - processor) * 1e3))
"""
JSON = "import json\njson_of = lambda *numbers: json.dumps(numbers)\n"

# Proportional memory of 20 more instances, each after a text of 20 KB.
MEMORY = """
import re, sys, time
path, text = sys.argv[1], open(sys.argv[2], "rb").read()[:20_000].decode("utf-8", "ignore").encode()
import pywasmtok
from pywasmtok import _host
with open(path, "rb") as file:
    tok = _host.load_tokenizer(file.read())
source = tok._pool._source

def proportional():
    with open("/proc/self/smaps_rollup") as lines:
        return int(re.search(r"^Pss:\\s+(\\d+)", lines.read(), re.M)[1])

def one():
    started = time.perf_counter()
    made = source.new_instance()
    seconds = time.perf_counter() - started
    made.encode_ids(text, 1)
    return made, seconds

kept = [one() for _ in range(3)]
before = proportional()
kept += [one() for _ in range(20)]
after = proportional()
times = sorted(seconds for _, seconds in kept[3:])
print(json_of(times[len(times) // 2] * 1e3, (after - before) / 20 / 1024))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        # The first process compiles the core, outside the measurement.
        _run(TIMED.format(prepare=OPEN, load="0"), cache, "-")
        for file in options.files:
            rows.append(_row(Path(file), cache, options.rounds))
    heads = ["file", "first", "first, core", "second", "second, core", *LIBRARIES,
             "one more", "its memory", "snapshot"]  # fmt: skip
    edge = " | " if options.markdown else "  "
    print(_line(heads, edge, options.markdown))
    if options.markdown:
        print(_line(["---"] * len(heads), "|", True))
    for row in rows:
        print(_line(row, edge, options.markdown))
    return 0


def _row(file: Path, cache: str, rounds: int) -> list[str]:
    snapshots = Path(cache, "snapshots")
    whole, opened = TIMED.format(prepare=OURS, load=LOAD), TIMED.format(prepare=OPEN, load=LOAD)
    cells = [file.parent.name or file.name]
    for code, first in ((whole, True), (opened, True), (whole, False), (opened, False)):
        found = []
        for _ in range(rounds):
            if first:
                for path in snapshots.glob("*"):
                    path.unlink()
            found.append(_run(code, cache, str(file)))
        cells.append(_best(found))
    for prepare, load in LIBRARIES.values():
        code = TIMED.format(prepare=prepare, load=load)
        try:
            cells.append(_best([_run(code, cache, str(file)) for _ in range(rounds)]))
        except subprocess.CalledProcessError:
            cells.append("-")
    text = str(Path(__file__).resolve().parents[2] / "docs" / "rationale" / "engine.md")
    found = [_run(MEMORY, cache, str(file), text) for _ in range(rounds)]
    cells.append(f"{min(one[0] for one in found):.2f} ms")
    cells.append(f"{min(one[1] for one in found):.1f} MB")
    size = sum(path.stat().st_blocks * 512 for path in snapshots.glob("*.snapshot"))
    cells.append(f"{size / 1e6:.0f} MB")
    return cells


def _run(code: str, cache: str, *arguments: str) -> list[float]:
    # With compiled Python modules, as in an installed package.
    known = {
        name: value
        for name, value in os.environ.items()
        if "PYWASMTOK" not in name and name != "PYTHONDONTWRITEBYTECODE"
    }
    done = subprocess.run(
        [sys.executable, "-c", JSON + code, *arguments],
        env={**known, "PYWASMTOK_CACHE_DIR": cache},
        capture_output=True,
        check=True,
        text=True,
    )
    numbers: list[float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def _best(found: list[list[float]]) -> str:
    clock, processor = (min(one[place] for one in found) for place in (0, 1))
    return f"{clock:.1f} ({processor:.1f})"


def _line(cells: list[str], edge: str, framed: bool) -> str:
    text = edge.join(cells)
    return f"|{text}|" if framed else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", action="store_true")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
