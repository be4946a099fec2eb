"""Lines for standard error, written by a thread of their own.

A pipe without a reader blocks the thread that writes to it, and that must not be the event loop.
Lines beyond a bound, and lines that cannot be written, are counted and dropped. The server's end
waits a bounded time.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import IO, Final, Generic, TypeVar

__all__ = ["LineWriter"]

T = TypeVar("T")

# Lines that may wait for the thread; some seconds of a busy server.
_MOST_WAITING: Final = 20_000

# Lines of so long are written together: waking a thread for each would cost more than the line.
_TOGETHER_SECONDS: Final = 0.1

# Two writers of one file would mix their lines.
_WRITING: Final = threading.Lock()

# At the end, for lines that wait.
_LAST_SECONDS: Final = 2.0


class LineWriter(Generic[T]):
    def __init__(self, stream: IO[str], encode: Callable[[list[T]], bytes], name: str) -> None:
        """`encode`: makes the lines, in the thread. `name`: of the thread."""
        self.dropped = 0
        self._stream = stream
        self._file = _file_of(stream)
        self._encode = encode
        self._waiting: deque[T] = deque()
        self._filled = threading.Event()
        self._stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def write(self, line: T) -> None:
        """From any thread; never waits."""
        if len(self._waiting) >= _MOST_WAITING:
            self.dropped += 1
            return
        self._waiting.append(line)
        if not self._filled.is_set():
            self._filled.set()

    def close(self, seconds: float = _LAST_SECONDS) -> None:
        """Writes the waiting lines, if the output accepts them in time."""
        self._stopped.set()
        self._filled.set()
        self.thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._filled.wait()
            self._stopped.wait(_TOGETHER_SECONDS)
            self._filled.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        lines = []
        while self._waiting:
            lines.append(self._waiting.popleft())
        if not lines:
            return
        try:
            data = self._encode(lines)
            with _WRITING:
                self._write_all(data)
        except (OSError, ValueError):
            # The pipe has no reader, the disk is full, or the file was closed: the server goes on.
            self.dropped += len(lines)

    def _write_all(self, data: bytes) -> None:
        if self._file is None:
            self._stream.write(data.decode())
            self._stream.flush()
            return
        # Bypasses the stream and its lock: a thread that is blocked there would block all other
        # writers, and the end of the interpreter.
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]


def _file_of(stream: IO[str]) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
