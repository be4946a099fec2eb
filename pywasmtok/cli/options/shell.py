"""The options of `doctor`, `conformance` and `completion`."""

from __future__ import annotations

from typing import Any

from .parser import command

__all__ = ["SHELLS", "add"]

SHELLS = ("bash", "zsh", "fish")


def add(commands: Any) -> None:
    command(
        commands,
        "doctor",
        "doctor:run",
        "versions, builds, cache, and whether all of it works",
        ("pywasmtok doctor", "pywasmtok doctor --json"),
    )
    made = command(
        commands,
        "conformance",
        "conformance:run",
        "the conformance suite against this package",
        ("pywasmtok conformance --level must --cases 'encode/rwkv*'",),
        about="Runs the conformance suite against this package. Its runner, tokconf, is a package "
        "of its own.",
    )
    made.add_argument(
        "--suite", metavar="FOLDER", help="the folder of the suite; default: found as tokconf does"
    )
    made.add_argument(
        "--build",
        choices=("portable", "threads", "baseline", "all"),
        default="portable",
        help="the build of the core; default: portable",
    )
    made.add_argument(
        "--cases", metavar="PATTERN", action="append", help="cases to play; may be repeated"
    )
    made.add_argument(
        "--level",
        action="append",
        choices=("must", "should", "may"),
        help="cases of this level; may be repeated",
    )
    made.add_argument("--jobs", "-j", type=int, metavar="N", help="processes at once")
    made.add_argument("--out", metavar="FOLDER", help="where results and reports are written")
    made = command(
        commands,
        "completion",
        "completion.script:run",
        "a script that completes commands and options in a shell",
        (
            "pywasmtok completion bash",
            "pywasmtok completion zsh",
            "pywasmtok completion fish",
        ),
        about="Prints a script for a shell. docs/cli.md says where each shell reads it from.",
        json=False,
    )
    made.add_argument("shell", choices=SHELLS)
