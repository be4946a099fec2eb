"""The literal text of a template: what it writes itself, as far as that can be read off its source.

A walk over the source as jinja2's lexer sees it: text outside of tags, and strings inside them.
Comments are no text. A template with an error in it is walked as far as it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["literal_text"]

_TAG: Final = re.compile(r"\{\{|\{%|\{#")
_RAW: Final = re.compile(r"\{%[-+]?\s*raw\s*-?%\}")
_END_OF_RAW: Final = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_STRING: Final = re.compile(r"'([^'\\]*(?:\\.[^'\\]*)*)'" r'|"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=128)
def literal_text(source: str) -> str:
    """The literals, apart from each other: no name can lie in two of them."""
    text = "\0".join(dict.fromkeys(_literals(re.sub(r"\r\n|\r", "\n", source))))
    # No name has the lone surrogate of an escape.
    return text.encode(errors="replace").decode()


def _literals(source: str) -> Iterator[str]:
    at = 0
    while found := _TAG.search(source, at):
        yield source[at : found.start()]
        at = found.start()
        if source.startswith("{#", at):
            end = source.find("#}", at + 2)
            at = len(source) if end < 0 else end + 2
        elif raw := _RAW.match(source, at):
            end_of_raw = _END_OF_RAW.search(source, raw.end())
            until, at = end_of_raw.span() if end_of_raw else (len(source), len(source))
            yield source[raw.end() : until]
        else:
            closing = "}}" if source.startswith("{{", at) else "%}"
            strings, at = _strings(source, at + 2, closing)
            yield from strings
    yield source[at:]


def _strings(source: str, at: int, closing: str) -> tuple[list[str], int]:
    """The strings of one tag, neighbours in one, and where it ends."""
    found: list[str] = []
    open_brackets: list[str] = []
    joins = False
    while at < len(source):
        if not open_brackets and source.startswith(closing, at):
            return found, at + 2
        if string := _STRING.match(source, at):
            text = _decoded(string[1] if string[1] is not None else string[2])
            if joins:
                found[-1] += text
            else:
                found.append(text)
            joins, at = True, string.end()
            continue
        letter = source[at]
        if letter in "'\"":
            # It has no end, so this is no template: nothing is rendered, and nothing more is read.
            return found, len(source)
        if letter in _CLOSING:
            open_brackets.append(_CLOSING[letter])
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets.pop()
        joins = joins and letter.isspace()
        at += 1
    return found, at


def _decoded(literal: str) -> str:
    try:
        return literal.encode("ascii", "backslashreplace").decode("unicode-escape")
    except UnicodeDecodeError:
        return literal
