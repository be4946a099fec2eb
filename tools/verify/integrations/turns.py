"""Both forms of a program, by turns: each in a process of its own, of which one works at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .table import Program

__all__ = ["SIDES", "Turn", "environment", "run"]

SIDES = ("before", "ours")


class Turn(NamedTuple):
    seconds: float
    cpu_seconds: float
    digest: str
    """Of the result."""


def environment(assets: Path) -> dict[str, str]:
    """Without a network: the rank files of tiktoken lie in the assets."""
    ranks = str(assets / "tiktoken-cache")
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "CUSTOM_TIKTOKEN_CACHE_DIR": ranks,
        "TIKTOKEN_CACHE_DIR": ranks,
    }


def run(
    program: Program,
    python: Path,
    work: Path,
    *,
    folder: Path,
    rounds: Sequence[Sequence[str]],
    env: Mapping[str, str],
) -> dict[str, list[Turn]]:
    """What each side answered in each round. The first round of a side is its warm-up."""
    texts = work / "texts.json"
    texts.write_text(json.dumps(rounds))
    turns: dict[str, list[Turn]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        if program.serves:
            address = stack.enter_context(_server(python, folder, work, env))
            env = {**env, "BASE_URL": address}
        workers = {}
        for side in SIDES:
            path = work / f"{program.name}.{side}.py"
            path.write_text(program.text(ours=side == "ours"))
            workers[side] = stack.enter_context(_worker(python, (path, folder, texts), work, env))
        for number in range(len(rounds)):
            for side in SIDES[:: 1 if number % 2 else -1]:
                turns[side].append(Turn(**_ask(workers[side], number)))
    return turns


@contextmanager
def _worker(
    python: Path, arguments: Sequence[Path], work: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    command = [str(python), str(Path(__file__).with_name("worker.py")), *map(str, arguments)]
    with (
        (work / f"{arguments[0].stem}.log").open("w") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=work,
            env=env,
        ) as worker,
    ):
        try:
            _answer(worker)
            yield worker
        finally:
            worker.kill()


def _ask(worker: subprocess.Popen[str], number: int) -> dict[str, Any]:
    assert worker.stdin is not None
    worker.stdin.write(f"{number}\n")
    worker.stdin.flush()
    return _answer(worker)


def _answer(worker: subprocess.Popen[str]) -> dict[str, Any]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        sys.exit("a program ended early: the newest .log in the work folder says why")
    found: dict[str, Any] = json.loads(line)
    return found


@contextmanager
def _server(python: Path, folder: Path, work: Path, env: Mapping[str, str]) -> Iterator[str]:
    command = [str(python), "-m", "pywasmtok", "serve", f"default={folder}", "--json"]
    with subprocess.Popen(
        [*command, "--port", "0", "--no-access-log"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=work,
        env=env,
    ) as server:
        try:
            assert server.stdout is not None
            address: str = json.loads(server.stdout.readline())["address"]
            _wait_for(address)
            yield address
        finally:
            server.terminate()


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{address}/tokenizer_info"):
                return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"the server at {address} does not answer")
