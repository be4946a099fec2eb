"""What stands beside a tokenizer and says which tokens are control tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .literals import literal_text

if TYPE_CHECKING:
    from ..tokenizer.recipe import Sidecars
    from .sources.templates import TemplatePlace

__all__ = ["control_for_core"]

_ENDS = ("bos_token", "eos_token")
_EXTRA = ("additional_special_tokens", "extra_special_tokens")


def control_for_core(sidecars: Sidecars, template: TemplatePlace | None) -> dict[str, Any]:
    """The load option `control`; `template` is the one that a caller put in the place of others."""
    config = sidecars.of("tokenizer_config.json")
    ends: dict[str, None] = {}
    named: dict[str, None] = {}
    for source in (config, sidecars.of("special_tokens_map.json")):
        for key, value in source.items():
            # Unknown text becomes the unknown token, which forges nothing.
            if key.endswith("_token") and key != "unk_token":
                (ends if key in _ENDS else named).update(dict.fromkeys(_contents([value])))
            elif key in _EXTRA:
                listed = value.values() if isinstance(value, Mapping) else value
                named |= dict.fromkeys(_contents(listed))
    listed = config.get("added_tokens_decoder")
    for token in listed.values() if isinstance(listed, Mapping) else ():
        if isinstance(token, Mapping) and token.get("special") is True:
            named |= dict.fromkeys(_contents([token]))
    option: dict[str, Any] = {}
    chosen = config.get("chat_control_tokens")
    if isinstance(chosen, list):
        # The configuration lists them in place of what its template writes.
        named |= dict.fromkeys(_contents(chosen))
    else:
        places = sidecars.template_places if template is None else (template,)
        texts = [literal_text(text) for place in places for text in place.templates.values()]
        option["literals"] = "\0".join(dict.fromkeys(texts))
    option |= {"ends": list(ends), "named": list(named), "ids": list(sidecars.eos_token_ids())}
    return {key: value for key, value in option.items() if value}


def _contents(tokens: Iterable[object] | object) -> Iterator[str]:
    for token in tokens if isinstance(tokens, Iterable) and not isinstance(tokens, str) else ():
        text = token.get("content") if isinstance(token, Mapping) else token
        # No token is called like a lone surrogate.
        if isinstance(text, str) and text and text == text.encode(errors="ignore").decode():
            yield text
