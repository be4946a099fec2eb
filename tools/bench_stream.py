"""What streaming and decoding cost, beside HuggingFace's and fastokens' streams.

    python -m tools.bench_stream FILE             a tokenizer.json that all three load
    python -m tools.bench_stream FILE --markdown  for docs/performance.md
    python -m tools.bench_stream FILE --quick     a check that it works, not a measurement

Rules: libraries take turns; the best of several rounds counts, in CPU time of the process; every
stream's output is compared with decoding everything at once, and who differs is named. A tokenizer
remembers what the ids of earlier streams gave; "nothing remembered" is its very first stream.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tokenizers

import pywasmtok
from tools.bench_texts import Tape

SIZES = (100, 1_000, 10_000, 100_000)
INVALID = (100, 400, 1_600, 6_400)
DECODED = (100, 2_000, 50_000)
# Beyond this many ids a stream whose cost grows with its length would take minutes.
MOST_SECONDS = 5.0

Run = Callable[[list[int]], str]
Row = list[str]


def streams(path: Path) -> dict[str, Run]:
    """A whole stream over a list of ids, by the name of who makes it."""
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    hf = tokenizers.Tokenizer.from_file(str(path))
    config = pywasmtok.StopSequenceConfig(stop_sequences=("\n\nUser:", "<|stop|>"))

    def step(ids: list[int]) -> str:
        stream = tok.decode_stream()
        one = stream.step
        return "".join([one(n) for n in ids]) + stream.flush()

    def first(ids: list[int]) -> str:
        tok.streaming.forget()
        return step(ids)

    def batches(ids: list[int]) -> str:
        stream = tok.decode_stream()
        parts = [stream.step_batch(ids[at : at + 16]) for at in range(0, len(ids), 16)]
        return "".join(parts) + stream.flush()

    def stops(ids: list[int]) -> str:
        decoder = tok.stop_decoder(config)
        one = decoder.process_token
        return "".join([one(n).text for n in ids]) + decoder.flush().text

    def theirs(ids: list[int]) -> str:
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
        return "".join(stream.step(hf, n) or "" for n in ids)

    made: dict[str, Run] = {
        "pywasmtok `step`": step,
        "pywasmtok `step`, nothing remembered": first,
        "pywasmtok `step_batch` of 16": batches,
        "pywasmtok `process_token`, two stops": stops,
        "HuggingFace `DecodeStream`": theirs,
    }
    other = fastokens(path)
    if other is not None:
        made["fastokens `DecodeStream`"] = other
    return made


def fastokens(path: Path) -> Run | None:
    try:
        library: Any = importlib.import_module("fastokens._native")
        tok = library.Tokenizer.from_file(str(path))
        kind = library.DecodeStream
    except (ImportError, AttributeError, ValueError):
        return None

    def run(ids: list[int]) -> str:
        stream = kind(skip_special_tokens=True)
        return "".join(stream.step(tok, n) or "" for n in ids)

    return run


def seconds(run: Callable[[list[int]], object], ids: list[int], rounds: int) -> float:
    """The best of several rounds: the others were disturbed."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run(ids)
        best = min(best, time.process_time() - start)
        if best > MOST_SECONDS:
            break
    return best


def text_ids(path: Path, count: int, corpus: str) -> list[int]:
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    tape = Tape(corpus, seed=7)
    ids: list[int] = []
    while len(ids) < count:
        ids += tok.encode(tape.take(100_000), None, False).ids
    return ids[:count]


def invalid_id(path: Path) -> int:
    """A token that is half a character and nothing else."""
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    for number in range(tok.get_vocab_size()):
        if tok.decode_bytes([number]) == b"\x80":
            return number
    raise SystemExit("this vocabulary has no token for the byte 80")


def rows_of(
    path: Path, lists: list[list[int]], wanted: Callable[[list[int]], str], rounds: int
) -> Iterator[Row]:
    for name, run in streams(path).items():
        cells = []
        for ids in lists:
            wrong = "" if run(ids) == wanted(ids) else " (differs)"
            cells.append(f"{seconds(run, ids, rounds) / len(ids) * 1e6:.2f}{wrong}")
        yield [name, *cells]


def decode_rows(path: Path, lists: list[list[int]], rounds: int) -> Iterator[Row]:
    core = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    hf = tokenizers.Tokenizer.from_file(str(path))
    for ids in lists:
        text = hf.decode(ids)
        if core.decode(ids) != text:
            raise SystemExit("the core decodes another text")
        calls = max(1, 200_000 // len(ids))
        ours = seconds(repeated(core.decode, calls), ids, rounds) / calls
        theirs = seconds(repeated(hf.decode, calls), ids, rounds) / calls
        size_in_mb = len(text.encode()) / 1e6
        rates = [f"{size_in_mb / ours:.0f}", f"{size_in_mb / theirs:.0f}", f"{theirs / ours:.1f}"]
        yield [f"{len(ids):,} ids", *rates]


def repeated(decode: Callable[[list[int]], str], calls: int) -> Callable[[list[int]], None]:
    def run(ids: list[int]) -> None:
        for _ in range(calls):
            decode(ids)

    return run


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(argv)
    path: Path = options.file
    quick = options.quick
    rounds = 1 if quick else 5
    sizes: Sequence[int] = (50, 100) if quick else SIZES
    broken: Sequence[int] = (50, 100) if quick else INVALID
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    corpus = "mixed" if quick else "english"
    ids, wrong = text_ids(path, max(sizes), corpus), invalid_id(path)
    texts = rows_of(path, [ids[:size] for size in sizes], tok.decode, rounds)
    bytes_ = rows_of(path, [[wrong] * size for size in broken], lambda ids: "�" * len(ids), rounds)
    lists = decode_rows(path, [ids[:size] for size in ((50,) if quick else DECODED)], rounds)

    def columns(counts: Sequence[int]) -> list[str]:
        return [f"{count:,} ids" for count in counts]

    tables: list[tuple[list[str], Iterator[Row]]] = [
        (["us for each id of English text", *columns(sizes)], texts),
        (["us for each id that is an invalid byte", *columns(broken)], bytes_),
        (["decode of a list, MB/s of text", "core", "HuggingFace", "ratio"], lists),
    ]
    for head, rows in tables:
        write(head, list(rows), options.markdown)
    return 0


def write(head: list[str], rows: list[Row], markdown: bool) -> None:
    lines = [head, *rows]
    if markdown:
        lines.insert(1, ["---"] + ["---:"] * (len(head) - 1))
        print("\n".join("| " + " | ".join(line) + " |" for line in lines), end="\n\n")
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
    print()


if __name__ == "__main__":
    raise SystemExit(main())
