"""The commands `count` and `truncate`."""

from __future__ import annotations

import argparse
import sys

from .common import one_line, open_tokenizer, print_json, read_input
from .terminal import waiting

__all__ = ["count", "count_options", "truncate", "truncate_options"]

_STDIN = "-"


def count_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="default: -, standard input")
    parser.add_argument("--no-special", action="store_true", help="add no special tokens")


def count(options: argparse.Namespace) -> int:
    """A line for each file, and the total of several."""
    counts: list[tuple[str, int]] = []
    with open_tokenizer(options) as tokenizer:
        for file in options.files or [_STDIN]:
            text = read_input(None, None if file == _STDIN else file)
            with waiting(f"counting {one_line(file)}"):
                counts.append((file, tokenizer.count(text, not options.no_special)))
            if not options.json:
                print(f"{counts[-1][1]:>9} {one_line(file)}", flush=True)
    total = sum(number for _, number in counts)
    if options.json:
        files = [{"file": file, "tokens": number} for file, number in counts]
        return print_json({"files": files, "total": total})
    if len(counts) > 1:
        print(f"{total:>9} total")
    return 0


def truncate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokens", type=int, metavar="N", help="the most ids that the text may have")
    parser.add_argument("--file", "-f", metavar="PATH", help="else standard input")
    parser.add_argument(
        "--side", choices=("right", "left"), default="right", help="where the text is cut off"
    )
    parser.add_argument("--no-special", action="store_true", help="count no special tokens")


def truncate(options: argparse.Namespace) -> int:
    """Prints the text that is kept, without a line end of its own."""
    text = read_input(None, options.file)
    with open_tokenizer(options) as tokenizer, waiting("truncating"):
        kept = tokenizer.truncate(text, options.tokens, options.side, not options.no_special)
    if options.json:
        return print_json({"text": kept.text, "tokens": len(kept.encoding)})
    sys.stdout.write(kept.text)
    return 0
