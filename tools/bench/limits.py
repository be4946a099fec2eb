"""What bounds on calls cost: `python -m tools.bench.limits`, on a machine without other work.

Times one call of each kind in three tokenizers in turn, so that a change of the machine's speed
hits all of them: without limits, a view of it with none of time and memory, and one with all. Give
`--before FOLDER`, a checkout of an older version, to set the first against that version's: those
run in processes of their own, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

TEXTS = {"16 B": 16, "200 B": 200, "20 KB": 20_000}
_WORDS = "The tenants of this house share one staircase, and 3 of them a key. "


def calls(tok: Any) -> dict[str, Callable[[], object]]:
    made: dict[str, Callable[[], object]] = {}
    for name, size in TEXTS.items():
        text = (_WORDS * (size // len(_WORDS) + 1))[:size]
        ids = tok.encode(text).ids
        made[f"encode {name}"] = partial(tok.encode, text)
        made[f"decode {name}"] = partial(tok.decode, ids)
        made[f"count {name}"] = partial(tok.count, text)
    made["encode_batch 20"] = partial(tok.encode_batch, [_WORDS] * 20)
    return made


def timed(call: Callable[[], object], seconds: float) -> float:
    """Microseconds a call, over about this time."""
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(16):
            call()
        count += 16
    return (time.perf_counter() - began) / count * 1e6


def tokenizer() -> Any:
    import pywasmtok

    return pywasmtok.create_tokenizer("builtin:demo", encoder="core", decoder="core")


def compared(rounds: int) -> dict[str, list[float]]:
    plain = tokenizer()
    kinds = [
        calls(plain),
        calls(plain.limited(max_text_bytes=1 << 20, max_tokens=1 << 20)),
        calls(
            plain.limited(
                deadline=1.0,
                memory=256 << 20,
                max_text_bytes=1 << 20,
                max_tokens=1 << 20,
                max_batch_items=100,
            )
        ),
    ]
    rows: dict[str, list[float]] = {}
    for name in kinds[0]:
        taken: list[list[float]] = [[] for _ in kinds]
        for _ in range(rounds):
            for place, kind in enumerate(kinds):
                taken[place].append(timed(kind[name], 0.01))
        rows[name] = [median(one) for one in taken]
    return rows


def alone() -> dict[str, float]:
    """For a process of its own: no limits, and whatever version is on the path."""
    return {name: timed(call, 0.02) for name, call in calls(tokenizer()).items()}


def against(before: Path, rounds: int) -> dict[str, list[float]]:
    here = Path(__file__).resolve()
    taken: dict[str, list[list[float]]] = {}
    for _ in range(rounds):
        for place, folder in enumerate((before, here.parents[2])):
            environment = {**os.environ, "PYTHONPATH": str(folder)}
            command = [sys.executable, str(here), "--alone"]
            done = subprocess.run(command, env=environment, capture_output=True, check=True)
            for name, value in json.loads(done.stdout).items():
                taken.setdefault(name, [[], []])[place].append(value)
    return {name: [median(one) for one in both] for name, both in taken.items()}


def _print(rows: dict[str, list[float]], names: list[str]) -> None:
    print("call".ljust(18), *(name.rjust(14) for name in names), "ratios to the first")
    for name, values in rows.items():
        ratios = " ".join(f"{value / values[0]:.3f}" for value in values[1:])
        print(name.ljust(18), *(f"{value:12.2f}us" for value in values), ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        print(json.dumps(alone()))
        return
    if args.before is not None:
        _print(against(args.before.resolve(), args.rounds), ["before", "now"])
        return
    _print(compared(args.rounds), ["none", "counted", "all"])


if __name__ == "__main__":
    main()
