"""The command `pywasmtok diff`: where two tokenizers disagree."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, TokenizerError
from .common import about_source, one_line, print_json, read_input, source_options
from .terminal import waiting

if TYPE_CHECKING:
    from ..diff.search import Difference

__all__ = ["add_diff"]

_ABOUT = "the smallest texts on which two tokenizers disagree"


def add_diff(command: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    made = command(commands, "diff", _diff, _ABOUT)
    made.epilog = "Exit status: 0: no difference found; 1: they differ; 2: an error."
    made.add_argument("a", metavar="A", help="path, folder, name, hf:PATH or transformers:PATH")
    made.add_argument("b", metavar="B", nargs="?", help="the same; or give --against")
    made.add_argument(
        "--against", choices=("transformers", "hf"), help="compare A with A in that library"
    )
    made.add_argument(
        "--by", choices=("ids", "pieces"), default="ids", help="what has to be equal; default: ids"
    )
    made.add_argument("--seed", type=int, default=0, help="of the random texts; default: 0")
    made.add_argument(
        "--budget", type=int, default=20_000, metavar="TEXTS", help="to try; default: 20000"
    )
    made.add_argument("--text", metavar="FILE", help="try the lines of this text first")
    source_options(made)


def _diff(options: argparse.Namespace) -> int:
    """0: the same; 1: different; 2: an error."""
    from ..diff.search import diff

    try:
        if (options.b is None) == (options.against is None):
            raise InvalidArgument("give either B or --against")
        text = "" if options.text is None else read_input(None, options.text)
        with waiting("comparing texts", options.budget) as progress:
            found = diff(
                options.a,
                options.b or f"{options.against}:{options.a}",
                by=options.by,
                seed=options.seed,
                budget=options.budget,
                text=text,
                about_a=about_source(options),
                about_b=about_source(options),
                progress=progress.at,
            )
    except TokenizerError as error:
        print(f"pywasmtok: {error.kind}: {one_line(str(error))}", file=sys.stderr)
        return 2
    if options.json:
        print_json(found.as_dict())
    else:
        _print(found)
    return 0 if found.same else 1


def _print(found: Difference) -> None:
    print(f"A: {one_line(found.a)}\nB: {one_line(found.b)}")
    if found.rules is None:
        print("rules: not compared, a definition cannot be had")
    else:
        differing = [
            f"{name} ({count:,})" if count is not True else name
            for name, count in found.rules.items()
            if count
        ]
        print(f"rules that differ: {', '.join(differing) or 'none'}")
    for group in found.groups:
        print(f"\n{group.cause}: {group.texts:,} texts")
        for example in group.examples:
            print(f"  text {json.dumps(example.text, ensure_ascii=False)}")
            for side, shown in (("A", example.a), ("B", example.b)):
                for name, value in shown.items():
                    print(f"    {side} {name}: {json.dumps(value, ensure_ascii=False)}")
    verdict = "no difference found" if found.same else "they differ"
    print(f"\n{verdict}: {found.texts:,} texts tried, by {found.by}, seed {found.seed}")
