"""The options of `bench`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from ...bench.names import BUILDS, CORPORA, GENERATED, GROUPS
from ..common import DEMO
from .parser import command

__all__ = ["add", "listed"]


def add(commands: Any) -> None:
    made = command(
        commands,
        "bench",
        "bench:run_command",
        "measures this package beside other libraries, where they are installed",
        (
            "pywasmtok bench --quick --groups encode --only portable --json now.json",
            "pywasmtok bench --show now.json",
            "pywasmtok bench --compare now.json now.json",
        ),
        json=False,
    )
    made.epilog = f"{made.epilog}\n\ngroups:\n" + "\n".join(
        f"  {name:<21} {about}" for name, about in GROUPS.items()
    )
    add = made.add_argument
    add(
        "--tokenizer",
        "-t",
        action="append",
        metavar="SOURCE",
        help=f"path, folder or name; may be repeated; default: {DEMO}",
    )
    add(
        "--templates",
        action="append",
        default=[],
        metavar="PATH",
        help="a chat template, or a folder of *.jinja; may be repeated; default: an own one",
    )
    add("--groups", type=_names(GROUPS), default=list(GROUPS), metavar="A,B", help="default: all")
    add(
        "--corpora",
        type=_names(CORPORA),
        metavar="A,B",
        help=f"generated text: {', '.join(CORPORA)}",
    )
    add(
        "--text",
        type=_text,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="text that people wrote, a kind each: FILE or KIND=FILE, also a folder; "
        "in place of generated text",
    )
    add("--sizes", type=_numbers, metavar="N,M", help="lengths of texts in bytes")
    add("--threads", type=_numbers, metavar="N,M", help="numbers of threads")
    add(
        "--builds",
        type=_names(BUILDS, may_be_none=True),
        default=["portable"],
        metavar="A,B",
        help="of ours; '' for peers only",
    )
    add(
        "--only",
        type=listed,
        default=[],
        metavar="A,B",
        help="libraries to run, such as portable,twin,hf",
    )
    add("--rounds", type=_count, metavar="N", help="measurements behind each median")
    add("--seed", type=int, default=1, metavar="N", help="of the texts")
    add("--quick", action="store_true", help="small and few: does it work? No measurement")
    add(
        "--json",
        nargs="?",
        const=True,
        metavar="FILE",
        help="answer with JSON; with FILE: write the record there, beside the tables",
    )
    add("--resume", action="store_true", help="goes on with the record of --json, group by group")
    add("--markdown", metavar="FILE", help="writes the tables")
    add("--plots", metavar="FOLDER", help="writes plots as SVG")
    add("--show", metavar="FILE", help="runs nothing: shows the record of an earlier run")
    add(
        "--compare",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="runs nothing: what changed between two records",
    )


def listed(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _names(known: Collection[str], *, may_be_none: bool = False) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = listed(text)
        if not names and not may_be_none:
            raise argparse.ArgumentTypeError(f"none is named; there are {', '.join(known)}")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
        return names

    return parse


def _text(text: str) -> tuple[str, Path]:
    kind, _, path = text.rpartition("=")
    kind = kind or Path(path).name.partition(".")[0]
    if not Path(path).exists() or kind.startswith(GENERATED):
        raise argparse.ArgumentTypeError(f"no FILE or KIND=FILE, nor a folder: {text!r}")
    return kind, Path(path)


def _count(text: str) -> int:
    (number, *others) = _numbers(text)
    if others:
        raise argparse.ArgumentTypeError(f"one number: {text!r}")
    return number


def _numbers(text: str) -> list[int]:
    numbers = [int(number) for number in listed(text)]
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"no numbers from 1 on: {text!r}")
    return numbers
