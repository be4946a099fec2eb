"""The small files beside a tokenizer: which roles its tokens play, and what transformers adds.

They are read here and not in the core: they are small, flat JSON that the tokenizer's file does not
depend on. Each is bounded in size before it is parsed. A fault in one is a note and no failure,
until a call needs its content.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from ...errors import InvalidArgument, InvalidFile, LimitExceeded, TokenizerError
from ...tokenizer.limits import Limits
from ...tokenizer.recipe import Sidecars
from .paths import exists, list_folder, printable, read
from .templates import TemplatePlace, merged, of_value

__all__ = [
    "FILES",
    "givable",
    "given_sidecars",
    "other_class",
    "read_sidecars",
]

FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
)
TEMPLATES = ("chat_template.jinja", "chat_template.json")
MORE_TEMPLATES = "additional_chat_templates"

MAX_BYTES = 16 << 20


def read_sidecars(folder: bytes) -> Sidecars:
    """What a folder holds beside its tokenizer; an empty path is the current folder."""
    folder = folder or os.fsencode(os.curdir)
    objects: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    for name in FILES:
        path = os.path.join(folder, os.fsencode(name))
        if exists(path):
            try:
                objects[name] = _object(path)
            except TokenizerError as error:
                problems.append(f"{name}: {error.message}")
    templates = _templates(folder, objects.get("tokenizer_config.json", {}), problems)
    return Sidecars(tuple(objects), tuple(problems), objects, templates)


def given_sidecars(files: Mapping[str, Any]) -> Sidecars:
    """The same by file name: an object for each JSON file, a text for each template."""
    if not isinstance(files, Mapping):
        raise InvalidArgument("sidecars must be an object of files by name")
    objects: dict[str, Mapping[str, Any]] = {}
    templates = []
    for name, content in files.items():
        if name in FILES or name == TEMPLATES[1]:
            if not isinstance(content, Mapping):
                raise InvalidArgument(f"sidecars: {name} must be an object")
            objects[name] = content
            continue
        called = _name_of_template(name)
        if called is None:
            raise InvalidArgument(
                f"sidecars: {name!r} is no file beside a tokenizer",
                hint=f"There are {', '.join((*FILES, *TEMPLATES))}, {MORE_TEMPLATES}/NAME.jinja",
            )
        if not isinstance(content, str):
            raise InvalidArgument(f"sidecars: {name} must be a text")
        templates.append(TemplatePlace(name, {called: content}))
    config = objects.get("tokenizer_config.json", {})
    whole = objects.pop(TEMPLATES[1], {})
    places = (
        merged(templates),
        of_value(TEMPLATES[1], whole.get("chat_template")),
        of_value("tokenizer_config.json", config.get("chat_template")),
    )
    there = tuple(place for place in places if place is not None)
    return Sidecars(tuple(objects), (), objects, there)


def givable(sidecars: Sidecars) -> dict[str, Any]:
    """What `given_sidecars` takes."""
    files: dict[str, Any] = dict(sidecars.objects)
    for place in sidecars.template_places:
        if place.place == TEMPLATES[1]:
            named = [{"name": name, "template": text} for name, text in place.templates.items()]
            only = place.templates.get("default")
            files[TEMPLATES[1]] = {"chat_template": named if place.named or only is None else only}
        elif place.place != "tokenizer_config.json":
            for name, text in place.templates.items():
                default = name == "default"
                files[TEMPLATES[0] if default else f"{MORE_TEMPLATES}/{name}.jinja"] = text
    return files


def other_class(
    sidecars: Sidecars, classes: re.Pattern[str], model_types: Collection[str]
) -> str | None:
    """What the configurations state in place of one of these classes of transformers:
    `tokenizer_class:X`, `model_type:X` or `auto_map`, which is code of a repository."""
    config, model = sidecars.of("tokenizer_config.json"), sidecars.of("config.json")
    mapped = config.get("auto_map")
    if isinstance(mapped, Mapping) and mapped.get("AutoTokenizer"):
        return "auto_map"
    stated = config.get("tokenizer_class") or model.get("tokenizer_class")
    if stated is not None:
        return None if classes.fullmatch(str(stated)) else f"tokenizer_class:{stated}"
    model_type = model.get("model_type")
    known = model_type is None or model_type in model_types
    return None if known else f"model_type:{model_type}"


def _name_of_template(name: object) -> str | None:
    if name == TEMPLATES[0]:
        return "default"
    start, end = f"{MORE_TEMPLATES}/", ".jinja"
    if not isinstance(name, str) or not (name.startswith(start) and name.endswith(end)):
        return None
    return name[len(start) : -len(end)] or None


def _object(path: bytes) -> Mapping[str, Any]:
    text = _bounded(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidFile("its JSON is no object")
    return value


def _bounded(path: bytes) -> bytes:
    try:
        return read(path, Limits(file_bytes=MAX_BYTES)).data
    except LimitExceeded as error:
        error.message = f"{error.message}, for it stands beside a tokenizer"
        raise


def _templates(
    folder: bytes, config: Mapping[str, Any], problems: list[str]
) -> tuple[TemplatePlace, ...]:
    named = {TEMPLATES[0]: ("default", os.path.join(folder, os.fsencode(TEMPLATES[0])))}
    more = os.path.join(folder, os.fsencode(MORE_TEMPLATES))
    for entry in list_folder(more) if os.path.isdir(more) else ():
        if entry.endswith(b".jinja"):
            name = printable(entry)
            path = os.path.join(more, entry)
            named[f"{MORE_TEMPLATES}/{name}"] = (name.removesuffix(".jinja"), path)
    files = []
    for place, (name, path) in named.items():
        if exists(path):
            try:
                files.append(TemplatePlace(place, {name: _bounded(path).decode()}))
            except (TokenizerError, UnicodeDecodeError) as error:
                problems.append(f"{place}: {getattr(error, 'message', error)}")
                files.append(TemplatePlace(place, {}, problem=problems[-1]))
    places = [merged(files)]
    path = os.path.join(folder, os.fsencode(TEMPLATES[1]))
    if exists(path):
        try:
            places.append(of_value(TEMPLATES[1], _object(path).get("chat_template")))
        except TokenizerError as error:
            problems.append(f"{TEMPLATES[1]}: {error.message}")
            places.append(TemplatePlace(TEMPLATES[1], {}, problem=problems[-1]))
    places.append(of_value("tokenizer_config.json", config.get("chat_template")))
    return tuple(place for place in places if place is not None)
