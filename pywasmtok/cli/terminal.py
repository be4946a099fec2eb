"""What a terminal can show: colours, widths of characters, tables, and progress on stderr.

Without a terminal nothing of it is used: what goes into a pipe is plain text.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self, TextIO

__all__ = [
    "COLOURS",
    "Progress",
    "clipped",
    "colours",
    "columns",
    "is_dumb",
    "padded",
    "painted",
    "visible",
    "waiting",
    "width_of",
    "wrapped",
]

COLOURS: Final = ("auto", "always", "never")

_RESET: Final = "\x1b[0m"
_SHOWN_AS: Final = {"\n": "⏎", "\r": "␍", "\t": "⇥", " ": "·"}
# Progress appears after so many seconds, and changes at most so often.
_PATIENCE: Final = 1.0
_BETWEEN: Final = 0.1
_BAR: Final = 24


def colours(wanted: str, stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours: as `--color` says, else NO_COLOR, FORCE_COLOR, and the terminal."""
    if wanted != "auto":
        return wanted == "always"
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return stream.isatty() and not is_dumb(environment)


def is_dumb(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal has no colours, and cannot go back in a line: on Windows, consoles that
    do not say that they can."""
    if os.name == "nt" and not environment.keys() & {"WT_SESSION", "ANSICON", "TERM"}:
        return True
    return environment.get("TERM") == "dumb"


def columns() -> int:
    """How wide the terminal is; COLUMNS says it where there is none."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)


def painted(text: str, *codes: int) -> str:
    return f"\x1b[{';'.join(map(str, codes))}m{text}{_RESET}"


def width_of(text: str) -> int:
    """How many columns a text takes; as East Asian Width has it, and none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def visible(text: str, spaces: bool = True) -> str:
    """A text in which each character can be seen: symbols for white space, numbers for what has no
    form of its own, and for bytes that are no UTF-8 (as `surrogateescape` has them)."""
    if text.isascii() and text.isprintable() and not (spaces and " " in text):
        return text
    return "".join(one if one == " " and not spaces else _visible(one) for one in text)


def _visible(character: str) -> str:
    shown = _SHOWN_AS.get(character)
    if shown is not None:
        return shown
    if "\udc80" <= character <= "\udcff":
        return f"<{ord(character) - 0xDC00:02X}>"
    if character.isprintable() and (_width(character) or unicodedata.combining(character)):
        return character
    return f"<U+{ord(character):04X}>"


def clipped(text: str, width: int) -> str:
    """The beginning of a text that is too wide."""
    if width_of(text) <= width:
        return text
    while width_of(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def wrapped(text: str, indent: int) -> str:
    """The text in lines that fit the terminal, all but the first behind `indent` spaces."""
    lines, used = [""], 0
    for word in text.split(" "):
        size = width_of(word)
        if used and indent + used + 1 + size > columns():
            lines.append(word)
            used = size
        else:
            lines[-1] += f" {word}" if used else word
            used += size + bool(used)
    return f"\n{' ' * indent}".join(lines)


class Progress:
    """One line on stderr that says how far something is. It appears after a second, on a terminal
    alone, and goes when the work is done."""

    def __init__(self, label: str, total: int | None = None, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.shows = self._stream.isatty() and not is_dumb()
        self.label, self._total, self._done = label, total, 0
        self._began = time.monotonic()
        self._drawn = 0.0
        self._lock = threading.RLock()
        self._on_screen = False

    def at(self, done: int) -> None:
        """So much is done: called as often as the work likes."""
        self._done = done
        self.draw()

    def draw(self) -> None:
        now = time.monotonic()
        if self.shows and now - self._began >= _PATIENCE and now - self._drawn >= _BETWEEN:
            with self._lock:
                self._drawn, self._on_screen = now, True
                self._stream.write(f"\r\x1b[K{self._line(now - self._began)}")
                self._stream.flush()

    def erase(self) -> None:
        """Makes room for a line that stays."""
        with self._lock:
            if self._on_screen:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
            self._on_screen = False

    def say(self, text: str) -> None:
        """A line that stays, also where there is no terminal; and the label from now on."""
        with self._lock:
            self.erase()
            print(text, file=self._stream, flush=True)
            self.label = text.strip()

    def _line(self, seconds: float) -> str:
        line = f"{self.label}, {seconds:.0f} s"
        if self._total:
            part = min(self._done / self._total, 1.0)
            full = int(part * _BAR)
            line = f"[{'#' * full}{'.' * (_BAR - full)}] {part:4.0%} {line}"
        # A line that wraps could not be removed.
        return clipped(line, columns() - 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()


@contextmanager
def waiting(label: str, total: int | None = None) -> Iterator[Progress]:
    """Progress of calls that say nothing until they are done, such as compiling: a thread draws it,
    where there is a terminal. What the package logs of compiling becomes the label."""
    with Progress(label, total) as progress:
        if not progress.shows:
            yield progress
            return
        done = threading.Event()

        def draw() -> None:
            while not done.wait(_PATIENCE):
                progress.draw()

        thread = threading.Thread(target=draw, name="progress", daemon=True)
        thread.start()
        try:
            with _compiling(progress):
                yield progress
        finally:
            done.set()
            thread.join()


@contextmanager
def _compiling(progress: Progress) -> Iterator[None]:
    logger = logging.getLogger("pywasmtok")
    level, usual = logger.level, logger.getEffectiveLevel()

    def look(record: logging.LogRecord) -> bool:
        if record.levelno >= usual:
            progress.erase()
            return True
        if record.msg.startswith("compiling"):
            progress.label = record.getMessage()
        return False

    logger.addFilter(look)
    logger.setLevel(min(usual, logging.INFO))
    try:
        yield
    finally:
        logger.removeFilter(look)
        logger.setLevel(level)
