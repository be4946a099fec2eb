from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pywasmtok.server.workers.handover_socket import is_possible

from .hostile import KINDS
from .run import run, run_each


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.verify.attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="with hostile tenants")
    parser.add_argument("--tenants", type=int, default=100, help="good ones")
    parser.add_argument("--pace", type=float, default=1.0, help="calls a second of each good one")
    parser.add_argument(
        "--rate", type=float, default=20.0, help="acts a second of each hostile one"
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument(
        "--long-workers",
        type=int,
        default=int(is_possible()),
        help="processes for long requests; default: 1 where the system can",
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that serve")
    parser.add_argument(
        "--tls", action="store_true", help="a server with a certificate; without long workers"
    )
    parser.add_argument("--each", action="store_true", help="one kind at a time")
    parser.add_argument("--json", type=Path, help="where the record goes")
    parser.add_argument("--markdown", type=Path, help="the same, to be read")
    said = parser.parse_args()
    attack = run_each if said.each else run
    long_workers = 0 if said.tls else said.long_workers
    record = attack(
        *(said.seconds, said.tenants, said.pace, said.rate, said.kinds, long_workers),
        workers=said.workers,
        tls=said.tls,
    )
    print(record.as_markdown())
    if said.json:
        said.json.write_text(record.as_json() + "\n", encoding="utf-8")
    if said.markdown:
        said.markdown.write_text(record.as_markdown(), encoding="utf-8")
    problems = record.problems()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
