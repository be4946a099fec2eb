"""Times the native build of the engine beside WebAssembly, and says what the difference is made of.

    python -m tools.bench.sandbox_tax FILE... --json tax.json --markdown tax.md
    python -m tools.bench.sandbox_tax --variants                 what the columns are

All builds take turns in one process, in random order, with fresh text that is the same for all, and
all ids are compared. A figure is processor time divided by the native build's. Needs cargo.
"""

from __future__ import annotations

import argparse
import random
import shlex
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pywasmtok.bench import machine
from pywasmtok.bench.inputs.texts import CORPORA, Tape
from pywasmtok.bench.json_text import json_text
from pywasmtok.bench.libraries.files import TokenizerFile
from pywasmtok.bench.libraries.native import Native, NoNativeBuildError, build
from pywasmtok.bench.measure import Contender, Result, flat, measure
from pywasmtok.bench.tables import head
from tools.bench.sandbox.guest import Guest
from tools.bench.sandbox.variants import VARIANTS, Variant, names_of_shipped

NATIVE, TWIN, WIDE = "native", "native twin", "native, this CPU"
# Bytes of text behind each measurement.
VOLUME = 200_000
WARM_UP = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--corpora", default="english,code,zhja,chat")
    parser.add_argument("--sizes", default="200,20000,200000", help="of texts, in bytes")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where all figures are written")
    parser.add_argument("--markdown", type=Path, help="where the table is written")
    parser.add_argument("--variants", action="store_true", help="runs nothing")
    # For work on this tool: some of the columns, with semicolons between them.
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.variants:
        print("\n".join(legend()))
        return 0
    if not chosen.files:
        parser.error("which file?")
    names = [name.strip() for name in chosen.only.split(";") if name.strip()]
    variants = [one for one in VARIANTS if not names or one.name in names]
    try:
        libraries = {NATIVE: build(), WIDE: build("-Ctarget-cpu=native")}
    except NoNativeBuildError as reason:
        print(f"not measured: {reason}", file=sys.stderr)
        return 2

    began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = machine.describe()
    record: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, machine.one_core() as problem:
        if problem:
            print(problem, file=sys.stderr)
        for source in chosen.files:
            file = TokenizerFile.read(source, Path(folder))
            plan = Plan(chosen.corpora.split(","), sizes(chosen.sizes), chosen.rounds, chosen.seed)
            for row in rows(file, libraries, variants, plan):
                record.append({"tokenizer": file.name, **row})
                print(told(record[-1]), file=sys.stderr, flush=True)
    place["load_average_after"] = machine.describe()["load_average"]
    words = sys.argv[1:] if arguments is None else arguments
    command = f"python -m tools.bench.sandbox_tax {shlex.join(words)}"
    if chosen.json:
        whole = {"date": began, "command": command, "machine": place, "rows": record}
        chosen.json.write_text(json_text(whole) + "\n", encoding="utf-8")
    if chosen.markdown:
        top = head(began, f"`{command}`", place, machine.versions())
        page = "\n".join([*top, "", table(record)]) + "\n"
        chosen.markdown.write_text(page, encoding="utf-8")
    print(table(record))
    return 0 if all(row["equal"] for row in record) else 1


class Plan:
    def __init__(
        self, corpora: Sequence[str], lengths: Sequence[int], rounds: int, seed: int
    ) -> None:
        unknown = [name for name in corpora if name not in CORPORA]
        if unknown:
            raise SystemExit(f"no such text: {unknown[0]}; there are {', '.join(CORPORA)}")
        self.corpora, self.sizes, self.rounds, self.seed = corpora, lengths, rounds, seed


def sizes(text: str) -> list[int]:
    with suppress(ValueError):
        found = [int(part) for part in text.split(",")]
        if min(found) > 0:
            return found
    raise SystemExit(f"--sizes: {text!r} is no list of numbers")


def rows(
    file: TokenizerFile, libraries: Mapping[str, Path], variants: Sequence[Variant], plan: Plan
) -> list[dict[str, Any]]:
    data = file.path.read_bytes()
    contenders = [
        Contender(name, Native(path, data).encode, flat) for name, path in libraries.items()
    ]
    # What separates two that are the same is noise.
    contenders.append(Contender(TWIN, Native(libraries[NATIVE], data).encode, flat))
    contenders += [Contender(one.name, Guest(one, data).encode, flat) for one in variants]
    dice = random.Random(plan.seed)
    found = []
    for corpus in plan.corpora:
        tape = Tape(corpus, plan.seed)
        measure(contenders, [[tape.take(WARM_UP)]], dice)
        for size in plan.sizes:
            count = max(1, VOLUME // size)
            turns = [[tape.take(size) for _ in range(count)] for _ in range(plan.rounds)]
            results = measure(contenders, turns, dice)
            found.append({"text": corpus, "bytes": size, **figures(results, size)})
    return found


def figures(results: Mapping[str, Result], size: int) -> dict[str, Any]:
    """Each turn's time over that of the native build in the same turn; the median of these."""
    base = results[NATIVE].times
    return {
        "native MB/s": size / statistics.median(base),
        "us": {name: result.times for name, result in results.items()},
        "tax": {
            name: statistics.median(
                mine / its for mine, its in zip(result.times, base, strict=True)
            )
            for name, result in results.items()
            if name != NATIVE
        },
        "equal": all(result.equal for result in results.values()),
    }


def table(record: Sequence[Mapping[str, Any]]) -> str:
    if not record:
        return ""
    names = list(record[0]["tax"])
    lines = [
        f"| tokenizer | text | bytes | native MB/s | {' | '.join(names)} |",
        "|" + "---|" * (4 + len(names)),
    ]
    for row in record:
        taxes = " | ".join(f"{row['tax'][name]:.2f}" for name in names)
        wrong = "" if row["equal"] else " WRONG IDS"
        lines.append(
            f"| {row['tokenizer']} | {row['text']}{wrong} | {row['bytes']:,} "
            f"| {row['native MB/s']:.0f} | {taxes} |"
        )
    own = "; ".join(names_of_shipped()) or "none of these"
    lines += ["", "Processor time divided by that of the native build: 1.20 is 20 % slower.", ""]
    lines += [*(f"- {line}" for line in legend()), "", f"The package ships: {own}."]
    return "\n".join(lines)


def told(row: Mapping[str, Any]) -> str:
    taxes = ", ".join(f"{name} {tax:.2f}" for name, tax in row["tax"].items())
    return f"{row['tokenizer']} {row['text']} {row['bytes']}: {taxes}"


def legend() -> list[str]:
    return [
        f"{NATIVE}: the engine for any processor of this architecture",
        f"{TWIN}: the same once more; what separates the two is noise",
        f"{WIDE}: the compiler may use all that this processor has",
        *(f"{one.name}: {one.what}" for one in VARIANTS),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
