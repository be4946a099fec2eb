"""What counting, fitting and truncating cost, and what the prefix cache gives.

    python -m tools.bench.fit FILE...             files that the core serves
    python -m tools.bench.fit FILE... --markdown  for docs/performance.md
    python -m tools.bench.fit FILE... --quick     a check that it works, not a measurement

Wall time of one call from Python, the best of several. `slice` is what users do without these
calls: encode all, slice the ids, decode them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import pywasmtok
from pywasmtok.bench.inputs.texts import Tape
from pywasmtok.tokenizer.tokenizer import Tokenizer

MEGABYTE = 1 << 20
LIMITS = (100, 10_000)
Row = list[str]


def seconds(call: Callable[[], object], runs: int) -> float:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def shown(taken: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if taken >= size:
            return f"{taken / size:.3g} {unit}"
    return f"{taken / 1e-6:.3g} us"


def fitting_row(name: str, tok: Tokenizer, text: str, runs: int) -> Row:
    def of_slice() -> str:
        return tok.decode(tok.encode(text).ids[:100])

    row = [name]
    for limit in LIMITS:
        for call in (
            lambda limit=limit: tok.fits(text, limit),
            lambda limit=limit: tok.truncate(text, limit),
            lambda limit=limit: tok.truncate(text, limit, side="left"),
        ):
            row.append(shown(seconds(call, runs)))
    slow = max(1, runs // 10)
    row.append(shown(seconds(lambda: tok.count(text), slow)))
    row.append(shown(seconds(lambda: tok.encode(text), slow)))
    row.append(shown(seconds(of_slice, slow)))
    return row


def conversation(tape: Tape, size: int) -> tuple[str, list[str]]:
    """A system prompt of so many characters, and what is asked behind it."""
    system = tape.take(size)
    return system, [f"\n\nUser: {tape.take(300)}\n\nAssistant:" for _ in range(20)]


def cache_row(name: str, tok: Tokenizer, tape: Tape, size: int, runs: int) -> Row:
    system, questions = conversation(tape, size)
    prompts = [system + question for question in questions]
    cache = pywasmtok.PrefixCache(64 * MEGABYTE)
    if cache.reason(tok) is not None:
        return [name, f"{size:,}", "no cuts", "", "", ""]

    def each(encode: Callable[[str], object]) -> float:
        for prompt in prompts:
            encode(prompt)
        return seconds(lambda: [encode(prompt) for prompt in prompts], runs) / len(prompts)

    plain = each(tok.encode)
    hit = each(lambda prompt: cache.encode(tok, prompt))
    none = pywasmtok.PrefixCache(0)
    miss = each(lambda prompt: none.encode(tok, prompt))
    for prompt in prompts:
        if cache.encode(tok, prompt) != tok.encode(prompt):
            raise SystemExit(f"{name}: a cached answer differs")
    ratio = f"{plain / hit:.1f}x"
    return [name, f"{size:,}", shown(plain), shown(hit), ratio, f"{miss / plain - 1:+.0%}"]


def table(header: Row, rows: list[Row], markdown: bool) -> str:
    if markdown:
        lines = [header, ["---"] * len(header), *rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in (header, *rows)
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(argv)
    size, times, runs = (64 * 1024, 1, 3) if options.quick else (MEGABYTE, 10, 21)
    tape = Tape("english", 0)
    text = tape.take(size) * times
    fitting: list[Row] = []
    cached: list[Row] = []
    for path in options.files:
        name = path.parent.name if path.name in ("tokenizer.json", "tokenizer.model") else path.name
        with pywasmtok.create_tokenizer(path, encoder="core", decoder="core") as tok:
            fitting.append(fitting_row(name, tok, text, runs))
            for prompt in (8_000, 48_000) if not options.quick else (8_000,):
                cached.append(cache_row(name, tok, tape, prompt, max(1, runs // 3)))
    calls = ("fits", "truncate", "truncate left")
    header = ["tokenizer", *(f"{call}({limit:,})" for limit in LIMITS for call in calls)]
    print(f"{len(text.encode()) / MEGABYTE:.2g} MB of English, one call from Python\n")
    print(table([*header, "count", "encode", "slice"], fitting, options.markdown))
    print("\nPrompts with a shared beginning, each followed by a question of 300 characters\n")
    head = ["tokenizer", "shared characters", "encode", "cached", "gain", "cost of a miss"]
    print(table(head, cached, options.markdown))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
