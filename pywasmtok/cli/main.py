"""The command `pywasmtok`: encode, decode, chat, serve, bench and the others."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from .. import __version__
from ..errors import InvalidArgument, TokenizerError
from ..loading.info import TokenizerInfo, get_tokenizer_info
from ..loading.writers import FORMATS, convert_tokenizer
from ..tokenizer.special.tokens import ROLES
from . import lengths
from .common import (
    DEMO,
    about_source,
    backend_options,
    one_line,
    open_tokenizer,
    print_json,
    print_tree,
    read_input,
    source_options,
)
from .diff import add_diff
from .encoded import show
from .terminal import COLOURS, waiting

__all__ = ["main"]

SERVER_COMMANDS = {
    "serve": "a tokenizer server that many tenants share; see serve --help",
    "tenants": "tenants of a server and their keys; see tenants --help",
    "tokenizers": "tokenizers of a server; see tokenizers --help",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. 0: done; 1: an error, one line on stderr; 2: wrong usage."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A token may hold anything; a terminal that cannot show it is no reason to fail.
            reconfigure(errors="backslashreplace")
    try:
        options = _options(given)
        status: int = _bench(given[1:]) if options is None else options.run(options)
        sys.stdout.flush()
    except TokenizerError as error:
        print(f"pywasmtok: {error.kind}: {one_line(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has left. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _options(given: list[str]) -> argparse.Namespace | None:
    """The options of `bench`, `chat` and the server are their own, and made only when they are
    asked for."""
    if given[:1] == ["bench"]:
        return None
    if given[:1] == ["chat"]:
        from .chat import parser

        return parser().parse_args(given[1:])
    if given and given[0] in SERVER_COMMANDS:
        from .serve import parser as server_parser

        made = server_parser(given[0])
        if given[0] != "serve":
            from .store import options as store_options

            store_options(made, given[0])
        return made.parse_args(given[1:])
    return _parser().parse_args(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pywasmtok", description="An exact LLM tokenizer in WebAssembly."
    )
    parser.add_argument("--version", action="version", version=f"pywasmtok {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    encode = _command(commands, "encode", _encode, "text to ids, tokens and the backend")
    encode.add_argument("text", nargs="?", help="else --file, else standard input, verbatim")
    encode.add_argument("--file", "-f", metavar="PATH", help="read the text from a file")
    encode.add_argument("--pair", metavar="TEXT", help="a second text, encoded as a pair")
    encode.add_argument("--no-special", action="store_true", help="add no special tokens")
    encode.add_argument("--offsets", action="store_true", help="also the place of each token")
    encode.add_argument(
        "--special",
        metavar="all|none|raise|NAME,...",
        default="all",
        help="names of special tokens in the text: their ids, text like any other, an error, or "
        "ids for these names alone",
    )
    encode.add_argument(
        "--color", choices=COLOURS, default="auto", help="default: as the terminal and NO_COLOR say"
    )
    backend_options(encode)

    decode = _command(commands, "decode", _decode, "ids to text")
    decode.add_argument("ids", nargs="*", help="numbers, also separated by commas, or a JSON list")
    decode.add_argument("--file", "-f", metavar="PATH", help="read the ids from a file")
    decode.add_argument("--keep-special", action="store_true", help="keep special tokens")
    decode.add_argument("--unknown-id", choices=("skip", "error", "replace"))
    backend_options(decode)

    counted = _command(commands, "count", lengths.count, "how many ids files have")
    lengths.count_options(counted)
    backend_options(counted)

    cut = _command(commands, "truncate", lengths.truncate, "the part of a text that has N ids")
    lengths.truncate_options(cut)
    backend_options(cut)

    inspect = _command(commands, "inspect", _inspect, "what a tokenizer file holds")
    inspect.add_argument("source", nargs="?", default=DEMO, help=f"default: {DEMO}")
    source_options(inspect)

    convert = _command(commands, "convert", _convert, "a tokenizer as a file of another format")
    convert.add_argument("source", metavar="IN", help="path, folder or name")
    convert.add_argument("out", metavar="OUT", help="the file to write, or a folder for it")
    convert.add_argument(
        "--to",
        choices=FORMATS,
        help="the format; default: that of the ending of OUT, else json",
    )
    source_options(convert)

    add_diff(_command, commands)

    cache = _command(commands, "cache", _cache, "what is kept for later processes")
    cache.add_argument(
        "action",
        choices=("list", "clear", "verify"),
        help="list: what there is; clear: remove all of it; verify: compare all checksums",
    )

    commands.add_parser("chat", help="conversations as text or ids; see chat --help")
    for command, help_text in SERVER_COMMANDS.items():
        commands.add_parser(command, help=help_text)
    commands.add_parser("bench", help="measures this package beside others; see bench --help")
    _command(commands, "doctor", _doctor, "versions, builds, cache, and whether all of it works")
    return parser


def _command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="answer with one JSON object")
    return parser


def _encode(options: argparse.Namespace) -> int:
    text = read_input(options.text, options.file)
    with open_tokenizer(options) as tokenizer:
        with waiting("encoding"):
            encoding = tokenizer.encode(
                text, options.pair, not options.no_special, special=_special(options.special)
            )
        show(options, tokenizer, text, encoding)
    return 0


def _special(given: str) -> str | set[str]:
    return given if given in {"all", "none", "raise"} else set(given.split(","))


def _decode(options: argparse.Namespace) -> int:
    given = " ".join(options.ids) if options.ids else read_input(None, options.file)
    ids = _numbers(given)
    with open_tokenizer(options) as tokenizer:
        with waiting("decoding"):
            text = tokenizer.decode(ids, not options.keep_special, unknown_id=options.unknown_id)
        if options.json:
            return print_json({"text": text, "backend": tokenizer.backend._asdict()})
    print(text)
    return 0


def _inspect(options: argparse.Namespace) -> int:
    with waiting(f"reading {one_line(options.source)}"):
        info = get_tokenizer_info(options.source, **about_source(options))
    if options.json:
        return print_json(info.as_dict())
    print_tree(_on_one_screen(info))
    return 0


def _on_one_screen(info: TokenizerInfo) -> dict[str, Any]:
    """What a person wants to know, in the order of the questions."""
    steps = info.pipeline
    special = info.special_tokens
    roles = {
        role: _with_id(token, special.ids)
        for role in ROLES
        if (token := getattr(special, role)) is not None
    }
    roles |= {role: _with_id(token, special.ids) for role, token in special.more.items()}
    serves = [f"{side} encodes" for side in (info.encoder,) if side]
    serves += [f"{side} decodes" for side in (info.decoder,) if side]
    why = [f"encoding: {info.falls_back}"] if info.falls_back else []
    why += [f"decoding: {info.decoder_reason}"] if info.decoder_reason else []
    model = [steps.get("model"), *steps.get("model_flags", ())]
    return {
        "source": info.source,
        "format": f"{info.format} ({info.reason})",
        "size": None if info.size is None else f"{info.size:,} bytes",
        "sha256": info.sha256,
        "fingerprint": info.fingerprint,
        "chosen": info.chosen,
        "passed over": info.passed_over,
        "beside it": info.sidecars,
        "served by": ", ".join(serves) or "no backend here",
        "because of": why,
        "model": ", ".join(filter(None, model)) if steps else None,
        "vocabulary": _vocabulary(steps),
        "merges": f"{steps['merges']:,}" if steps.get("merges") else None,
        "normalizer": steps.get("normalizers"),
        "split": steps.get("pre_tokenizers"),
        "adds": steps.get("post_processors"),
        "decoder": steps.get("decoders"),
        "truncates to": steps.get("truncation"),
        "pads": steps.get("padding"),
        "roles": roles,
        "eos ids": info.eos_token_ids,
        "special": [_with_id(token, special.ids) for token in special.additional],
        "templates": [
            f"{name} ({size:,} characters)" for name, size in info.chat_templates.items()
        ],
        "templates from": info.chat_template_places[:1],
        "outranked": info.chat_template_places[1:],
        "notes": info.notes,
    }


def _vocabulary(steps: Any) -> str | None:
    if not steps:
        return None
    added = len(steps["added_tokens"])
    return f"{steps['vocab_size_with_added']:,} tokens, {added:,} of them added"


def _with_id(token: str, ids: Any) -> str:
    return f"{token} = {ids[token]}" if token in ids else f"{token} (not in the vocabulary)"


def _convert(options: argparse.Namespace) -> int:
    with waiting(f"converting {one_line(options.source)}"):
        about = about_source(options)
        done = convert_tokenizer(options.source, options.out, to=options.to, **about)
    if options.json:
        return print_json(done.as_dict())
    print(f"{done.source} -> {done.out} ({done.bytes:,} bytes)")
    for name in done.differences:
        print(f"differs: {name}")
    if done.read_with:
        print("read it with:", ", ".join(map(_argument, done.read_with.items())))
    return 0


def _argument(item: tuple[str, Any]) -> str:
    name, value = item
    long = isinstance(value, dict) and len(value) > 8
    return f"{name}=({len(value):,} tokens; see --json)" if long else f"{name}={value!r}"


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import examine

    with waiting("trying what is installed"):
        report, healthy = examine()
    if options.json:
        print_json(report)
    else:
        print_tree(report)
    return 0 if healthy else 1


def _bench(arguments: list[str]) -> int:
    from .bench import main as bench

    return bench(arguments)


def _cache(options: argparse.Namespace) -> int:
    from . import cache as caching

    if options.action == "clear":
        cleared = caching.clear()
        if options.json:
            return print_json(cleared)
        print(
            f"removed {cleared['cores']} compiled cores and {cleared['snapshots']} snapshots,"
            f" {cleared['bytes']:,} bytes"
        )
        return 0
    with waiting("reading the cache"):
        report, usable = caching.report(verify=options.action == "verify")
    if options.json:
        print_json(report)
    else:
        _print_cache(report, verified=options.action == "verify")
    return 0 if usable else 1


def _print_cache(report: dict[str, Any], verified: bool) -> None:
    if report["directory"] is None:
        print(f"nothing is kept: {one_line(report['off_because'])}")
        return
    print(one_line(report["directory"]))
    fine = "ok" if verified else "-"
    for core in report["cores"]:
        _print_file(core, f"compiled core {core['file'][:12]}", core.get("problem") or fine)
    for snapshot in report["snapshots"]:
        about = snapshot["about"]
        what = f"snapshot {snapshot['key'][:12]}"
        if about:
            what += (
                f"  {about.get('format')}, {about.get('tokens')} tokens,"
                f" sha256 {str(about.get('file'))[:12]}"
            )
        _print_file(snapshot, what, snapshot["problem"] or fine)
    bound = report["max_bytes"]
    allowed = "snapshots are off" if bound is None else f"snapshots may take {bound:,}"
    print(f"{report['bytes']:,} bytes; {allowed}")


def _print_file(file: dict[str, Any], what: str, state: str) -> None:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(file["last_use"]))
    print(one_line(f"{file['bytes']:>14,}  {used}  {state}  {what}"))


def _numbers(text: str) -> list[int]:
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.removeprefix("-").isdigit() and len(word) <= 11):
            raise InvalidArgument(f"no id: {word[:40]!r}")
    return [int(word) for word in words]
