"""The commands `count` and `truncate`."""

from __future__ import annotations

import argparse
import sys

from .common import STDIN, one_line, open_tokenizer, print_json, read_input
from .exits import each
from .terminal import waiting

__all__ = ["count", "truncate"]


def count(options: argparse.Namespace) -> int:
    """A line for each file, and the total of several."""
    counts: list[tuple[str, int]] = []
    with open_tokenizer(options) as tokenizer:

        def one(file: str) -> None:
            text = read_input(file)
            with waiting(f"counting {one_line(file)}"):
                counts.append((file, tokenizer.count(text, not options.no_special)))
            if not options.json:
                print(f"{counts[-1][1]:>9} {one_line(file)}", flush=True)

        files = options.files or [STDIN]
        status = each(files, one, options)
    total = sum(number for _, number in counts)
    if options.json:
        found = [{"file": file, "tokens": number} for file, number in counts]
        print_json({"files": found, "total": total})
    elif len(files) > 1:
        print(f"{total:>9} total")
    return status


def truncate(options: argparse.Namespace) -> int:
    """Prints the text that is kept, without a line end of its own."""
    with open_tokenizer(options) as tokenizer:

        def one(file: str) -> None:
            text = read_input(file)
            special = not options.no_special
            with waiting("truncating"):
                kept = tokenizer.truncate(text, options.tokens, options.side, special)
            if options.json:
                print_json({"file": file, "text": kept.text, "tokens": len(kept.encoding)})
            else:
                sys.stdout.write(kept.text)

        return each(options.file or [STDIN], one, options, titled=True)
