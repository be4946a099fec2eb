"""What several commands share: options, opening a tokenizer, reading a text, printing an answer."""

from __future__ import annotations

import argparse
import codecs
import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from ..errors import InvalidArgument, InvalidText, LoadError, SourceNotFound
from ..loading.choice import DECODERS, ENCODERS
from ..loading.factory import create_tokenizer
from ..loading.sources.source import GGUF_COMPAT
from .terminal import waiting, wrapped

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = [
    "DEMO",
    "STDIN",
    "about_source",
    "backend_options",
    "drop",
    "forget_stdin",
    "json_text",
    "one_line",
    "open_tokenizer",
    "print_json",
    "print_tree",
    "read_input",
    "shown_source",
    "shown_value",
    "source_file",
    "source_options",
]

DEMO = "builtin:demo"
STDIN = "-"
STANDARD_INPUT = "standard input"


class _Stdin:
    """Standard input can be read once. A tokenizer in it gets a file, as a folder of its own."""

    taken = False
    folder: str | None = None


def forget_stdin() -> None:
    """Standard input counts as unread, and its copy is removed."""
    if _Stdin.folder is not None:
        shutil.rmtree(_Stdin.folder, ignore_errors=True)
    _Stdin.folder, _Stdin.taken = None, False


def _take_stdin() -> BinaryIO:
    if _Stdin.taken:
        raise InvalidArgument(
            "standard input is asked for twice", hint="Name a file in one of the places"
        )
    # The type says that there is one; it was closed if not.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise InvalidArgument("standard input is closed", hint="Name a file, or give the text")
    _Stdin.taken = True
    return stream.buffer


def source_file(given: str) -> str:
    """The path of what is read as a file: `-` is a copy of standard input."""
    if given != STDIN:
        return given
    import tempfile

    stream = _take_stdin()
    _Stdin.folder = tempfile.mkdtemp(prefix="pywasmtok-")
    path = Path(_Stdin.folder, "stdin")
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return str(path)


def shown_source(name: str) -> str:
    """The name of a source for messages and answers."""
    of_stdin = _Stdin.folder is not None and name == str(Path(_Stdin.folder, "stdin"))
    return STANDARD_INPUT if of_stdin else name


def backend_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer",
        "-t",
        metavar="SOURCE",
        default=DEMO,
        help=f"path, folder, name, or -: standard input; default: {DEMO}",
    )
    parser.add_argument("--encoder", choices=ENCODERS, help="the backend that encodes")
    parser.add_argument("--decoder", choices=DECODERS, help="the backend that decodes")
    parser.add_argument("--build", metavar="NAME", help="portable, threads or baseline")
    source_options(parser)


def source_options(parser: argparse.ArgumentParser) -> None:
    """What a file does not say itself, and where it is; docs/formats.md has each."""
    group = reading_options(parser)
    group.add_argument("--model-map", metavar="FILE", help="names of models, as TOML")
    group.add_argument("--revision", metavar="NAME", help="of a repository of the hub")
    group.add_argument("--cache-dir", metavar="DIR", help="of the hub")
    group.add_argument("--offline", action="store_true", default=None, help="download nothing")


def reading_options(parser: argparse.ArgumentParser) -> Any:
    group = parser.add_argument_group("about the source")
    group.add_argument("--pattern", metavar="REGEX", help="for rank files: how text is cut")
    group.add_argument(
        "--special-token",
        metavar="TOKEN=ID",
        action="append",
        help="for rank files: a special token; may be repeated",
    )
    group.add_argument("--encoding", metavar="NAME", help="for rank files: settles both")
    group.add_argument(
        "--gguf-compat",
        choices=GGUF_COMPAT,
        default=GGUF_COMPAT[0],
        help="for GGUF files: whose answers to give",
    )
    group.add_argument(
        "--apply-config",
        nargs="?",
        const=True,
        default=False,
        choices=("tokens",),
        help="add what transformers adds; `tokens`: added tokens alone",
    )
    return group


def how_to_read(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "pattern": options.pattern,
        "special_tokens": _special_tokens(options.special_token),
        "encoding": options.encoding,
        "gguf_compat": options.gguf_compat,
        "apply_config": options.apply_config,
    }


def about_source(options: argparse.Namespace) -> dict[str, Any]:
    return {
        **how_to_read(options),
        "model_map": options.model_map,
        "revision": options.revision,
        "cache_dir": options.cache_dir,
        "offline": options.offline,
    }


# Of the largest id, a u32.
_MOST_DIGITS = 10


def _special_tokens(given: list[str] | None) -> dict[str, int] | None:
    if given is None:
        return None
    tokens = {}
    for item in given:
        token, _, number = item.rpartition("=")
        if not token or not number.isdecimal() or len(number) > _MOST_DIGITS:
            raise InvalidArgument(f"--special-token wants TOKEN=ID, not {item!r}")
        tokens[token] = int(number)
    return tokens


def open_tokenizer(options: argparse.Namespace) -> Tokenizer:
    source = source_file(options.tokenizer)
    with waiting(f"loading {one_line(shown_source(source))}"):
        return create_tokenizer(
            source,
            encoder=options.encoder,
            decoder=options.decoder,
            build=options.build,
            **about_source(options),
        )


def read_input(file: str) -> str:
    """Text from a file or standard input (`-`); not a byte of it is changed."""
    if file == STDIN:
        name, data = STANDARD_INPUT, _take_stdin().read()
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


def json_text(value: object, stream: TextIO | None = None) -> str:
    """For a stream; None: standard output. One that is not UTF-8 gets ASCII: with the escapes that
    it has for other characters (`main.main`) the text would be no JSON."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    ascii_only = codecs.lookup(encoding).name != "utf-8"
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)


def drop(stream: TextIO) -> None:
    """What is buffered cannot be written, and Python would complain when it closes the stream."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(answer: object) -> int:
    print(json_text(answer))
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
