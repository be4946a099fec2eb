"""What can be completed after which command, as read from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..options.parser import Parser

__all__ = ["KINDS", "Command", "Option", "Value", "commands"]

# `NAMED`: a file after a name and the sign =.
FILES, NAMED, FOLDERS, NOTHING = "files", "named", "folders", ""

# What a value with this metavar is. A test fails for an option whose metavar is not here.
KINDS: Final = {
    **dict.fromkeys(
        ("FILE", "FILE|TEXT", "SOURCE", "PATH", "IN", "OUT", "A", "B", "PEM", "OLD", "NEW"), FILES
    ),
    **dict.fromkeys(("NAME=PATH", "[NAME=]SOURCE"), NAMED),
    **dict.fromkeys(("FOLDER", "DIR"), FOLDERS),
    **dict.fromkeys(
        (
            *("A,B", "ADDRESS", "FIELD", "LIMIT=VALUE", "N", "N,M", "NAME", "NAME=VALUE"),
            *("NEW-NAME", "PATTERN", "REGEX", "SECONDS", "TEXT", "TEXTS", "TIME", "TOKENIZER"),
            "TOKEN=ID",
            *("all|none|raise|NAME,...", "ids", "text"),
        ),
        NOTHING,
    ),
}


class Value(NamedTuple):
    kind: str
    choices: tuple[str, ...] = ()


class Option(NamedTuple):
    flags: tuple[str, ...]
    about: str
    value: Value | None
    """None: the option takes none."""
    needs_value: bool
    """Whether the next word is always its value."""
    repeats: bool


class Command(NamedTuple):
    path: tuple[str, ...]
    about: str
    inner: tuple[tuple[str, str], ...]
    """Names and texts of the commands below it."""
    options: tuple[Option, ...]
    places: tuple[Value, ...]
    """Of the words that are no options; the last one holds for further words where `open_end`."""
    open_end: bool


def commands(parser: Parser) -> Iterator[Command]:
    """The parser itself, and every command below it."""
    yield from _below(parser, (), parser.description or "")


def _below(parser: argparse.ArgumentParser, path: tuple[str, ...], about: str) -> Iterator[Command]:
    inner: list[tuple[str, str]] = []
    options: list[Option] = []
    places: list[Value] = []
    open_end = False
    below: list[tuple[str, Any]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {str(one.dest): one.help or "" for one in action._choices_actions}
            inner = [(name, texts[name]) for name in action.choices]
            below = list(action.choices.items())
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(_option(action))
        else:
            places.append(_value(action))
            open_end = action.nargs == "*"
    yield Command(path, about, tuple(inner), tuple(options), tuple(places), open_end)
    for (name, text), (_, made) in zip(inner, below, strict=True):
        yield from _below(made, (*path, name), text)


def _option(action: argparse.Action) -> Option:
    return Option(
        tuple(action.option_strings),
        action.help or "",
        None if action.nargs == 0 else _value(action),
        action.nargs not in (0, "?"),
        isinstance(action, argparse._AppendAction),
    )


def _value(action: argparse.Action) -> Value:
    if action.choices is not None:
        return Value(NOTHING, tuple(one for one in action.choices if isinstance(one, str)))
    metavar = action.metavar[0] if isinstance(action.metavar, tuple) else action.metavar
    name = metavar or (action.dest.upper() if action.option_strings else action.dest)
    return Value(KINDS.get(name, NOTHING))
