"""The script for fish, 3.0 and later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .words import FILES, FOLDERS, NAMED, Command, Option, Value

__all__ = ["script"]

_HEAD = """\
# Completes pywasmtok in fish: pywasmtok completion fish | source
function __pywasmtok_at
    # Whether the words so far name this command: a command's name comes before its options.
    set -l words (commandline -opc)
    set -e words[1]
    set -l depth (count $argv)
    if test $depth -gt 0
        test (count $words) -ge $depth; or return 1
        test "$words[1..$depth]" = "$argv"; or return 1
    else
        not string match -qv -- '-*' $words; or return 1
    end
end
function __pywasmtok_needs
    # Whether this command is named, and the name of one below it is missing.
    __pywasmtok_at $argv; or return 1
    set -l words (commandline -opc)
    test (count (string match -v -- '-*' $words)) -eq (math (count $argv) + 1)
end
complete -c pywasmtok -f
"""


def script(commands: Sequence[Command]) -> str:
    return "\n".join([_HEAD, *(line for one in commands for line in _lines(one)), ""])


def _lines(one: Command) -> Iterator[str]:
    path = " ".join(one.path)
    at = f"complete -c pywasmtok -n {_quoted(f'__pywasmtok_at {path}'.strip())}"
    needs = f"complete -c pywasmtok -n {_quoted(f'__pywasmtok_needs {path}'.strip())}"
    for name, about in one.inner:
        yield f"{needs} -a {name} -d {_quoted(about)}"
    for option in one.options:
        yield f"{at} {_option(option)}"
    # fish does not count words: what any place takes is offered at each.
    choices = [choice for value in one.places for choice in value.choices]
    if choices:
        yield f"{needs} -a {_quoted(' '.join(choices))}"
    kinds = {value.kind for value in one.places}
    if kinds & {FILES, NAMED}:
        yield f"{at} -F"
    elif FOLDERS in kinds:
        yield f"{at} -a '(__fish_complete_directories)'"


def _option(option: Option) -> str:
    names = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    ]
    value = "" if option.value is None else f" {_value(option.value, option.needs_value)}"
    return f"{' '.join(names)}{value} -d {_quoted(option.about)}"


def _value(value: Value, needed: bool) -> str:
    if value.kind in {FILES, NAMED}:
        return "-r -F" if needed else "-F"
    found = "-x" if needed else "-f"
    if value.choices:
        return f"{found} -a {_quoted(' '.join(value.choices))}"
    return f"{found} -a '(__fish_complete_directories)'" if value.kind == FOLDERS else found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
