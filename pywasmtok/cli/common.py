"""What several commands share: options, opening a tokenizer, reading a text, printing an answer."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, InvalidText, LoadError, SourceNotFound
from ..loading.choice import DECODERS, ENCODERS
from ..loading.factory import create_tokenizer
from ..loading.sources.source import GGUF_COMPAT
from .terminal import waiting, wrapped

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = [
    "DEMO",
    "about_source",
    "backend_options",
    "one_line",
    "open_tokenizer",
    "print_json",
    "print_tree",
    "read_input",
    "shown_value",
    "source_options",
]

DEMO = "builtin:demo"


def backend_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer", "-t", metavar="SOURCE", default=DEMO, help=f"path; default: {DEMO}"
    )
    parser.add_argument("--encoder", choices=ENCODERS)
    parser.add_argument("--decoder", choices=DECODERS)
    parser.add_argument("--build", help="portable, threads or baseline")
    source_options(parser)


def source_options(parser: argparse.ArgumentParser) -> None:
    """What a file does not say itself; docs/formats.md has each."""
    group = parser.add_argument_group("about the source")
    group.add_argument("--pattern", metavar="REGEX", help="for rank files: how text is cut")
    group.add_argument(
        "--special-token",
        metavar="TOKEN=ID",
        action="append",
        help="for rank files: a special token; may be repeated",
    )
    group.add_argument("--encoding", metavar="NAME", help="for rank files: settles both")
    group.add_argument("--gguf-compat", choices=GGUF_COMPAT, default=GGUF_COMPAT[0])
    group.add_argument(
        "--apply-config",
        nargs="?",
        const=True,
        default=False,
        choices=(True, "tokens"),
        help="add what transformers adds; `tokens`: added tokens alone",
    )
    group.add_argument("--model-map", metavar="FILE", help="names of models, as TOML")
    group.add_argument("--revision", help="of a repository of the hub")
    group.add_argument("--cache-dir", metavar="DIR", help="of the hub")
    group.add_argument("--offline", action="store_true", default=None, help="download nothing")


def about_source(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "pattern": options.pattern,
        "special_tokens": _special_tokens(options.special_token),
        "encoding": options.encoding,
        "gguf_compat": options.gguf_compat,
        "apply_config": options.apply_config,
        "model_map": options.model_map,
        "revision": options.revision,
        "cache_dir": options.cache_dir,
        "offline": options.offline,
    }


def _special_tokens(given: list[str] | None) -> dict[str, int] | None:
    if given is None:
        return None
    tokens = {}
    for item in given:
        token, _, number = item.rpartition("=")
        if not token or not number.isdecimal():
            raise InvalidArgument(f"--special-token wants TOKEN=ID, not {item!r}")
        tokens[token] = int(number)
    return tokens


def open_tokenizer(options: argparse.Namespace) -> Tokenizer:
    with waiting(f"loading {one_line(options.tokenizer)}"):
        return create_tokenizer(
            options.tokenizer,
            encoder=options.encoder,
            decoder=options.decoder,
            build=options.build,
            **about_source(options),
        )


def read_input(argument: str | None, file: str | None) -> str:
    """Text from the argument, a file or stdin; not a byte of it is changed."""
    if argument is not None:
        if file is not None:
            raise InvalidArgument("a text and --file at once")
        return argument
    if file is None:
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name = file
        try:
            with open(file, "rb") as stream:
                data = stream.read()
        except FileNotFoundError as error:
            raise SourceNotFound("no such file", source=file) from error
        except OSError as error:
            raise LoadError(f"cannot be read: {error.strerror}", source=file) from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidText(f"no UTF-8: {error.reason}", source=name, offset=error.start) from error


def print_json(answer: object) -> int:
    print(json.dumps(answer, ensure_ascii=False))
    return 0


def print_tree(value: dict[str, Any], indent: str = "") -> None:
    """On a terminal, long values go on below where they begin."""
    width = max((len(str(key)) for key in value), default=0) + 1
    fits = wrapped if sys.stdout.isatty() else lambda text, _: text
    for key, item in value.items():
        if item in (None, {}, [], ()):
            continue
        if isinstance(item, dict):
            print(f"{indent}{key}:")
            print_tree(item, indent + "  ")
        else:
            shown = fits(shown_value(item), len(indent) + width + 1)
            print(f"{indent}{key + ':':<{width}} {shown}")


def shown_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        shown = ", ".join(shown_value(item) for item in value[:12])
        return f"{shown}, ... ({len(value)} in all)" if len(value) > 12 else shown
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return one_line(value) if isinstance(value, str) else str(value)


def one_line(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
