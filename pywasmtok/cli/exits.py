"""Exit codes of all commands, and errors as text or JSON on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, Final

from ..errors import (
    BackendFailure,
    BackendUnavailable,
    HostError,
    InvalidArgument,
    LimitExceeded,
    TokenizerError,
)
from .common import STANDARD_INPUT, STDIN, json_text, one_line, shown_source

__all__ = ["Exit", "OperatingSystemError", "Usage", "code_of", "each", "report"]


# What hints of the library say, and what is meant on the command line.
_OPTIONS: Final = {
    "tok.set_chat_template(...) takes a template, its path, or a function that writes the text": (
        "--template takes a template or its file"
    ),
    'special="none" takes': "--special none takes",
    "add_special_tokens=False leaves out": "--no-special leaves out",
    "special_tokens.ids has those of the file": "`pywasmtok inspect` lists those of the file",
    "Encode and decode the text with errors='replace' first": "Replace it, such as by U+FFFD",
    "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace') replaces such halves": (
        "An argument is UTF-8"
    ),
}


class Exit(IntEnum):
    """docs/cli.md has the same table; a test compares both."""

    about: str

    def __new__(cls, code: int, about: str) -> Exit:
        made = int.__new__(cls, code)
        made._value_ = code
        made.about = about
        return made

    DONE = 0, "done"
    FOUND = 1, "done, with a finding: a difference, damage, a wrong answer, a failed check"
    WRONG = 2, "wrong usage, or a file or a text that is missing, invalid or not supported"
    LIMIT = 3, "a limit was passed: time, memory, size"
    MISSING = 4, "a package that the command needs is not installed"
    FAILED = 5, "a failure that the input does not explain"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    CLOSED = 141, "the reader of the output closed it early, as `head` does; no message"


class Usage(InvalidArgument):
    """What argparse reports. `usage` is the line that shows how a command is called."""

    kind = "usage"
    usage: str = ""


class OperatingSystemError(TokenizerError):
    """A call of the operating system failed that no file of the user explains: a full disk."""

    kind = "system"


def code_of(error: TokenizerError) -> Exit:
    if isinstance(error, LimitExceeded):
        return Exit.LIMIT
    if isinstance(error, BackendUnavailable):
        return Exit.MISSING
    from ..server.errors import StoreFailed

    failures = (HostError, BackendFailure, ConnectionError, StoreFailed, OperatingSystemError)
    return Exit.FAILED if isinstance(error, failures) else Exit.WRONG


def report(error: TokenizerError, as_json: bool) -> Exit:
    """Writes one line for the error, and with `as_json` one JSON object; the exit code."""
    code = code_of(error)
    if error.source is not None:
        error.source = shown_source(error.source)
    for call, option in _OPTIONS.items():
        error.hint = error.hint and error.hint.replace(call, option)
    if as_json:
        said = json_text({"error": _fields(error, code)}, sys.stderr)
    else:
        usage = error.usage if isinstance(error, Usage) else ""
        said = f"{usage}pywasmtok: {error.kind}: {one_line(str(error))}"
    # The code is the answer where standard error is full or closed.
    with suppress(OSError):
        print(said, file=sys.stderr)
    return code


def each(
    files: Sequence[str],
    work: Callable[[str], None],
    options: argparse.Namespace,
    *,
    titled: bool = False,
) -> Exit:
    """Does the work for each file. An error of one of several is reported, and the next one
    follows, as `cat` does it; the code is the highest. `titled`: each has a line with its name."""
    status = Exit.DONE
    for place, file in enumerate(files):
        try:
            if titled and len(files) > 1 and not options.json:
                name = STANDARD_INPUT if file == STDIN else one_line(file)
                print(f"{chr(10) if place else ''}==> {name} <==")
            work(file)
        except TokenizerError as error:
            if error.source is None:
                error.source = STANDARD_INPUT if file == STDIN else file
            if len(files) == 1:
                raise
            sys.stdout.flush()
            status = max(status, report(error, bool(options.json)))
    return status


def _fields(error: TokenizerError, code: Exit) -> dict[str, Any]:
    """The fields that the HTTP API has, the file, and the exit code."""
    found: dict[str, Any] = {"kind": error.kind, "message": error.message, "exit": int(code)}
    for name in (
        *("source", "path", "offset", "feature", "hint"),
        *("limit", "asked", "line", "column", "token"),
    ):
        value = getattr(error, name, None)
        if value is not None:
            found[name] = value
    return found
