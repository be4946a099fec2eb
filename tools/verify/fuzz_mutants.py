"""Renders mutants of real templates, thousands of them, in processes that may die of it.

    python -m tools.verify.fuzz_mutants --mutants 100000 --log runs.jsonl

Half of them on a thread whose stack is small. Told is each death, each defect, each late answer and
each wrong render after a mutant; the exit code is 1 if there was one. `--log` adds a line of JSON:
how many mutants of which build there were. Needs jinja2, hypothesis and the real templates.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tools.verify.chat.attacks import ordeal
from tools.verify.chat.log import Log

# Mutants of one process; it ends with the first that kills it.
BATCH = 1000
# KiB of the thread's stack; 0: the main thread.
STACKS = (0, 128)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first batch")
    parser.add_argument("--log", type=Path, help="where a line says what was done")
    chosen = parser.parse_args(arguments)

    log = Log(chosen.log, {"seed": chosen.seed})
    end = time.monotonic() + chosen.seconds
    done = wrong = 0
    for batch in count():
        if done >= chosen.mutants or time.monotonic() >= end:
            break
        mutants = min(BATCH, chosen.mutants - done)
        stack = STACKS[batch % len(STACKS)]
        faults = ordeal.mutants("sandbox", mutants, chosen.seed + batch, stack)
        for fault in faults:
            print(json.dumps({**fault, "stack": stack, "batch": batch}), flush=True)
        wrong += len(faults)
        if any("death" in fault for fault in faults):
            break
        done += mutants
        log.write({"mutants": done, "wrong": wrong})
    print(f"{done} mutants, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
