"""What a long run has done so far, as the last line of a file: it may be stopped at any time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pywasmtok._host.wasm.artifacts import read_template

# Seconds between two writes.
PAUSE = 5.0


class Log:
    """One line of a file, behind those of earlier runs; without a file nothing is written."""

    def __init__(self, path: Path | None, about: Mapping[str, Any]) -> None:
        self.path = path
        self.about = {**about, "template.wasm": read_template().sha256}
        self._before = path.read_text(encoding="utf-8") if path and path.exists() else ""
        self._began = self._last = time.monotonic()

    def now_and_then(self, done: Mapping[str, Any]) -> None:
        if time.monotonic() - self._last > PAUSE:
            self.write(done)

    def write(self, done: Mapping[str, Any]) -> None:
        self._last = time.monotonic()
        if self.path is None:
            return
        line = {**self.about, "seconds": round(self._last - self._began), **done}
        # Replaced atomically: a reader sees the old line or the new one.
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(f"{self._before}{json.dumps(line)}\n", encoding="utf-8")
        beside.replace(self.path)
