"""An adapter as a process that answers each line with a line; or that crashes or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from typing import IO, Any

from ..suite import Adapter

LONGEST_LINE = 64 * 1024 * 1024
DEEPEST = 32
STDERR_LINES = 20
# A browser needs some seconds to close.
FAREWELL_SECONDS = 5.0

Message = dict[str, Any]


class AdapterFailureError(Exception):
    """The process did not answer: `outcome` is crash, timeout or protocol_violation."""

    def __init__(self, outcome: str, text: str) -> None:
        super().__init__(f"{outcome}: {text}")
        self.outcome = outcome
        self.text = text


class AdapterProcess:
    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._seq = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._said: deque[str] = deque(maxlen=STDERR_LINES)
        try:
            self._process = subprocess.Popen(
                adapter.command,
                cwd=adapter.folder,
                env={**os.environ, **adapter.env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for the runner, which ends its processes itself.
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            raise AdapterFailureError("crash", str(problem)) from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        listen = threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True)
        listen.start()
        self._listener = listen

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, op: str, timeout: float, **fields: Any) -> Message:
        """The answer, whatever it says. Raises if there is none."""
        self._seq += 1
        line = json.dumps({"seq": self._seq, "op": op, **fields}, ensure_ascii=False) + "\n"
        # Writing blocks while the adapter does not read: that must not stop the runner.
        writer = threading.Thread(target=self._write, args=(line.encode(),), daemon=True)
        if len(line) < 16 * 1024:
            self._write(line.encode())
        else:
            writer.start()
        try:
            answer = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            raise AdapterFailureError("timeout", f"no answer in {timeout:.1f} s") from None
        if answer is None:
            text = self._obituary()
            self.kill()
            raise AdapterFailureError("crash", text)
        return self._parsed(answer)

    def close(self) -> None:
        """Ends the process; kills it if it does not end by itself."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends the process and those that it started: a shell hands no signal on."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        # The end of a process is noticed where its answer is awaited.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read(self, stream: IO[bytes]) -> None:
        while True:
            line = stream.readline(LONGEST_LINE + 1)
            self._lines.put(line or None)
            if not line:
                return

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._said.append(line.decode(errors="replace").rstrip()[:500])

    def _parsed(self, line: bytes) -> Message:
        if len(line) > LONGEST_LINE:
            self.kill()
            raise AdapterFailureError("protocol_violation", "a line of more than 64 MiB")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("seq") != self._seq:
            self.kill()
            shown = line[:120].decode(errors="replace")
            raise AdapterFailureError("protocol_violation", f"no answer to {self._seq}: {shown!r}")
        if _depth(answer) > DEEPEST:
            text = f"an answer of more than {DEEPEST} levels"
            raise AdapterFailureError("protocol_violation", text)
        try:
            # The results are written the same way.
            json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as problem:
            text = f"the answer is no JSON in UTF-8: {problem}"
            raise AdapterFailureError("protocol_violation", text) from None
        return answer

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        # What it said last may not be read yet; what it started may keep the pipe open.
        self._listener.join(timeout=2)
        code = self._process.returncode
        last = self._said[-1] if self._said else "it said nothing"
        return f"ended with {code}: {last[:200]}"


def _depth(value: Any) -> int:
    """Levels of lists and objects, without recursion."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
    return depth
