"""Docstrings in Google's style, cut where transformers cuts them.

A heading counts wherever it stands, inside a sentence, too; that is the reference's reading, and
models were trained with what it gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import DocstringParsingException

__all__ = ["Arguments", "Said", "describe"]

_ARGUMENTS = re.compile(r"\n\s*Args:\n")
_RETURNS = re.compile(r"\n\s*Returns:\n")
_ENTRY = re.compile(r"(?:\A|\n)(?P<indent>[ \t]*)(?P<name>\w+):\s*")
_LINE_BREAKS = re.compile(r"\s*\n\s*")
_CHOICES = re.compile(r"\(choices:(?P<json>.*)\)\s*\Z", re.IGNORECASE)


class Said(NamedTuple):
    """What a docstring says of an argument."""

    text: str
    choices: list[Any] | None = None


class Arguments(NamedTuple):
    function: str
    said: Mapping[str, str]

    def of(self, name: str) -> Said:
        text = self.said.get(name)
        if text is None:
            raise DocstringParsingException(
                f"the docstring of the function {self.function} says nothing of the argument {name}"
            )
        found = _CHOICES.search(text)
        if found is None:
            return Said(text)
        try:
            values = [
                value.strip() if isinstance(value, str) else value
                for value in json.loads(found["json"].lstrip())
            ]
        except (ValueError, TypeError) as error:
            raise DocstringParsingException(
                f"the choices of the argument {name} of the function {self.function} are no JSON "
                f"array: {error}"
            ) from error
        return Said(text[: found.start()].strip(), values)


def describe(docstring: str | None, function: str) -> tuple[str, Arguments, str | None]:
    """Of the function, of its arguments, and of what it answers."""
    if not docstring:
        raise DocstringParsingException(f"the function {function} has no docstring")
    text = docstring.strip()
    description = _up_to(text, "Args:", "Returns:", "Raises:").strip()
    arguments = _section(text, _ARGUMENTS, "Returns:", "Raises:")
    returned = _section(text, _RETURNS, "Raises:")
    said = {} if arguments is None else _entries(arguments.rstrip())
    return description, Arguments(function, said), None if returned is None else returned.strip()


def _up_to(text: str, *headings: str) -> str:
    return text[: min((at for name in headings if (at := text.find(name)) >= 0), default=None)]


def _section(text: str, heading: re.Pattern[str], *ends: str) -> str | None:
    found = heading.search(text)
    return None if found is None else _up_to(text[found.end() :], *ends)


def _entries(section: str) -> dict[str, str]:
    """`name: text` of each entry, which goes on over lines until another one begins."""
    section = "\n".join(line for line in section.split("\n") if line.strip())
    entries: dict[str, str] = {}
    place = 0
    while (entry := _ENTRY.search(section, place)) is not None:
        # A line that is indented deeper belongs to the entry, whatever it looks like.
        deeper = re.escape(entry["indent"])
        following = re.compile(rf"\n(?!{deeper}[ \t])[ \t]*\w+:").search(section, entry.end())
        place = len(section) if following is None else following.start()
        entries[entry["name"]] = _LINE_BREAKS.sub(" ", section[entry.end() : place].strip())
    return entries
