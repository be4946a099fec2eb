"""What all parsers have in common: examples in the help, and errors as exceptions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ..exits import Usage
from ..terminal import COLOURS

__all__ = ["Parser", "command", "group", "path"]


class Parser(argparse.ArgumentParser):
    """`run` names the function that does the work: `module:function`, below `pywasmtok.cli`."""

    examples: Sequence[str] = ()
    run: str = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Unknown options are reported by the command that they are given to, with its usage."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        """Errors of writing are for `main`; argparse ignores them."""
        print(message, end="", file=file or sys.stderr)

    def error(self, message: str) -> NoReturn:
        error = Usage(message, hint=f"{self.prog} --help shows the options")
        error.usage = self.format_usage()
        raise error


def command(
    commands: Any,
    name: str,
    run: str,
    text: str,
    examples: Sequence[str],
    *,
    about: str | None = None,
    json: bool = True,
    colours: bool = False,
) -> Parser:
    """A command with the function that runs it. `about` is the longer text of its own help."""
    made: Parser = commands.add_parser(
        name,
        help=text,
        description=about or text,
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.run, made.examples = run, examples
    if json:
        made.add_argument("--json", action="store_true", help="answer with JSON")
    if colours:
        made.add_argument(
            "--color",
            choices=COLOURS,
            default="auto",
            help="default: as the terminal and NO_COLOR say",
        )
    return made


def group(commands: Any, name: str, text: str, metavar: str = "COMMAND") -> Any:
    """A command that only has further commands."""
    made: Parser = commands.add_parser(name, help=text, description=text)
    return made.add_subparsers(metavar=metavar, required=True)


def path(given: str) -> str:
    """The type of an option. An empty path is the working directory, and mostly a variable of a
    shell that is not set."""
    if not given:
        raise argparse.ArgumentTypeError("an empty path")
    return given
