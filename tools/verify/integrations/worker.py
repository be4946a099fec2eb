"""Runs one program in an environment of its own, one turn a line of standard input.

python worker.py TEXT FOLDER ROUNDS

TEXT is the program, ROUNDS a JSON list with the texts of each turn. A line with a number runs that
turn; the answer is a line of JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any


def main(text: str, folder: str, rounds: str) -> None:
    answers = sys.stdout
    program: dict[str, Any] = {"__name__": "program"}
    # What a library prints is no answer.
    with contextlib.redirect_stdout(sys.stderr):
        exec(compile(Path(text).read_text(encoding="utf-8"), text, "exec"), program)
        texts = json.loads(Path(rounds).read_text(encoding="utf-8"))
        loaded = program["load"](folder)
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            began = time.perf_counter(), time.process_time()
            found = program["run"](loaded, texts[int(line)])
            ended = time.perf_counter(), time.process_time()
        digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()
        seconds, cpu_seconds = (end - start for start, end in zip(began, ended, strict=True))
        answer = {"seconds": seconds, "cpu_seconds": cpu_seconds, "digest": digest}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
