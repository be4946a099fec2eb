"""The command `pywasmtok`, and its short commands: encode, decode, inspect, convert, cache."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, TokenizerError
from ..loading.info import TokenizerInfo, get_tokenizer_info
from ..loading.writers import convert_tokenizer
from ..tokenizer.special.tokens import ROLES
from .common import (
    DEMO,
    STDIN,
    about_source,
    drop,
    forget_stdin,
    one_line,
    open_tokenizer,
    print_json,
    print_tree,
    read_input,
    shown_source,
    source_file,
)
from .encoded import show
from .exits import Exit, OperatingSystemError, each, report
from .options.tree import whole
from .terminal import waiting

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["cache", "convert", "decode", "encode", "inspect", "main"]

# Commands that need the packages of the extra `server`.
_OF_SERVER = ("serve", "store")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; `Exit` has the codes. As a program, Ctrl-C ends it by the signal itself:
    loops of a shell then end, too, and the shell reports 130."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed when the program began: what is written goes nowhere.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A token may hold anything; a terminal that cannot show it is no reason to fail.
            reconfigure(errors="backslashreplace")
    try:
        return _guarded(given)
    except BrokenPipeError:
        drop(sys.stdout)
        return Exit.CLOSED
    except KeyboardInterrupt:
        drop(sys.stdout)
        if arguments is not None:
            return Exit.INTERRUPTED
        sys.excepthook = lambda *_: None
        raise
    except Exception:
        # Python would end with 1, which says that there is a finding.
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return Exit.FAILED
    finally:
        forget_stdin()
        try:
            sys.stderr.flush()
        except OSError:
            drop(sys.stderr)


def _guarded(given: list[str]) -> int:
    try:
        try:
            options = whole().parse_args(given, argparse.Namespace(given=given))
            status: int = _work(options.run)(options)
        finally:
            # Also where argparse has printed a help, and ends.
            sys.stdout.flush()
    except TokenizerError as error:
        return report(error, _wants_json(given))
    except BrokenPipeError:
        raise
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else None
        drop(sys.stdout)
        return report(OperatingSystemError(str(error.strerror), source=name), _wants_json(given))
    return status


def _work(run: str) -> Callable[[argparse.Namespace], int]:
    """The function that `module:function` names. Its module may import what is large."""
    module, _, name = run.partition(":")
    if module in _OF_SERVER:
        from .serve import require_packages

        require_packages()
    found: Callable[[argparse.Namespace], int]
    found = getattr(import_module(f".{module}", __package__), name)
    return found


def _wants_json(given: Sequence[str]) -> bool:
    """Also for arguments that cannot be parsed. `bench --json FILE` prints tables."""
    if given[:1] == ["bench"]:
        return any(
            one == "--json" and (not after or after.startswith("-"))
            for one, after in zip(given, [*given[1:], ""], strict=True)
        )
    return "--json" in given


def encode(options: argparse.Namespace) -> int:
    if options.text is not None and options.file:
        raise InvalidArgument("a text and --file at once")
    with open_tokenizer(options) as tokenizer:
        if options.text is not None:
            _encode(options, tokenizer, options.text, None)
            return Exit.DONE
        return each(
            options.file or [STDIN],
            lambda file: _encode(options, tokenizer, read_input(file), file),
            options,
            titled=True,
        )


def _encode(options: argparse.Namespace, tokenizer: Tokenizer, text: str, file: str | None) -> None:
    with waiting("encoding"):
        encoding = tokenizer.encode(
            text, options.pair, not options.no_special, special=_special(options.special)
        )
    show(options, tokenizer, text, encoding, {"file": file})


def _special(given: str) -> str | set[str]:
    return given if given in {"all", "none", "raise"} else set(given.split(","))


def decode(options: argparse.Namespace) -> int:
    if options.ids and options.file:
        raise InvalidArgument("ids and --file at once")
    with open_tokenizer(options) as tokenizer:
        if options.ids:
            _decode(options, tokenizer, " ".join(options.ids), None)
            return Exit.DONE
        return each(
            options.file or [STDIN],
            lambda file: _decode(options, tokenizer, read_input(file), file),
            options,
            titled=True,
        )


def _decode(
    options: argparse.Namespace, tokenizer: Tokenizer, given: str, file: str | None
) -> None:
    ids = _numbers(given)
    with waiting("decoding"):
        text = tokenizer.decode(ids, not options.keep_special, unknown_id=options.unknown_id)
    if options.json:
        print_json({"file": file, "text": text, "backend": tokenizer.backend._asdict()})
    else:
        print(text)


def inspect(options: argparse.Namespace) -> int:
    def one(source: str) -> None:
        path = source_file(source)
        with waiting(f"reading {one_line(shown_source(path))}"):
            info = get_tokenizer_info(path, **about_source(options))
        info = replace(info, source=shown_source(info.source))
        if options.json:
            print_json(info.as_dict())
        else:
            print_tree(_on_one_screen(info))

    return each(options.sources or [DEMO], one, options, titled=True)


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


def convert(options: argparse.Namespace) -> int:
    if options.out == STDIN:
        raise InvalidArgument("convert writes a file", hint="Name it; ./- is a file of this name")
    source = source_file(options.source)
    about = about_source(options)
    with waiting(f"converting {one_line(shown_source(source))}"):
        done = convert_tokenizer(source, options.out, to=options.to, **about)
    done = replace(done, source=shown_source(done.source))
    # A pipe or a device may be standard output, where the file was written.
    with contextlib.redirect_stdout(sys.stdout if os.path.isfile(done.out) else sys.stderr):
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


def cache(options: argparse.Namespace) -> int:
    from . import cache as caching

    if options.action == "clear":
        cleared, usable = caching.clear()
        if options.json:
            print_json(cleared)
        else:
            _print_cleared(cleared)
        return Exit.DONE if usable else Exit.FOUND
    with waiting("reading the cache"):
        report, usable = caching.report(verify=options.action == "verify")
    if options.json:
        print_json(report)
    else:
        _print_cache(report, verified=options.action == "verify")
    return Exit.DONE if usable else Exit.FOUND


def _print_cleared(cleared: dict[str, Any]) -> None:
    print(
        f"removed {cleared['cores']} compiled cores and {cleared['snapshots']} snapshots,"
        f" {cleared['bytes']:,} bytes"
    )
    if cleared["left"]:
        print(f"{cleared['left']} could not be removed from {one_line(cleared['directory'])}")
    if cleared["problem"]:
        print(one_line(cleared["problem"]))


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
    if report["problem"]:
        print(one_line(report["problem"]))
    bound = report["max_bytes"]
    allowed = "snapshots are off" if bound is None else f"snapshots may take {bound:,}"
    print(f"{report['bytes']:,} bytes; {allowed}")


def _print_file(file: dict[str, Any], what: str, state: str) -> None:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(file["last_use"]))
    print(one_line(f"{file['bytes']:>14,}  {used}  {state}  {what}"))


def _numbers(text: str) -> list[int]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.removeprefix("-").isdigit() and len(word) <= 11):
            raise InvalidArgument(f"no id: {word[:40]!r}")
    return [int(word) for word in words]
