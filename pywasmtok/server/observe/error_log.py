"""The log of errors: a thread writes what loggers say, as it does for the access log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from .line_writer import LineWriter

__all__ = ["error_log"]


@contextmanager
def error_log(stream: IO[str]) -> Iterator[None]:
    """Of all loggers without a handler, also those of asyncio and uvicorn."""
    before, handler = logging.lastResort, _Handler(stream)
    logging.lastResort = handler
    try:
        yield
    finally:
        logging.lastResort = before
        handler.lines.close()


class _Handler(logging.Handler):
    def __init__(self, stream: IO[str]) -> None:
        # As Python's own.
        super().__init__(logging.WARNING)
        self.lines = LineWriter(stream, _encoded, "pywasmtok-error-log")

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.lines.write(self.format(record))
        except Exception:
            # An argument that cannot be shown: the line counts as dropped.
            self.lines.dropped += 1


def _encoded(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
