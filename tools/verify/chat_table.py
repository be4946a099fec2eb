"""How near each renderer of chat templates is to the reference, as a table for docs/chat.md.

    python -m tools.verify.chat_table                          the sandbox, all sections
    python -m tools.verify.chat_table --section vectors --show 5

Needs transformers and jinja2 (`pip install '.[test]'`), and for the vectors and probes the
real templates (`PYWASMTOK_ASSETS`). `--show N` prints the first N differences of each kind,
shortest first; `--all` also the ones that are documented.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from tools.verify.chat import matrix, report
from tools.verify.chat.outcomes import Case, Outcome
from tools.verify.chat.renderers import RENDERERS, open_renderer

SECTIONS: dict[str, Callable[[], Iterator[tuple[Case, Outcome]]]] = {
    "vectors": report.vectors,
    "probes": report.probes,
    **{name: partial(report.section, name) for name in matrix.SECTIONS},
}
COLUMNS = ("refused", "lenient", "severe", "message", "spans", "text", "broken")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renderer", action="append", choices=RENDERERS)
    parser.add_argument("--section", action="append", choices=SECTIONS)
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument("--all", action="store_true", help="show documented differences, too")
    chosen = parser.parse_args(arguments)
    # Python warns of what some of the one-liners compile to in the reference.
    warnings.simplefilter("ignore", SyntaxWarning)

    print(f"| renderer | cases | number | equal | {' | '.join(COLUMNS)} | not documented |")
    print("|" + "---|" * (len(COLUMNS) + 5))
    wrong = 0
    for name in chosen.renderer or ("sandbox",):
        renderer = open_renderer(name)
        for section in chosen.section or SECTIONS:
            began = time.perf_counter()
            tally = report.run(renderer, SECTIONS[section]())
            wrong += len(tally.unexplained)
            cells = [str(tally.counts[column]) for column in COLUMNS]
            print(
                f"| {name} | {section} | {tally.total} | {tally.counts['equal']} "
                f"({tally.equal:.2%}) | {' | '.join(cells)} | {len(tally.unexplained)} |",
                flush=True,
            )
            print(f"{section}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
            if chosen.show:
                _show(tally, chosen.show, chosen.all)
    return 1 if wrong else 0


def _show(tally: report.Tally, number: int, documented: bool) -> None:
    shown = [one for one in tally.differences if documented or one.entry is None]
    shown.sort(key=lambda one: (one.verdict, len(one.case.source)))
    for _, group in groupby(shown, key=lambda one: one.verdict):
        for one in list(group)[:number]:
            print(one, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
