"""How a tenant's file is to be read: options that JSON can hold, part of the file's identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidArgument
from ..loading.sources.sidecars import givable, given_sidecars
from ..loading.sources.source import Request, Source
from ..loading.sources.templates import TemplatePlace, of_value
from ..tokenizer.recipe import NO_SIDECARS, Sidecars

if TYPE_CHECKING:
    from ..loading.sources import SourceLike
    from ..loading.sources.lazy import LazyFile
    from ..tokenizer.limits import Limits

__all__ = ["Reading", "digest_of", "read_source"]

_DEFAULTS: Final[dict[str, Any]] = {
    "encoding": None,
    "pattern": None,
    "special_tokens": None,
    "gguf_compat": "llama.cpp",
    "apply_config": False,
    "encoder": None,
    "chat_template": None,
    "parts": None,
    "sidecars": None,
}
_FOR_READERS: Final = ("pattern", "special_tokens", "encoding", "gguf_compat", "apply_config")

# Part of every digest: a change of the format changes all names.
_OPTIONS: Final = b"pywasmtok-tokenizer-1\n"

# The place of a template that came with the options. Such a template is not trusted.
_PLACE: Final = "options"


class Reading:
    """Checked options, with the one text that the digest is made of."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        unknown = options.keys() - _DEFAULTS.keys()
        if unknown:
            raise InvalidArgument(
                f"no option of a file: {', '.join(sorted(map(str, unknown)))}",
                hint=f"There are {', '.join(_DEFAULTS)}",
            )
        said = {name: value for name, value in options.items() if value != _DEFAULTS[name]}
        try:
            self.text = json.dumps(said, sort_keys=True, allow_nan=False) if said else ""
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(f"options of a file must be plain data: {error}") from None
        # A copy that the caller cannot change, in which tuples are lists.
        self.options: dict[str, Any] = json.loads(self.text) if said else {}
        readers = {name: self.options[name] for name in _FOR_READERS if name in self.options}
        self._request = Request(**readers).checked()
        encoder = self.options.get("encoder")
        if encoder not in (None, "hf"):
            raise InvalidArgument(f'encoder={encoder!r} is neither None, for the core, nor "hf"')
        self.by_hf = encoder is not None
        self._parts = _parts(self.options.get("parts"))
        sidecars = self.options.get("sidecars")
        self.sidecars: Sidecars = NO_SIDECARS if sidecars is None else given_sidecars(sidecars)
        self.chat_template = _template(self.options.get("chat_template"))

    def load(self, data: bytes | LazyFile, limits: Limits) -> bytes:
        """The options of the core."""
        source = Source(data, "", parts=self._parts, sidecars=self.sidecars)
        return source.options(self._request._replace(limits=limits), self.chat_template)


def _parts(parts: Any) -> tuple[tuple[str, int], ...]:
    if parts is None:
        return ()
    good = isinstance(parts, list) and all(
        isinstance(part, list)
        and len(part) == 2
        and isinstance(part[0], str)
        and isinstance(part[1], int)
        and not isinstance(part[1], bool)
        and part[1] >= 0
        for part in parts
    )
    if not good:
        raise InvalidArgument("parts must be a list of [name, length]")
    return tuple((name, length) for name, length in parts)


def _template(template: Any) -> TemplatePlace | None:
    if template is None:
        return None
    found = of_value(_PLACE, template)
    if found is None:
        raise InvalidArgument("chat_template must be a template, or an object of templates by name")
    return found


def digest_of(data: bytes | LazyFile | str, options: Mapping[str, Any] | None = None) -> str:
    """The name of a file with options: the SHA-256 of its bytes (or `data`, if that is one as
    hexadecimal text) if there are no options, and else one over both."""
    if not isinstance(data, str):
        data = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else data.sha256()
    text = Reading(options or {}).text
    return joined(data, text)


def joined(sha256: str, options: str) -> str:
    if not options:
        return sha256
    return hashlib.sha256(_OPTIONS + f"{sha256}\n{options}".encode()).hexdigest()


def read_source(
    source: SourceLike, limits: Limits | None = None, **options: Any
) -> tuple[bytes | LazyFile, dict[str, Any]]:
    """What `create_tokenizer` takes (a path, a folder, `builtin:demo`, the name of a model), as
    bytes and the options of `Tenant.add`: for tokenizers that the program itself offers."""
    from ..loading.sources import read_source as read

    readers = {name: value for name, value in options.items() if name in _FOR_READERS}
    found = read(source, Request(**readers, limits=limits).checked())
    made: dict[str, Any] = {**options}
    if found.parts:
        made["parts"] = [list(part) for part in found.parts]
    if found.encoding is not None and "encoding" not in made:
        made["encoding"] = found.encoding
    beside = givable(found.sidecars)
    if beside:
        made["sidecars"] = beside
    return found.data, Reading(made).options
