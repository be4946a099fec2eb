"""Hostile cases through a renderer in other processes: deaths, timeouts, wrong texts afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..corpus import ROOT
from . import hostile as attacks

SILENCE = 60.0
"""Seconds after which a child that says nothing is taken for hung."""


@dataclass(frozen=True)
class Answer:
    name: str
    kind: str
    text: str = ""
    feature: str | None = None
    seconds: float = 0.0
    peak: int = 0
    """MiB that the process had taken by then."""
    next_right: bool = False

    @property
    def survived(self) -> bool:
        return self.kind not in {"death", "hang", "broken"}


def start(renderer: str, *options: str) -> subprocess.Popen[str]:
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return subprocess.Popen(
        [sys.executable, "-m", "tools.verify.chat.attacks.child", "--renderer", renderer, *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def lines(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What the child says, until it ends or is ended for saying nothing."""
    assert process.stdout is not None
    while True:
        watch = threading.Timer(SILENCE, process.kill)
        watch.start()
        line = process.stdout.readline()
        watch.cancel()
        if not line.endswith("\n"):
            break
        yield json.loads(line)
    process.wait()


def hostile(renderer: str, stack: int = 0, deadline: float = 1.0) -> list[Answer]:
    """An answer for every hostile case; a new process goes on where one has died."""
    everything = attacks.cases()
    answers: list[Answer] = []
    while len(answers) < len(everything):
        options = ("--stack", str(stack), "--start", str(len(answers)))
        process = start(renderer, *options, "--deadline", str(deadline))
        before = len(answers)
        for said in lines(process):
            if "ends" in said:
                fields = {key: value for key, value in said.items() if key != "ends"}
                answers.append(Answer(**fields))
        if len(answers) < len(everything):
            cause = "hang" if process.returncode == -9 else "death"
            name = everything[len(answers)].name
            answers.append(Answer(name, cause, f"return code {process.returncode}"))
        if len(answers) == before:
            raise RuntimeError(f"no answer at all: return code {process.returncode}")
    return answers


def mutants(renderer: str, number: int, seed: int, stack: int = 0) -> list[dict[str, Any]]:
    """What was wrong with so many mutants; empty is as it should be."""
    process = start(renderer, "--mutants", str(number), "--seed", str(seed), "--stack", str(stack))
    said = list(lines(process))
    if process.returncode != 0 or not said or said[-1] != {"mutants": number}:
        return [*said, {"death": process.returncode, "seed": seed}]
    return [one for one in said[:-1] if "ready" not in one]


def faults(answers: Sequence[Answer], deadline: float, memory: int = 600) -> list[str]:
    """In words what must not be: an empty list is as it should be."""
    must_fail = {case.name: case.must_fail for case in attacks.cases()}
    found = []
    for answer in answers:
        what = f"{answer.name}: {answer.kind} {answer.text} after {answer.seconds:.2f} s"
        if not answer.survived:
            found.append(what)
        elif answer.seconds > deadline + 1.5:
            found.append(f"late: {what}")
        elif not answer.next_right:
            found.append(f"the next render is wrong after {what}")
        elif answer.kind == "text" and must_fail[answer.name]:
            found.append(f"no error: {what}")
        elif answer.peak > memory:
            found.append(f"{answer.peak} MiB: {what}")
    return found
