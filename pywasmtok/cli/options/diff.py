"""The options of `diff`."""

from __future__ import annotations

from typing import Any

from ..common import source_options
from .parser import command

__all__ = ["add"]


def add(commands: Any) -> None:
    made = command(
        commands,
        "diff",
        "diff:run",
        "the smallest texts on which two tokenizers disagree",
        (
            "pywasmtok diff tokenizer.json tokenizer.json --budget 500",
            "pywasmtok diff tokenizer.json --against hf --budget 500 --text prompt.txt",
        ),
    )
    made.add_argument(
        "a", metavar="A", help="path, folder, name, hf:PATH, transformers:PATH; -: standard input"
    )
    made.add_argument("b", metavar="B", nargs="?", help="the same; or give --against")
    made.add_argument(
        "--against", choices=("transformers", "hf"), help="compare A with A in that library"
    )
    made.add_argument(
        "--by", choices=("ids", "pieces"), default="ids", help="what has to be equal; default: ids"
    )
    made.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the random texts; default: 0"
    )
    made.add_argument(
        "--budget", type=int, default=20_000, metavar="TEXTS", help="to try; default: 20000"
    )
    made.add_argument(
        "--text",
        metavar="FILE",
        action="append",
        help="try the lines of this text first; -: standard input; may be repeated",
    )
    source_options(made)
