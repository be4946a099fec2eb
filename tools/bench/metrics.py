"""What metrics cost: calls before they are enabled, while they are, and after they were.

python -m tools.bench.metrics            with prometheus-client installed
python -m tools.bench.metrics --markdown for docs/metrics.md
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import pywasmtok
from pywasmtok import metrics

ROUNDS = 15
CALLS = 20_000
STATES = ("never enabled", "enabled", "disabled again")


def calls() -> dict[str, Callable[[], object]]:
    tok = pywasmtok.create_tokenizer("builtin:demo", encoder="core", decoder="core")
    encoding = tok.encode("What is the capital of France?")
    stream, token_id = tok.decode_stream(), encoding[0]
    # Through the object each time: a method that was taken out of it before stays what it was.
    return {
        "encode, 30 characters": lambda: tok.encode("What is the capital of France?"),
        f"decode, {len(encoding)} ids": lambda: tok.decode(encoding),
        "step of a stream": lambda: stream.step(token_id),
    }


def microseconds(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, time.process_time() - start)
    return best / CALLS * 1e6


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(argv)
    measured = calls()
    columns = [[microseconds(call) for call in measured.values()]]
    if not metrics.enable(aliases=metrics.ALIASES):
        raise SystemExit("prometheus-client is not installed")
    columns.append([microseconds(call) for call in measured.values()])
    metrics.disable()
    columns.append([microseconds(call) for call in measured.values()])
    lines = [["", *STATES]]
    if options.markdown:
        lines.append(["---", *("---:" for _ in STATES)])
    for row, name in enumerate(measured):
        lines.append([name, *(f"{column[row]:.2f}" for column in columns)])
    for line in lines:
        print(f"| {' | '.join(line)} |" if options.markdown else "  ".join(line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
