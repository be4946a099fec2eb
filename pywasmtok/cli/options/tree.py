"""The parser of the whole command line."""

from __future__ import annotations

from typing import Any

from ... import __version__
from ...loading.writers import FORMATS
from ..common import DEMO, backend_options, source_options
from . import bench, chat, diff, server, shell
from .parser import Parser, command

__all__ = ["whole"]


def whole() -> Parser:
    """Every command with its options. It imports nothing that only running a command needs."""
    parser = Parser(prog="pywasmtok", description="An exact LLM tokenizer in WebAssembly.")
    parser.add_argument("--version", action="version", version=f"pywasmtok {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _encode(commands)
    _decode(commands)
    _count(commands)
    _truncate(commands)
    _inspect(commands)
    _convert(commands)
    diff.add(commands)
    chat.add(commands)
    _cache(commands)
    server.add(commands)
    bench.add(commands)
    shell.add(commands)
    return parser


def _encode(commands: Any) -> None:
    made = command(
        commands,
        "encode",
        "main:encode",
        "text to ids, tokens and the backend",
        (
            "pywasmtok encode 'Hello, world!' --offsets",
            "pywasmtok encode -f prompt.txt -t tokenizer.json --json",
            "cat prompt.txt | pywasmtok encode",
        ),
        colours=True,
    )
    made.add_argument("text", nargs="?", help="else --file, else standard input, verbatim")
    _files(made, "the text")
    made.add_argument("--pair", metavar="TEXT", help="a second text, encoded as a pair")
    made.add_argument("--no-special", action="store_true", help="add no special tokens")
    made.add_argument("--offsets", action="store_true", help="also the place of each token")
    made.add_argument(
        "--special",
        metavar="all|none|raise|NAME,...",
        default="all",
        help="names of special tokens in the text: their ids, text like any other, an error, or "
        "ids for these names alone",
    )
    backend_options(made)


def _decode(commands: Any) -> None:
    made = command(
        commands,
        "decode",
        "main:decode",
        "ids to text",
        ("pywasmtok decode 259 275", "pywasmtok decode -f ids.json"),
    )
    made.add_argument("ids", nargs="*", help="numbers, also separated by commas, or a JSON list")
    _files(made, "the ids")
    made.add_argument("--keep-special", action="store_true", help="keep special tokens")
    made.add_argument(
        "--unknown-id",
        choices=("skip", "error", "replace"),
        help="what becomes of ids that the tokenizer does not have",
    )
    backend_options(made)


def _files(made: Parser, what: str) -> None:
    made.add_argument(
        "--file",
        "-f",
        metavar="FILE",
        action="append",
        help=f"read {what} from a file; -: standard input; may be repeated",
    )


def _count(commands: Any) -> None:
    made = command(
        commands,
        "count",
        "lengths:count",
        "how many ids files have",
        ("pywasmtok count prompt.txt ids.json", "cat prompt.txt | pywasmtok count"),
    )
    made.add_argument("files", nargs="*", metavar="FILE", help="default: -, standard input")
    made.add_argument("--no-special", action="store_true", help="add no special tokens")
    backend_options(made)


def _truncate(commands: Any) -> None:
    made = command(
        commands,
        "truncate",
        "lengths:truncate",
        "the part of a text that has N ids",
        (
            "pywasmtok truncate 4096 -f prompt.txt",
            "cat prompt.txt | pywasmtok truncate 100 --side left",
        ),
    )
    made.add_argument("tokens", type=int, metavar="N", help="the most ids that the text may have")
    _files(made, "the text")
    made.add_argument(
        "--side", choices=("right", "left"), default="right", help="where the text is cut off"
    )
    made.add_argument("--no-special", action="store_true", help="count no special tokens")
    backend_options(made)


def _inspect(commands: Any) -> None:
    made = command(
        commands,
        "inspect",
        "main:inspect",
        "what a tokenizer file holds",
        ("pywasmtok inspect", "pywasmtok inspect tokenizer.json other.json --json"),
    )
    made.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help=f"paths, folders, names, or -: standard input; default: {DEMO}",
    )
    source_options(made)


def _convert(commands: Any) -> None:
    made = command(
        commands,
        "convert",
        "main:convert",
        "a tokenizer as a file of another format",
        (
            "pywasmtok convert tokenizer.json out.gguf",
            "cat tokenizer.json | pywasmtok convert - out.json",
        ),
    )
    made.add_argument("source", metavar="IN", help="path, folder or name; -: standard input")
    made.add_argument("out", metavar="OUT", help="the file to write, or a folder for it")
    made.add_argument(
        "--to",
        choices=FORMATS,
        help="the format; default: that of the ending of OUT, else json",
    )
    source_options(made)


def _cache(commands: Any) -> None:
    made = command(
        commands,
        "cache",
        "main:cache",
        "what is kept for later processes",
        ("pywasmtok cache list", "pywasmtok cache verify --json"),
    )
    made.add_argument(
        "action",
        choices=("list", "clear", "verify"),
        help="list: what there is; clear: remove all of it; verify: compare all checksums",
    )
