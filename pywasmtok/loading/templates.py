"""A chat template that a program gives in place of the model's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..errors import InvalidArgument, InvalidFile, SourceNotFound
from ..tokenizer.limits import Limits
from .sources.paths import as_path, printable, read
from .sources.sidecars import MAX_BYTES
from .sources.templates import DEFAULT, TemplatePlace, of_value

if TYPE_CHECKING:
    from .sources import SourceLike

__all__ = ["TemplateLike", "place_of", "text_or_file"]

TemplateLike = (
    str | os.PathLike[str] | Mapping[str, str] | Sequence[Mapping[str, str]] | Callable[..., str]
)


def place_of(place: str, template: TemplateLike | None) -> TemplatePlace | None:
    """What a program gives in place of the model's own template. None stays None."""
    if template is None:
        return None
    if callable(template):
        return TemplatePlace(place, {}, render=template)
    if isinstance(template, str | os.PathLike):
        return TemplatePlace(place, {DEFAULT: text_or_file(template)})
    found = of_value(place, template)
    if found is None:
        raise InvalidArgument(
            f"no template in this {type(template).__name__}",
            hint="A template is a text, a path, a dict of texts by name, or a function",
        )
    return found


def text_or_file(template: SourceLike) -> str:
    """A path is read. A str is a path if there is a file of that name or if it begins or ends as
    paths do; else it is a template."""
    if not isinstance(template, str):
        return _read_template(template)
    # What has a brace or a line break in it is a template, whatever files there are.
    if any(mark in template for mark in "{}\n") or not template:
        return template
    try:
        found = os.path.lexists(template)
    except ValueError:
        found = False
    if found or template.startswith(_OF_A_PATH) or template.endswith(_OF_A_TEMPLATE_FILE):
        return _read_template(template)
    return template


_OF_A_PATH: Final = ("/", "./", "../")
_OF_A_TEMPLATE_FILE: Final = (".jinja", ".jinja2", ".j2")


def _read_template(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """A chat template as it is, byte for byte."""
    whole = as_path(path)
    try:
        return read(whole, Limits(file_bytes=MAX_BYTES)).data.decode()
    except UnicodeDecodeError as error:
        raise InvalidFile(
            "a chat template must be UTF-8", source=printable(whole), offset=error.start
        ) from error
    except SourceNotFound as error:
        error.hint = "Give the path of a chat template, or its text"
        raise
