"""What transformers makes of the files beside a tokenizer, as instructions for the core.

The rules are those of its `TokenizersBackend` (5.23), replayed in its order:

1. The tokens of `added_tokens_decoder`, by id, with their flags. A configuration without that list
   has its tokens in `added_tokens.json`, which is without flags and yields to the tokenizer's file.
2. The named tokens (`bos_token`, ..., any other `*_token`) and `extra_special_tokens`, which become
   special.
3. With `add_bos_token` or `add_eos_token`: a post-processor that adds just these two. From a folder
   with a tokenizer.json, transformers 5 does this only when it is told so by argument
   (`from_pretrained(folder, add_bos_token=True)`), while 4 did it by the configuration alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidFile

if TYPE_CHECKING:
    from ...tokenizer.recipe import Sidecars

__all__ = ["config_for_core", "named_tokens"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
_STANDARD = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
_EXTRA, _ADDITIONAL = "extra_special_tokens", "additional_special_tokens"


def config_for_core(sidecars: Sidecars, *, bos_and_eos: bool) -> dict[str, Any] | None:
    """What transformers adds to a tokenizer, as a load option."""
    sidecars.require()
    config, named = _merged(sidecars)
    tokens = list(_tokens(sidecars, config, named))
    instructions: dict[str, Any] = {}
    if tokens:
        instructions["added_tokens"] = tokens
    # As `null` they say nothing.
    if bos_and_eos and any(config.get(f"add_{role}_token") is not None for role in ("bos", "eos")):
        instructions["ends"] = {
            role: _text(named.get(f"{role}_token")) if config.get(f"add_{role}_token") else None
            for role in ("bos", "eos")
        }
    return instructions or None


def named_tokens(sidecars: Sidecars) -> dict[str, str]:
    """The tokens that templates print by name: `bos_token`, `image_token`."""
    named = _merged(sidecars)[1]
    contents = {name: _content(token) for name, token in named.items()}
    return {name: text for name, text in contents.items() if isinstance(text, str)}


def _merged(sidecars: Sidecars) -> tuple[dict[str, Any], dict[str, object]]:
    """The configuration, and its named tokens in the order of transformers: its own attributes,
    then those of the model. special_tokens_map.json counts only for a configuration that lists no
    tokens."""
    stated = sidecars.of("tokenizer_config.json")
    config = {key: stated[key] for key in stated if not _is_no_token(key, stated[key])}
    if _ADDITIONAL in config and not config.get(_EXTRA):
        config[_EXTRA] = config.pop(_ADDITIONAL)
    # A name that is stated as an object, or in the other file, yields to these.
    texts = [key for key in config if _is_of_model(key) and isinstance(config[key], str)]
    first = {key: config.pop(key) for key in texts}
    _take_names(config, first)
    if "added_tokens_decoder" not in config:
        own = config.get(_EXTRA)
        config |= sidecars.of("special_tokens_map.json")
        extra = config.get(_EXTRA)
        if isinstance(own, list) and isinstance(extra, list):
            config[_EXTRA] = [*own, *(token for token in extra if token not in own)]
        _take_names(config, first)
    named = {key: config[key] for key in _STANDARD if key in config}
    for key, value in config.items():
        if _is_of_model(key) and isinstance(value, str | Mapping):
            named[key] = value
    named |= first
    return config, {key: named[key] for key in _STANDARD if key in named} | named


def _is_of_model(key: str) -> bool:
    return key.endswith("_token") and key not in _STANDARD


def _is_no_token(key: str, value: object) -> bool:
    """Of the configuration, objects of the model's names count only if they say what they are."""
    if not (_is_of_model(key) and isinstance(value, Mapping)):
        return False
    return value.get("__type") != "AddedToken"


def _take_names(config: dict[str, Any], named: dict[str, Any]) -> None:
    if isinstance(config.get(_EXTRA), Mapping):
        named |= config.pop(_EXTRA)


def _tokens(
    sidecars: Sidecars, config: Mapping[str, Any], named: Mapping[str, object]
) -> Iterator[dict[str, Any]]:
    extra = config.get(_EXTRA, config.get(_ADDITIONAL))
    all_named = [*named.values(), *(extra if isinstance(extra, list) else ())]
    contents = {_text(token) for token in all_named}
    listed = sidecars.added_tokens()
    flags: dict[str, dict[str, Any]] = {}
    for stated in listed.values():
        content = str(stated["content"])
        flags[content] = {name: bool(stated.get(name, False)) for name in _FLAGS}
        special = bool(stated.get("special", False)) or content in contents
        yield {"content": content, "flags": flags[content], "special": special}
    if "added_tokens_decoder" not in config:
        # They are without flags, and yield to what the tokenizer's file says of them.
        for content in _by_id(sidecars.of("added_tokens.json")):
            special = content in contents
            plain = {**dict.fromkeys(_FLAGS, False), "normalized": not special}
            yield {"content": content, "flags": plain, "special": special, "if_new": True}
    for token in all_named:
        text = _text(token)
        if text is None:
            continue
        known = flags.get(text)
        if known is None and isinstance(token, Mapping):
            known = {name: bool(token.get(name, False)) for name in _FLAGS}
        if known is None and "added_tokens_decoder" in config:
            known = dict.fromkeys(_FLAGS, False)
        instruction: dict[str, Any] = {"content": text, "special": True}
        if known is not None:
            instruction["flags"] = known
        yield instruction


def _by_id(added: Mapping[str, Any]) -> list[str]:
    for content, number in added.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise InvalidFile(
                "not a token and its id", source="added_tokens.json", path=f"$[{content!r}]"
            )
    return sorted(added, key=lambda content: int(added[content]))


def _content(token: object) -> object:
    return token.get("content") if isinstance(token, Mapping) else token


def _text(token: object) -> str | None:
    content = _content(token)
    return content if isinstance(content, str) and content else None
