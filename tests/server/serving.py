"""A server in a process of its own, as people start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

__all__ = ["Server", "served", "until"]

_SECONDS = 120.0


class Server:
    def __init__(self, process: subprocess.Popen[str], said: dict[str, Any]) -> None:
        self.process = process
        self.address: str = said["address"]
        self.needs_keys: bool = said["identity"]

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx.post(self.address + path, json=body, headers=headers, timeout=_SECONDS)

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx.get(self.address + path, headers=headers, timeout=_SECONDS)

    def put(self, path: str, content: bytes, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx.put(self.address + path, content=content, headers=headers, timeout=_SECONDS)


@contextmanager
def served(*arguments: str, log: Path | int | None = None, **environment: str) -> Iterator[Server]:
    """On any free port; ended when the test is, whatever it did. `log`: a file, or a descriptor,
    which is closed."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "pywasmtok", "serve", "--port", "0", "--json", *arguments]
    with open(os.devnull if log is None else log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": root, **environment},
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, f"it did not start: {process.wait()}"
        yield Server(process, json.loads(said))
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
