"""The script for zsh, 5.0 and later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .words import FILES, FOLDERS, NAMED, Command, Option, Value

__all__ = ["script"]

_HEAD = """\
#compdef pywasmtok
# Completes pywasmtok in zsh: source <(pywasmtok completion zsh), after compinit
"""
# `compdef` is there when the script is sourced; when zsh loads it from a folder of `fpath`, the
# file is the body of the function.
_END = """\
if [[ $funcstack[1] == _pywasmtok ]]; then
    _pywasmtok "$@"
else
    compdef _pywasmtok pywasmtok
fi
"""


def script(commands: Sequence[Command]) -> str:
    return "\n".join([_HEAD, *(line for one in commands for line in _function(one)), _END])


def _name(path: Sequence[str]) -> str:
    return "_" + "_".join(("pywasmtok", *path))


def _function(one: Command) -> Iterator[str]:
    yield f"{_name(one.path)}() {{"
    if one.inner:
        yield '    local curcontext="$curcontext" line state state_descr'
        yield "    local -A opt_args"
    yield "    _arguments -s -S -C \\"
    for option in one.options:
        for spec in _option(option):
            yield f"        {_quoted(spec)} \\"
    if one.inner:
        yield "        '1: :->command' '*:: :->inner'"
        yield "    case $state in"
        yield "    command)"
        yield "        local -a names=("
        for name, about in one.inner:
            yield f"            {_quoted(f'{name}:{about}')}"
        yield "        )"
        yield "        _describe command names ;;"
        yield "    inner)"
        yield "        case $line[1] in"
        for name, _ in one.inner:
            yield f"        {name}) {_name((*one.path, name))} ;;"
        yield "        esac ;;"
        yield "    esac"
    else:
        for place, value in enumerate(one.places):
            last = one.open_end and place == len(one.places) - 1
            number = "*" if last else f"{place + 1}"
            yield f"        {_quoted(f'{number}:value:{_value(value)}')} \\"
        yield "        && return 0"
    yield "}"


def _option(option: Option) -> Iterator[str]:
    others = "" if option.repeats else f"({' '.join(option.flags)})"
    about = re.sub(r"([\[\]:\\])", r"\\\1", option.about)
    for flag in option.flags:
        # `=` also lets `--option=value` be completed; `::` is a value that may be missing.
        equals = "=" if option.value is not None and flag.startswith("--") else ""
        spec = f"{'*' if option.repeats else others}{flag}{equals}[{about}]"
        if option.value is not None:
            spec += f"{':' if option.needs_value else '::'}value:{_value(option.value)}"
        yield spec


def _value(value: Value) -> str:
    if value.choices:
        return f"({' '.join(value.choices)})"
    # An action that finds nothing. The empty action shows a message, and completes no option then.
    named = '{compset -P "*="; _files}'
    return {FILES: "_files", NAMED: named, FOLDERS: "_files -/"}.get(value.kind, "{true}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
