"""The child's side: a job on stdin, JSON lines on stdout.

    python -m pywasmtok.bench.running.worker TASK

Standard output belongs to the answers alone: what libraries print goes to standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from ...errors import InvalidArgument
from .. import machine
from ..groups import GROUPS
from ..groups.adversarial import in_child as hostile
from ..groups.chat import in_child as chat
from ..groups.first import in_child as first
from ..groups.load import in_child as load
from ..libraries.peers import libraries, names_of
from ..measure import LibraryFailedError
from .session import Bench, Setup

__all__ = ["TASKS", "main"]

Task = Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]


def group(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One group of measurements that take turns."""
    setup = Setup.from_json(job["setup"])
    chosen = GROUPS[job["group"]]
    pinned = machine.one_core() if chosen.one_core else nullcontext()
    with pinned as problem:
        if problem:
            print(problem, file=sys.stderr)
        found, reasons = libraries(setup.file, setup.builds, setup.only)
        for reason in reasons:
            yield {"absent": reason}
        # What the libraries hold is none of the collector's business from here on.
        gc.collect()
        gc.freeze()
        found = [library for library in found if library.name not in job["without"]]
        try:
            for row in chosen.run(Bench(setup, job["group"], found)) if found else ():
                yield {"row": row.as_json()}
        except LibraryFailedError as failure:
            if failure.name not in {*names_of((), setup.only), "hf-fast"}:
                raise  # one of ours: a bug
            yield {"failed": failure.name, "why": str(failure)}
        except InvalidArgument as error:
            yield {"ended": str(error)}  # the user's text


TASKS: Mapping[str, Task] = {
    "group": group,
    "hostile": hostile,
    "load": load,
    "first": first,
    "chat": chat,
}


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for answer in TASKS[sys.argv[1]](json.load(sys.stdin)):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
