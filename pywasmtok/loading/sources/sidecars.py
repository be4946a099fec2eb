"""The small files beside a tokenizer: which roles its tokens play, and what transformers adds.

They are read here and not in the core: they are small, flat JSON that the tokenizer's file does not
depend on. Each is bounded in size before it is parsed. A fault in one is a note and no failure,
until a call needs its content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...chat.sources import TemplatePlace, merged, of_value
from ...errors import InvalidArgument, InvalidFile, LimitExceeded, TokenizerError
from ...tokenizer.limits import Limits
from ...tokenizer.special import ROLES
from .paths import exists, list_folder, printable, read

__all__ = [
    "FILES",
    "NO_SIDECARS",
    "Sidecars",
    "givable",
    "given_sidecars",
    "read_sidecars",
    "read_template",
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

_IDS = 1 << 32


class Sidecars(NamedTuple):
    """What stands beside a tokenizer, by file name. Absent files are empty objects."""

    files: tuple[str, ...] = ()
    """Those that were read."""
    problems: tuple[str, ...] = ()
    """What is wrong with those that could not be."""
    objects: Mapping[str, Mapping[str, Any]] = {}
    template_places: tuple[TemplatePlace, ...] = ()
    """Places that state chat templates, the one that counts first."""

    @property
    def templates(self) -> Mapping[str, str]:
        """Source of each chat template that counts, by name; `default` is the unnamed one."""
        return self.template_places[0].templates if self.template_places else {}

    def of(self, name: str) -> Mapping[str, Any]:
        """The object of a file."""
        return self.objects.get(name, {})

    def roles(self) -> dict[str, str]:
        """The token of each role that a configuration names."""
        config, mapping = self.of("tokenizer_config.json"), self.of("special_tokens_map.json")
        # Since configurations list their added tokens, the other file only repeats them.
        first, then = (config, mapping) if "added_tokens_decoder" in config else (mapping, config)
        named: dict[str, str] = {}
        for role in ROLES:
            for source in (first, then):
                token = _content(source.get(f"{role}_token"))
                if token is not None:
                    named.setdefault(role, token)
        return named

    def eos_token_ids(self) -> tuple[int, ...]:
        """Every id at which the model's own files end a text, in the order that they name them."""
        config = self.of("config.json")
        # Where a model takes more than text, what concerns text has a place of its own.
        objects = (self.of("generation_config.json"), config, config.get("text_config"))
        found: list[int] = []
        for stated in (_field(item, "eos_token_id") for item in objects):
            for number in stated if isinstance(stated, list) else [stated]:
                if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _IDS:
                    found.append(number)
        return tuple(dict.fromkeys(found))

    def eos_tokens(self) -> tuple[str, ...]:
        """The tokens that the tokenizer's configurations end a text with."""
        names = ("tokenizer_config.json", "special_tokens_map.json")
        stated = (_content(self.of(name).get("eos_token")) for name in names)
        return tuple(dict.fromkeys(token for token in stated if token is not None))

    def added_tokens(self) -> dict[int, Mapping[str, Any]]:
        """`added_tokens_decoder` of the configuration: flags of each token, by id."""
        listed = self.of("tokenizer_config.json").get("added_tokens_decoder")
        if not isinstance(listed, Mapping):
            return {}
        tokens: dict[int, Mapping[str, Any]] = {}
        for number, token in listed.items():
            if not number.isdecimal() or not isinstance(_field(token, "content"), str):
                raise InvalidFile(
                    "not an id and a token",
                    source="tokenizer_config.json",
                    path=f"$.added_tokens_decoder[{number!r}]",
                )
            tokens[int(number)] = token
        return dict(sorted(tokens.items()))

    def require(self) -> None:
        """Raises where a file that was asked for could not be read."""
        if self.problems:
            raise InvalidFile(
                f"what stands beside the tokenizer is needed, but: {'; '.join(self.problems)}"
            )

    def for_ranks(self) -> dict[str, Any]:
        """Load options for a rank file, which names neither its pattern nor its special tokens."""
        from .rank_encodings import encoding_for

        options: dict[str, Any] = {}
        tokens = self.added_tokens()
        if tokens:
            options["special_tokens"] = {
                token["content"]: number for number, token in tokens.items()
            }
        encoding = encoding_for(self.of("tokenizer_config.json"), self.of("config.json"))
        if encoding is not None:
            options["encoding"] = encoding
        return options

    def for_core(self, *, bos_and_eos: bool) -> dict[str, Any] | None:
        """What transformers adds to a tokenizer, as a load option."""
        from .transformers_rules import config_for_core

        self.require()
        return config_for_core(self, bos_and_eos=bos_and_eos)


NO_SIDECARS = Sidecars()


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


def read_template(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """A chat template as it is, byte for byte."""
    whole = os.fsencode(path)
    try:
        return read(whole, Limits(file_bytes=MAX_BYTES)).data.decode()
    except UnicodeDecodeError as error:
        raise InvalidFile(
            "a chat template must be UTF-8", source=printable(whole), offset=error.start
        ) from error


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


def _content(token: object) -> str | None:
    """A token is a text, or an object that has it as its content."""
    text = _field(token, "content") if isinstance(token, Mapping) else token
    return text if isinstance(text, str) and text else None


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None
