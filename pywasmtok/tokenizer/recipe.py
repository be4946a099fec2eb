"""What a tokenizer is made of, and what makes one of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidFile
from .special.tokens import ROLES

if TYPE_CHECKING:
    from .._host import Snapshots
    from ..loading.sources.lazy import LazyFile
    from ..loading.sources.templates import TemplatePlace
    from .limits import Limits
    from .tokenizer import Tokenizer

__all__ = ["NO_SIDECARS", "BackendInfo", "Options", "Recipe", "Sidecars", "makers"]

_IDS = 1 << 32
_MOST_DIGITS = 10


class BackendInfo(NamedTuple):
    """The backends that encode and decode, and why these."""

    encoder: str
    """`core`, `hf` or `mock`."""
    decoder: str
    reason: str | None
    """Why HuggingFace serves in place of the core: the missing feature (`normalizer:Precompiled`)
    or the kind of an error. With `encoder == "core"` it is the reason of the latest call that
    fell back. None: nothing ever did."""
    build: str | None
    """The build of the core that takes part, if it does."""
    decoder_reason: str | None = None
    """Why the core decodes where HuggingFace was to: what a tokenizer.json cannot say."""


class Options(NamedTuple):
    """Choices that are settled: the environment is not read again."""

    encoder: str
    decoder: str
    build: str | None
    preload: bool
    threads: int | None = None
    snapshots: Snapshots = None


class Sidecars(NamedTuple):
    """What stands beside a tokenizer, by file name. Absent files are empty objects."""

    files: tuple[str, ...] = ()
    """Those that were read."""
    problems: tuple[str, ...] = ()
    """What is wrong with those that could not be."""
    objects: Mapping[str, Mapping[str, Any]] = {}
    template_places: tuple[TemplatePlace, ...] = ()
    """The places that state chat templates, the one that counts first."""

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
        lists = "added_tokens_decoder" in config
        first, then = (config, mapping) if lists else (mapping, config)
        # A name that the extra tokens state, too, is theirs.
        extra = [source.get("extra_special_tokens") for source in (first, then)]
        sources = (*extra[: 1 if lists else 2], first, then)
        named: dict[str, str] = {}
        for role in ROLES:
            for source in sources:
                token = _content(_field(source, f"{role}_token"))
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
            is_id = number.isdecimal() and len(number) <= _MOST_DIGITS
            if not is_id or not isinstance(_field(token, "content"), str):
                raise InvalidFile(
                    "not an id and a token",
                    source="tokenizer_config.json",
                    path=f"$.added_tokens_decoder[{number[:40]!r}]",
                )
            tokens[int(number)] = token
        return dict(sorted(tokens.items()))

    def require(self) -> None:
        """Raises where a file that was asked for could not be read."""
        if self.problems:
            raise InvalidFile(
                f"what stands beside the tokenizer is needed, but: {'; '.join(self.problems)}"
            )


NO_SIDECARS = Sidecars()


class Recipe(NamedTuple):
    """All that it takes to make an equal tokenizer, in this process or in another."""

    data: bytes | LazyFile
    source: str
    options: Options
    load: bytes = b""
    """Load options of the core, as JSON."""
    sidecars: Sidecars = NO_SIDECARS
    chat_template: TemplatePlace | None = None
    """What the program gave in place of the model's own."""
    limits: Limits | None = None
    """Bounds on calls, where there are any."""


class Makers:
    """The functions that make tokenizers, for rooms below `loading`. `loading.factory` sets them
    when it is imported, and `import pywasmtok` imports it."""

    from_recipe: Callable[[Recipe], Tokenizer]
    from_file: Callable[..., Tokenizer]


makers = Makers()


def _content(token: object) -> str | None:
    """A token is a text, or an object that has it as its content."""
    text = _field(token, "content") if isinstance(token, Mapping) else token
    return text if isinstance(text, str) and text else None


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None
