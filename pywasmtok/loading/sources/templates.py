"""Where chat templates come from, in a fixed order; the first place that states any counts.

    an argument  >  set_chat_template  >  chat_template.jinja and additional_chat_templates/
                 >  chat_template.json  >  tokenizer_config.json  >  the tokenizer's file (GGUF)

A place counts as a whole, as in transformers: templates of two places are never mixed. Their text
is taken as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["ARGUMENT", "RUN_TIME", "TemplatePlace", "merged", "of_gguf", "of_value"]

ARGUMENT = "argument"
"""The place of a template that `create_tokenizer_with_chat_template` was given."""
RUN_TIME = "set_chat_template"

DEFAULT = "default"


class TemplatePlace(NamedTuple):
    """What one place states."""

    place: str
    """The name of the file, or another origin, such as an argument."""
    templates: Mapping[str, str]
    """Source of each template, by name; `default` is the one without a name."""
    named: bool = False
    """Whether templates are chosen by name here; a single one that has none is not."""
    render: Callable[..., str] | None = None
    """A function in place of a template, for models whose format is none."""
    problem: str | None = None
    """Why its templates cannot be read: a call that needs one fails, and uses no other instead."""


def of_value(place: str, value: object) -> TemplatePlace | None:
    """A template is a text, a list of `{name, template}`, or an object by name. None: there is no
    template in it."""
    if isinstance(value, str):
        return TemplatePlace(place, {DEFAULT: value})
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        found = {str(name): text for name, text in value.items() if isinstance(text, str)}
    for item in value if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            name, text = item.get("name"), item.get("template")
            if isinstance(name, str) and isinstance(text, str):
                found[name] = text
    return TemplatePlace(place, found, named=True) if found else None


def merged(places: Iterable[TemplatePlace]) -> TemplatePlace | None:
    """One place out of several files that belong together: the default, and those by name."""
    found: dict[str, str] = {}
    names, problems = [], []
    for place in places:
        found |= place.templates
        names.append(place.place)
        problems += [] if place.problem is None else [place.problem]
    if not names:
        return None
    named = set(found) != {DEFAULT}
    return TemplatePlace(", ".join(names), found, named, problem="; ".join(problems) or None)


def of_gguf(stated: Iterable[Any]) -> TemplatePlace | None:
    """The pairs of name and text that the core finds in the metadata of a GGUF file:
    `tokenizer.chat_template`, and `tokenizer.chat_template.<name>` of each name that
    `tokenizer.chat_templates` lists."""
    found = {str(name): str(text) for name, text in stated}
    if not found:
        return None
    return TemplatePlace("GGUF metadata", found, named=set(found) != {DEFAULT})
