"""The script for bash, 3.2 and later."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from .words import FILES, FOLDERS, NAMED, Command, Value

__all__ = ["script"]

# `COMP_WORDBREAKS` has the sign =, so that `--by=ids` comes as three words.
_HEAD = """\
# Completes pywasmtok in bash: source <(pywasmtok completion bash)
_pywasmtok() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
    local path='' inner='' options='' needs='' values='' place=0 n word skip=''
    local IFS=$' \\t\\n'
    COMPREPLY=()
    if [[ $cur == '=' ]]; then
        cur=''
    elif [[ $prev == '=' ]] && (( COMP_CWORD >= 2 )); then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    _pywasmtok_at ''
    for (( n = 1; n < COMP_CWORD; n++ )); do
        word="${COMP_WORDS[n]}"
        if [[ $word == '=' ]]; then
            # The word before it was no whole one, unless it was an option.
            [[ ${COMP_WORDS[n-1]} == -* ]] || (( place -= 1 ))
            skip=1
        elif [[ -n $skip ]]; then
            skip=''
        elif [[ " $needs " == *" $word "* ]]; then
            [[ ${COMP_WORDS[n+1]} == '=' ]] || skip=1
        elif [[ $word == -?* ]]; then
            :
        elif [[ " $inner " == *" $word "* ]]; then
            path="${path:+$path }$word"
            _pywasmtok_at "$path"
        else
            (( place += 1 ))
        fi
    done
    if [[ $prev == -?* ]]; then
        _pywasmtok_value "$path $prev"
    fi
    if [[ -z $values && $cur == -* ]]; then
        values="words $options"
    elif [[ -z $values && -n $inner ]]; then
        values="words $inner"
    elif [[ -z $values ]]; then
        _pywasmtok_place "$path" "$place"
    fi
    case "$values" in
        files) ;; # Those of readline, as `-o default` says.
        folders) compopt -o dirnames +o default 2>/dev/null ;;
        words*)
            compopt +o default 2>/dev/null
            COMPREPLY=($(compgen -W "${values#words}" -- "$cur"))
            ;;
        *) compopt +o default 2>/dev/null ;;
    esac
}
"""


def script(commands: Sequence[Command]) -> str:
    return "\n".join(
        [
            _HEAD,
            *_function("_pywasmtok_at", '"$1"', _of_commands(commands)),
            *_function("_pywasmtok_value", '"$1"', _of_options(commands)),
            *_function("_pywasmtok_place", '"$1 $2"', _of_places(commands)),
            "complete -o default -F _pywasmtok pywasmtok",
            "",
        ]
    )


def _function(name: str, word: str, cases: Iterator[str]) -> list[str]:
    return [f"{name}() {{", f"    case {word} in", *cases, "    esac", "}"]


def _of_commands(commands: Sequence[Command]) -> Iterator[str]:
    for one in commands:
        inner = " ".join(name for name, _ in one.inner)
        flags = " ".join(flag for option in one.options for flag in option.flags)
        needs = " ".join(
            flag for option in one.options if option.needs_value for flag in option.flags
        )
        said = f"inner={shlex.quote(inner)} options={shlex.quote(flags)} needs={shlex.quote(needs)}"
        yield f"        {shlex.quote(' '.join(one.path))}) {said} ;;"


def _of_options(commands: Sequence[Command]) -> Iterator[str]:
    for one in commands:
        for option in one.options:
            if option.value is not None:
                names = "|".join(
                    shlex.quote(f"{' '.join(one.path)} {flag}") for flag in option.flags
                )
                yield f"        {names}) values={_values(option.value)} ;;"


def _of_places(commands: Sequence[Command]) -> Iterator[str]:
    for one in commands:
        for place, value in enumerate(one.places):
            last = one.open_end and place == len(one.places) - 1
            pattern = (
                shlex.quote(f"{' '.join(one.path)} ") + "*"
                if last
                else shlex.quote(f"{' '.join(one.path)} {place}")
            )
            yield f"        {pattern}) values={_values(value)} ;;"


def _values(value: Value) -> str:
    if value.choices:
        return shlex.quote("words " + " ".join(value.choices))
    return {FILES: FILES, NAMED: FILES, FOLDERS: FOLDERS}.get(value.kind, "none")
