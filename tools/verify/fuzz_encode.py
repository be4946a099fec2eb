"""Sets the shipped core against the reference on random and mutated texts, by the megabyte.

    python -m tools.verify.fuzz_encode FILE... --megabytes 100 --seed 7 --log fuzz.jsonl
    python -m tools.verify.fuzz_encode qwen3/tokenizer.json@qwen3.5 --megabytes 5

FILE is a tokenizer.json (the reference is `tokenizers`) or a rank file of tiktoken under its name
there (the reference is `tiktoken`), also packed with xz. FILE@NAME is the file with the pattern of
that name in place of its own: see `tools/verify/encoding/references.py`.

Each text goes through every path that is open to its size: a call, a batch, a batch over threads, a
long text that is cut into pieces, and, on a part, offsets. A difference is shrunk and printed; the
exit code is 1 if there was one. `--log` holds one line of JSON for each file, up to date while the
tool runs; the same command goes on where the line ends. `--show` prints such a file as a table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pywasmtok._host.wasm.artifacts import named, read
from tools.verify.encoding.paths import Comparison, Difference, Findings
from tools.verify.encoding.references import Subject
from tools.verify.encoding.texts import VERSION, Maker, real_text

# Differences of one file after which it is left: more of them show nothing new.
ENOUGH = 10
PAUSE = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--show", action="append", type=Path, metavar="LOG", help="runs nothing")
    parser.add_argument("--megabytes", type=float, default=10.0, help="of text, for each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="where a line for each file says what was done")
    parser.add_argument(
        "--real", type=float, default=1.0, metavar="MB", help="of each kind of text to be mutated"
    )
    chosen = parser.parse_args(arguments)
    if chosen.show:
        print(table([line for path in chosen.show for line in Log(path).lines]))
        return 0
    if not chosen.files:
        parser.error("which file?")

    real = real_text(chosen.seed, int(chosen.real * 1e6)) if chosen.real else []
    log = Log(chosen.log)
    wrong = 0
    for file in chosen.files:
        wrong += run(Subject(file), chosen.megabytes, chosen.seed, real, log)
    return 1 if wrong else 0


class Log:
    """Lines of JSON, one for each run; without a file they are only remembered."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.lines: list[dict[str, Any]] = []
        self._last = time.monotonic()
        if path is not None and path.exists():
            with path.open(encoding="utf-8") as lines:
                self.lines = [json.loads(line) for line in lines]

    def line(self, about: dict[str, Any]) -> dict[str, Any]:
        """That of an earlier run of the same texts on the same build, or a new one."""
        for line in self.lines:
            if about.items() <= line.items():
                return line
        new: dict[str, Any] = {
            **about,
            **dict.fromkeys(("blocks", "bytes", "texts", "ids", "refused", "differences"), 0),
            "seconds": 0.0,
            "shapes": {},
            "paths": {},
        }
        self.lines.append(new)
        return new

    def write(self, *, now: bool = False) -> None:
        if self._path is None or not (now or time.monotonic() - self._last > PAUSE):
            return
        self._last = time.monotonic()
        # Replaced atomically: a reader sees the old lines or the new ones.
        beside = self._path.with_name(self._path.name + ".new")
        beside.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        beside.replace(self._path)


def run(subject: Subject, megabytes: float, seed: int, real: Sequence[str], log: Log) -> int:
    """How many differences there were, those of earlier runs included."""
    line = log.line(
        {
            "file": subject.name,
            "sha256": subject.sha256,
            "core": read(named(None) or "portable").sha256,
            "reference": subject.reference.name,
            "texts_version": VERSION,
            "seed": seed,
            "real": sum(map(len, real)),
        }
    )
    maker = Maker(seed, subject.reference.added, real)
    with subject.tokenizer() as ours:
        comparison = Comparison(ours, subject.reference)
        began, before = time.monotonic(), line["seconds"]
        while line["bytes"] < megabytes * 1e6 and line["differences"] < ENOUGH:
            shape, texts = maker.block(line["blocks"])
            found = comparison.block(texts)
            line["blocks"] += 1
            add(line, shape, found)
            line["seconds"] = round(before + time.monotonic() - began, 1)
            for one in found.differences:
                print(told(subject.name, seed, line["blocks"] - 1, one), flush=True)
            log.write(now=bool(found.differences))
    log.write(now=True)
    print(
        f"{subject.name}: {line['bytes'] / 1e6:.1f} MB, {line['texts']} texts, {line['ids']} ids, "
        f"{line['seconds']:.0f} s, {line['refused']} refused, {line['differences']} differences",
        file=sys.stderr,
    )
    return int(line["differences"])


def add(line: dict[str, Any], shape: str, found: Findings) -> None:
    line["bytes"] += found.bytes
    line["texts"] += found.texts
    line["ids"] += found.ids
    line["refused"] += found.refused
    line["differences"] += len(found.differences)
    line["paths"] = dict(Counter(line["paths"]) + found.paths)
    line["shapes"] = dict(Counter(line["shapes"]) + Counter({shape: found.bytes}))


PATHS = ("call", "batch", "batch over threads", "long text in parts", "offsets")


def table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [
        f"| file | reference | MB | texts | ids | {', '.join(PATHS)}: MB | refused | differences |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        paths = ", ".join(f"{line['paths'].get(path, 0) / 1e6:.1f}" for path in PATHS)
        rows.append(
            f"| {line['file']} | {line['reference']} | {line['bytes'] / 1e6:.1f} "
            f"| {line['texts']:,} | {line['ids']:,} | {paths} "
            f"| {line['refused']} | {line['differences']} |"
        )
    builds = sorted({line["core"][:12] for line in lines})
    seeds = sorted({line["seed"] for line in lines})
    rows += [
        "",
        f"SHA-256 of the core: {', '.join(builds)}...; seeds: {', '.join(map(str, seeds))}",
    ]
    return "\n".join(rows)


def told(name: str, seed: int, block: int, one: Difference) -> str:
    shown = ascii(one.text) if len(one.text) < 2000 else f"{one.text[:1000]!a}..."
    alone = "" if one.alone else ", only after the texts before it"
    return (
        f"{name}: {one.path}{alone}, {len(one.text)} characters (seed {seed}, block {block})\n"
        f"  {shown}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
