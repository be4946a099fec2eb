"""Sets the shipped core against `tokenizers` on random tokenizer.json files.

    python -m tools.verify.fuzz_pipelines --files 20000 --log fuzz.jsonl
    python -m tools.verify.fuzz_pipelines --seconds 3600 --log fuzz.jsonl
    python -m tools.verify.fuzz_pipelines --streams --seconds 600 --log streams.jsonl

Each file combines normalizers, pre-tokenizers, a model, post-processors, decoders, added tokens,
truncation and padding at random. `tests/random_files.py` draws them, and
`tests/engine/test_random_files.py` compares ids, tokens, offsets, masks, pairs, batches, counts,
segments and decoding. A difference is shrunk and printed with the seed of its file; the exit code
is 1 if there was one. `--log` holds one line of JSON for a build of the core; the same command
continues behind the last seed of that line.

`--streams` compares streams of GGUF files with whole decodes instead: `tests/random_streams.py`
draws ids, cuts, prompts and stop strings for real files and made ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pywasmtok._host.wasm.artifacts import named, read

PAUSE = 5.0
ENOUGH = 20


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=1_000_000, help="seeds 0 to this")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed of a new line")
    parser.add_argument("--streams", action="store_true", help="streams of GGUF files instead")
    parser.add_argument("--log", type=Path, help="where a line for each build says what was done")
    chosen = parser.parse_args(arguments)

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    if chosen.streams:
        from random_streams import STREAMS as EACH
        from random_streams import compare
    else:
        from engine.test_random_files import TEXTS as EACH
        from engine.test_random_files import compare

    what = "streams" if chosen.streams else "texts"
    lines = _lines(chosen.log)
    line = _of_this_build(lines, chosen.first, what)
    began = saved = time.monotonic()
    for seed in range(line["next"], chosen.files):
        try:
            compared = compare(seed)
        except AssertionError as difference:
            line["differences"].append([seed, str(difference)[:400]])
            print(f"seed {seed}: {difference}", file=sys.stderr)
            compared = True
        line["next"] = seed + 1
        line["files"] += compared
        line["not_compared"] += not compared
        line[what] += EACH * compared
        now = time.monotonic()
        if now - saved > PAUSE:
            line["seconds"], saved = round(line["seconds"] + now - saved, 1), now
            _save(chosen.log, lines)
        if now - began > chosen.seconds or len(line["differences"]) >= ENOUGH:
            break
    line["seconds"] = round(line["seconds"] + time.monotonic() - saved, 1)
    _save(chosen.log, lines)
    print(json.dumps(line))
    return 1 if line["differences"] else 0


def _lines(log: Path | None) -> list[dict[str, Any]]:
    if log is None or not log.exists():
        return []
    return [json.loads(text) for text in log.read_text(encoding="utf-8").splitlines()]


def _of_this_build(lines: list[dict[str, Any]], first: int, what: str) -> dict[str, Any]:
    """The line of an earlier run with the same core, or a new one."""
    build = read(named(None) or "portable").sha256
    for line in lines:
        if line["core"] == build and what in line:
            return line
    new: dict[str, Any] = {"core": build, "next": first, "files": 0, "not_compared": 0}
    new |= {what: 0, "seconds": 0.0, "differences": []}
    lines.append(new)
    return new


def _save(log: Path | None, lines: list[dict[str, Any]]) -> None:
    if log is not None:
        log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
