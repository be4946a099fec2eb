"""Renders hostile cases in a process that may die of it; one line of JSON for each answer.

    python -m tools.verify.chat.attacks.child --renderer sandbox --stack 128 --start 0
    python -m tools.verify.chat.attacks.child --renderer sandbox --mutants 1000 --seed 3

`ordeal` starts it and reads what it says. The line before a case says which one begins, so that a
death has a name.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pywasmtok.chat.contract import Renderer, RenderRequest, TemplateLimits

from ..fuzzing import fuzz, pieces
from ..outcomes import Case, Outcome, observe
from ..renderers import RENDERERS, open_renderer
from .hostile import cases

PLAIN = (
    "{% for m in messages %}<{{ m.role|upper }}>{{ m['content'] }}{{ loop.last }}\n{% endfor %}x"
)
REQUEST = RenderRequest(messages=[{"role": "user", "content": "Hi ä"}])
RIGHT = "<USER>Hi äTrue\nx"


_kept: list[Case] = []


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _next_is_right(renderer: Renderer) -> bool:
    return observe(renderer, Case(PLAIN, REQUEST)) == Outcome("text", RIGHT)


def _answer(renderer: Renderer, case: Case, limits: TemplateLimits) -> dict[str, Any]:
    began = time.perf_counter()
    outcome = observe(renderer, case, limits=limits)
    seconds = time.perf_counter() - began
    return {
        "kind": outcome.kind,
        "text": ascii(outcome.text[:200]),
        "feature": outcome.feature,
        "seconds": seconds,
    }


def _peak() -> int:
    """MiB. `ru_maxrss` would begin with what the parent had taken."""
    said = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(said.partition("VmHWM:")[2].split()[0]) // 1024


def _cases(renderer: Renderer, limits: TemplateLimits, start: int) -> None:
    for number, hostile in enumerate(cases()):
        if number < start:
            continue
        _say(begins=number)
        case = Case(hostile.source(), hostile.request(), hostile.name)
        # Python 3.13 frees deep values by recursion, for which a small stack does not suffice.
        _kept.append(case)
        answer = _answer(renderer, case, limits)
        peak = _peak()
        right = _next_is_right(renderer)
        _say(ends=number, name=hostile.name, next_right=right, peak=peak, **answer)


def _mutants(renderer: Renderer, limits: TemplateLimits, number: int, seed: int) -> None:
    """Only what is wrong is told: a defect, a late answer, a wrong next render."""
    from ..fuzzing.contexts import drawn

    dice = random.Random(seed)
    requests = drawn(100, seed)
    for place in range(number):
        source = fuzz.MAKERS[dice.choice(["mutant", "fragment", "wild"])](dice)
        source = pieces.mutate(source, dice, dice.choice([1, 3, 10]))
        answer = _answer(renderer, Case(source, dice.choice(requests)), limits)
        right = place % 20 != 0 or _next_is_right(renderer)
        if answer["kind"] == "broken" or not right or answer["seconds"] > 2:
            _say(mutant=place, source=source, next_right=right, **answer)
    _say(mutants=number)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--renderer", required=True, choices=RENDERERS)
    parser.add_argument("--stack", type=int, default=0, metavar="KIB", help="0: the main thread")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deadline", type=float, default=1.0)
    parser.add_argument("--memory", type=int, default=2 << 30, help="of this process")
    chosen = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_DATA, (chosen.memory, chosen.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
    limits = TemplateLimits(deadline=chosen.deadline)

    def run() -> None:
        renderer = open_renderer(chosen.renderer)
        # The first render may have to compile the renderer itself, which takes its time.
        _say(ready=_next_is_right(renderer))
        if chosen.mutants:
            _mutants(renderer, limits, chosen.mutants, chosen.seed)
        else:
            _cases(renderer, limits, chosen.start)

    if not chosen.stack:
        run()
        return 0
    threading.stack_size(chosen.stack << 10)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
