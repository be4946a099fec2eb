"""The command `pywasmtok diff`: where two tokenizers disagree."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from .common import (
    about_source,
    json_text,
    one_line,
    print_json,
    read_input,
    shown_source,
    source_file,
)
from .exits import Exit
from .terminal import waiting

if TYPE_CHECKING:
    from ..diff.search import Difference

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    from ..diff.search import diff

    if (options.b is None) == (options.against is None):
        raise InvalidArgument("give either B or --against")
    a = source_file(options.a)
    b = f"{options.against}:{a}" if options.b is None else source_file(options.b)
    text = "\n".join(read_input(file) for file in options.text or ())
    with waiting("comparing texts", options.budget) as progress:
        found = diff(
            a,
            b,
            by=options.by,
            seed=options.seed,
            budget=options.budget,
            text=text,
            about_a=_about(a, options),
            about_b=_about(b, options),
            progress=progress.at,
        )
    found = replace(found, a=_shown(found.a), b=_shown(found.b))
    if options.json:
        print_json(found.as_dict())
    else:
        _print(found)
    return Exit.DONE if found.same else Exit.FOUND


def _about(source: str, options: argparse.Namespace) -> dict[str, Any]:
    """Beside a source of transformers, how a file is read holds for the other side alone."""
    about = about_source(options)
    if options.against is None and source.startswith("transformers:"):
        return {name: about[name] for name in ("revision", "cache_dir", "offline")}
    return about


def _shown(name: str) -> str:
    """The name of a side, which may begin with a library."""
    library, colon, path = name.partition(":")
    return library + colon + shown_source(path) if path else shown_source(name)


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
            print(f"  text {json_text(example.text)}")
            for side, shown in (("A", example.a), ("B", example.b)):
                for name, value in shown.items():
                    print(f"    {side} {name}: {json_text(value)}")
    verdict = "no difference found" if found.same else "they differ"
    print(f"\n{verdict}: {found.texts:,} texts tried, by {found.by}, seed {found.seed}")
