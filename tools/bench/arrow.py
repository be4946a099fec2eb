"""A column of texts to a column of lists of ids, beside the ways through lists of Python.

    python -m tools.bench.arrow FILE... [--runs 15] [--markdown]

It needs pyarrow. Each call begins with a column of pyarrow and ends with one, in one thread. The
time is that of processors in the process; the best run counts. Text is fresh in each run.

    encode_arrow   tok.encode_arrow(column), made an array of pyarrow
    encode_batch   tok.encode_batch(column.to_pylist()), made an array over the same memory
    lists          the same, but of its `.ids`: lists of lists of int
    tokenizers     the ids of encode_batch of HuggingFace `tokenizers`, as lists of lists
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pywasmtok.bench.inputs.texts import Tape
from pywasmtok.bench.machine import describe, versions
from pywasmtok.bench.tables import layout

MB = 1_000_000
# Rows, and characters of each.
SHAPES = ((10_000, 50), (2_500, 200), (250, 2_000), (10, 50_000))
TYPES = ("string", "string_view")


def ways(file: Path) -> dict[str, Callable[[Any], Any]]:
    import pyarrow as pa
    from tokenizers import Tokenizer

    from pywasmtok import create_tokenizer

    tok = create_tokenizer(file, encoder="core", decoder="core", threads=1)
    reference: Any = Tokenizer.from_file(str(file))
    lists = pa.list_(pa.uint32())
    return {
        "encode_arrow": lambda column: pa.array(tok.encode_arrow(column)),
        "encode_batch": lambda column: pa.array(tok.encode_batch(column.to_pylist())),
        "lists": lambda column: pa.array(tok.encode_batch(column.to_pylist()).ids, lists),
        "tokenizers": lambda column: pa.array(
            [found.ids for found in reference.encode_batch(column.to_pylist())], lists
        ),
    }


def best(make: Callable[[], Any], call: Callable[[Any], Any], runs: int) -> float:
    taken = []
    for _ in range(runs):
        column = make()
        start = time.process_time()
        call(column)
        taken.append(time.process_time() - start)
    return min(taken)


def measure(contenders: dict[str, Callable[[Any], Any]], corpus: str, runs: int) -> list[list[str]]:
    import pyarrow as pa

    tape = Tape(corpus, 7)
    table = []
    for rows, size in SHAPES:
        for name in TYPES:

            def make(name: str = name, rows: int = rows, size: int = size) -> Any:
                return pa.array([tape.take(size) for _ in range(rows)], getattr(pa, name)())

            column = make()
            expected = contenders["tokenizers"](column)
            cells = [f"{rows:,} of {size:,} characters", name]
            bytes_each = sum(len(text.encode()) for text in column.to_pylist()) / rows
            for way, call in contenders.items():
                if call(column) != expected:
                    raise SystemExit(f"{way} answers other ids")
                taken = best(make, call, runs)
                cells.append(f"{rows / taken:,.0f} ({rows * bytes_each / MB / taken:.1f})")
            table.append(cells)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.arrow")
    parser.add_argument("file", nargs="+", type=Path)
    parser.add_argument("--corpus", default="english")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(argv)
    # Read by `tokenizers` when it first works.
    os.environ["RAYON_NUM_THREADS"] = "1"
    facts = {"CPU": describe()["cpu"], **versions()}
    print(", ".join(f"{name} {value}" for name, value in facts.items()), end="\n\n")
    for file in options.file:
        contenders = ways(file)
        lines = measure(contenders, options.corpus, options.runs)
        head = ["rows", "type", *contenders]
        print(f"{file.parent.name}, {options.corpus}; rows/s (MB/s)\n")
        print(*layout([head, *lines], options.markdown), sep="\n", end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
