"""Large texts and batches by several threads, beside one thread and beside fastokens.

    python -m tools.bench.threads FILE... [--threads 2] [--build portable] [--markdown]

Wall time, so it wants a quiet machine; each row says of how many runs nothing else took the
processors (where the system tells: on Linux the time that our threads waited for one), and the best
of those counts. Text is fresh: every run gets text that was not seen before.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from pywasmtok.bench.inputs.texts import Tape
from pywasmtok.bench.machine import describe, versions
from pywasmtok.bench.tables import layout

RUNS = 15
DISTURBED = 0.03  # share of the time of a run
MB = 1_000_000
FASTOKENS = "--fastokens"


class Row(NamedTuple):
    what: str
    size: int
    make: Callable[[], Any]


class Timing(NamedTuple):
    seconds: float
    calm: int
    runs: int


def waited() -> float:
    """Seconds for which threads of this process could have run and got no processor."""
    total = 0
    for task in Path("/proc/self/task").glob("*/schedstat"):
        try:
            total += int(task.read_text(encoding="ascii").split()[1])
        except (OSError, IndexError):
            # It has ended, or the kernel does not count.
            continue
    return total / 1e9


def best(make: Callable[[], Any], call: Callable[[Any], Any], seconds: float) -> Timing:
    calm: list[float] = []
    others: list[float] = []
    end = time.monotonic() + seconds
    while len(calm) < RUNS and time.monotonic() < end:
        given = make()
        before = waited()
        start = time.perf_counter()
        call(given)
        took = time.perf_counter() - start
        (calm if waited() - before <= DISTURBED * took else others).append(took)
        # Shares of other processes are settled while nothing of ours runs.
        time.sleep(0.002)
    return Timing(min(calm or others), len(calm), len(calm) + len(others))


def rows(corpus: str) -> list[Row]:
    tape = Tape(corpus, 7)
    size = 2 * MB

    def batch(count: int, each: int) -> Callable[[], list[str]]:
        return lambda: [tape.take(each) for _ in range(count)]

    return [
        Row("40 texts of 50 KB", size, batch(40, 50_000)),
        Row("1,000 texts of 2 KB", size, batch(1000, 2000)),
        Row("1,000 texts of 176 B", 176_000, batch(1000, 176)),
        Row("one text of 2 MB", size, lambda: tape.take(size)),
    ]


def ours(file: Path, build: str, threads: int) -> dict[str, Callable[[Any], Any]]:
    from pywasmtok import create_tokenizer

    tok = create_tokenizer(file, encoder="core", decoder="core", build=build)
    executor = ThreadPoolExecutor(threads)

    def callers(texts: Any) -> None:
        """So many threads of the caller, each with its own texts, one call a text."""
        parts = (
            [texts[n::threads] for n in range(threads)] if isinstance(texts, list) else [[texts]]
        )
        list(executor.map(lambda part: [tok.encode(text, threads=1) for text in part], parts))

    def by(count: int) -> Callable[[Any], Any]:
        return lambda given: (
            tok.encode(given, threads=count)
            if isinstance(given, str)
            else tok.encode_batch(given, threads=count)
        )

    return {"1 thread": by(1), f"{threads} threads": by(threads), f"{threads} callers": callers}


def fastokens(file: Path) -> dict[str, Callable[[Any], Any]]:
    text = file.read_text(encoding="utf-8")
    library: Any = importlib.import_module("fastokens")
    flat = library.Tokenizer.from_json_str(text).encode_batch_flat
    return {"fastokens": lambda given: flat([given] if isinstance(given, str) else given)}


def measure(
    contenders: dict[str, Callable[[Any], Any]], corpora: Sequence[str], seconds: float
) -> list[list[str]]:
    """Cells: text, what, then the speed of each contender and how calm the machine was."""
    table = []
    for corpus in corpora:
        for row in rows(corpus):
            cells = [corpus, row.what]
            for call in contenders.values():
                for _ in range(3):
                    call(row.make())
                timing = best(row.make, call, seconds)
                cells.append(f"{row.size / MB / timing.seconds:.1f} {timing.calm}/{timing.runs}")
            table.append(cells)
    return table


def ratio(cell: str, other: str) -> str:
    return f"x{float(cell.split(maxsplit=1)[0]) / float(other.split(maxsplit=1)[0]):.2f}"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.threads")
    parser.add_argument("file", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", default="portable")
    parser.add_argument("--corpora", default="english,code,chat,zhja")
    parser.add_argument("--seconds", type=float, default=4.0, help="for one figure, at most")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(FASTOKENS, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def peer(file: Path, options: argparse.Namespace) -> list[list[str]]:
    """In a process of its own: the pool of a library is as large as what it sees at first."""
    command = [sys.executable, "-m", "tools.bench.threads", str(file), FASTOKENS]
    command += ["--corpora", options.corpora, "--seconds", str(options.seconds)]
    number = str(options.threads)
    environment = {**os.environ, "RAYON_NUM_THREADS": number, "FASTOKENS_NUM_THREADS": number}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    corpora = options.corpora.split(",")
    if options.fastokens:
        for cells in measure(fastokens(options.file[0]), corpora, options.seconds):
            print("\t".join(cells))
        return 0
    facts = {"CPU": describe()["cpu"], **versions()}
    print(", ".join(f"{name} {value}" for name, value in facts.items()), end="\n\n")
    for file in options.file:
        contenders = ours(file, options.build, options.threads)
        table = measure(contenders, corpora, options.seconds)
        others = peer(file, options)
        head = ["text", "what", *contenders, "gain", "callers' gain", "fastokens", "ratio to it"]
        lines = [head]
        for number, cells in enumerate(table):
            one, several, callers = cells[2:5]
            gains = [ratio(several, one), ratio(callers, one)]
            theirs = others[number][2] if number < len(others) else ""
            lines.append([*cells, *gains, theirs, ratio(several, theirs) if theirs else ""])
        print(f"{file.parent.name} ({options.build}); MB/s of wall time, calm runs / runs\n")
        print(*layout(lines, options.markdown), sep="\n", end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
