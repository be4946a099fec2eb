"""What transformers makes of the files beside a tokenizer, as instructions for the core.

The rules are those of its `TokenizersBackend` (5.23), replayed in its order:

1. The tokens of `added_tokens_decoder`, by id, with their flags. A configuration without that list
   has its tokens in `added_tokens.json`, which is without flags and yields to the tokenizer's file.
2. The named tokens (`bos_token`, ..., any other `*_token`), which become special, and
   `extra_special_tokens`. Both keep what the tokenizer's file or the list says of them. Of one
   that is in neither, the last mention that is unlike all before it gives the flags.
3. With `add_bos_token` or `add_eos_token`: a post-processor that adds just these two. From a folder
   with a tokenizer.json, transformers 5 does this only when it is told so by argument
   (`from_pretrained(folder, add_bos_token=True)`), while 4 did it by the configuration alone.
"""

from __future__ import annotations

import json
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
    tokens = [token for token in _tokens(sidecars, config, named) if token["content"]]
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
        extra = sidecars.of("special_tokens_map.json").get(_EXTRA)
        if isinstance(extra, list):
            extra = [{**one, "special": True} if isinstance(one, Mapping) else one for one in extra]
            own = own if isinstance(own, list) else []
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
    found = config.get(_EXTRA, config.get(_ADDITIONAL))
    extra: list[object] = found if isinstance(found, list) else []
    names = {_text(token) for token in named.values()}
    for stated in sidecars.added_tokens().values():
        yield _instruction(
            stated, special=bool(stated.get("special")) or stated["content"] in names
        )
    if "added_tokens_decoder" not in config:
        # They are without flags, and yield to what the tokenizer's file says of them.
        for content in _by_id(sidecars.of("added_tokens.json")):
            special = content in names or content in extra
            plain = {"content": content, "normalized": not special}
            yield {**_instruction(plain, special=special), "if_new": True}
    # A token that is there keeps its flags; one that is listed nowhere else becomes special.
    new: dict[str | None, dict[str, Any]] = {}
    seen: set[str] = set()
    for token in (*named.values(), *extra):
        mention = json.dumps(token, sort_keys=True)
        if mention in seen:
            continue
        seen.add(mention)
        text = _text(token)
        special = text in names or not isinstance(token, Mapping) or bool(token.get("special"))
        new[text] = {**_instruction(token, special=special), "if_new": True}
    yield from new.values()
    if "added_tokens_decoder" not in config:
        for token in named.values():
            yield {"content": _text(token) or "", "special": True}


def _instruction(token: object, *, special: bool) -> dict[str, Any]:
    flags = token if isinstance(token, Mapping) else {}
    return {
        "content": _text(token) or "",
        "flags": {name: bool(flags.get(name, False)) for name in _FLAGS},
        "special": special,
    }


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
