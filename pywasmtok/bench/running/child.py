"""Measurements in a process of their own: what is slow is stopped, what dies is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["ChildFailedError", "lines_of"]

# Libraries answer for one thread: callers are the only parallelism that is measured.
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "FASTOKENS_BPE_THREADS": "1",
}


class ChildFailedError(Exception):
    """Why there is nothing (more) from a child."""


def lines_of(
    task: str,
    job: Mapping[str, Any],
    *,
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Each JSON object that the child writes, when it is there.

    ChildFailedError after the last one, if it took longer than `seconds` or did not end well.
    """
    command = [sys.executable, "-m", "pywasmtok.bench.running.worker", task]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD, **(environment or {}), "PYTHONPATH": _path()},
        text=True,
        encoding="utf-8",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        child.kill()

    clock = threading.Timer(seconds, stop) if seconds is not None else None
    try:
        if clock is not None:
            clock.start()
        try:
            child.stdin.write(json.dumps(job))
            child.stdin.close()
        except BrokenPipeError:
            pass  # it has died already: its status says how
        for line in child.stdout:
            yield json.loads(line)
        status = child.wait()
        if expired.is_set():
            raise ChildFailedError(f"over {seconds:g} s")
        if status:
            raise ChildFailedError(_death(status))
    finally:
        if clock is not None:
            clock.cancel()
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()


def _path() -> str:
    """The child finds this very package, wherever it was imported from."""
    package = str(Path(__file__).resolve().parents[3])
    before = os.environ.get("PYTHONPATH")
    return package if not before else package + os.pathsep + before


def _death(status: int) -> str:
    if status < 0:
        try:
            return f"died of {signal.Signals(-status).name}"
        except ValueError:
            return f"died of signal {-status}"
    return f"ended with status {status}"
