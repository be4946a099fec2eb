"""Sets a renderer of chat templates against jinja2 in transformers' environment, at random.

    python -m tools.verify.fuzz_chat --renders 20000 --seed 7
    python -m tools.verify.fuzz_chat --kind grammar --kind wild --seconds 60 --out differences.md
    python -m tools.verify.fuzz_chat --renders 200000 --log runs.jsonl

Templates are real ones, mutants of them, fragments put into other surroundings, and what a grammar
grows; conversations come from Hypothesis. Each difference that is not documented is shrunk and
written down, the smallest first; the exit code is 1 if there was one. `--log` adds a line of JSON,
up to date while the tool runs: how many renders of which build there were, and what they gave.
Needs transformers, jinja2, hypothesis and the real templates.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.verify.chat.fuzzing.contexts import drawn
from tools.verify.chat.fuzzing.fuzz import MAKERS, Findings, Fuzzer
from tools.verify.chat.log import Log
from tools.verify.chat.renderers import RENDERERS, open_renderer
from tools.verify.chat.report import Difference

# What the reference may take: `'a' * 2**40` in a mutant is to be an error and not the end.
MEMORY = 3 << 30


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renderer", default="sandbox", choices=RENDERERS)
    parser.add_argument("--kind", action="append", choices=MAKERS)
    parser.add_argument("--renders", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--contexts", type=int, default=300, help="how many conversations")
    parser.add_argument("--shrink", type=float, default=5.0, metavar="SECONDS", help="for each")
    parser.add_argument("--log", type=Path, help="where a line says what was done")
    parser.add_argument("--out", type=Path, help="where differences are written; else printed")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore", SyntaxWarning)

    fuzzer = Fuzzer(
        open_renderer(chosen.renderer),
        drawn(chosen.contexts, chosen.seed),
        random.Random(chosen.seed),
    )
    began = time.perf_counter()
    log = Log(chosen.log, {"renderer": chosen.renderer, "seed": chosen.seed})
    findings = fuzzer.run(
        chosen.kind or list(MAKERS),
        chosen.renders,
        chosen.seconds,
        seen=lambda so_far: log.now_and_then(counted(so_far)),
    )
    log.write(counted(findings))
    print(summary(findings, time.perf_counter() - began), file=sys.stderr)
    found = [fuzzer.smallest(one, chosen.shrink) for one in findings.differences]
    text = written(found)
    if chosen.out:
        chosen.out.write_text(text, encoding="utf-8")
    elif found:
        print(text)
    return 1 if found else 0


def counted(findings: Findings) -> dict[str, Any]:
    return {
        "renders": findings.renders.total(),
        "templates": findings.templates,
        "templates_refused": findings.refused,
        "skipped": findings.skipped,
        "kinds": dict(findings.renders),
        "verdicts": dict(findings.verdicts),
        "undocumented": len(findings.differences),
    }


def summary(findings: Findings, seconds: float) -> str:
    renders = sum(findings.renders.values())
    kinds = ", ".join(f"{name} {count}" for name, count in findings.renders.most_common())
    verdicts = ", ".join(f"{name} {count}" for name, count in findings.verdicts.most_common())
    return f"{renders} renders in {seconds:.0f} s ({kinds}); {findings.skipped} skipped\n{verdicts}"


def written(found: Sequence[Difference]) -> str:
    lines = []
    seen = set()
    for one in sorted(found, key=lambda one: (len(one.case.source), one.case.source)):
        if one.case.source in seen:
            continue
        seen.add(one.case.source)
        request = one.case.request
        lines += [
            f"- {one.verdict}: `{one.case.source!r}`",
            f"    - messages {request.messages!r}, arguments {request.arguments!r}, "
            f"tools {request.tools!r}",
            f"    - reference {str(one.expected)[:300]}",
            f"    - here      {str(one.found)[:300]}",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    raise SystemExit(main())
