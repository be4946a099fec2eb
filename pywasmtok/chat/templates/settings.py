"""What the configurations beside a tokenizer say of padding, truncation and names.

A value that makes no sense counts as missing: a call that needs it must state it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...tokenizer.recipe import Sidecars
    from ...tokenizer.special.tokens import SpecialTokens
    from ...tokenizer.tokenizer import Tokenizer

__all__ = ["Settings", "settings_of", "special_tokens_map"]

CONFIG = "tokenizer_config.json"

# In these classes of transformers batches are padded on the left.
_PAD_LEFT = (
    "CodeLlamaTokenizer",
    "CohereTokenizer",
    "GemmaTokenizer",
    "LlamaTokenizer",
    "Siglip2Tokenizer",
    "XLNetTokenizer",
)
# For these types of models it takes none of them, whatever class the configuration names.
_OF_NO_CLASS = ("llava", "ministral", "mistral", "mixtral", "phi3", "pixtral")

# transformers writes 10**30 for "no limit", and takes whatever is above this for it.
_NO_LIMIT = 10**20


class Settings(NamedTuple):
    padding_side: str = "right"
    truncation_side: str = "right"
    max_length: int | None = None
    """How long a text the model takes; None: not stated."""
    type_ids: bool = False
    attention_mask: bool = True
    pad_token: str | None = None
    pad_type_id: int = 0
    control_tokens: tuple[str, ...] | None = None
    """`chat_control_tokens`: what counts as control beside the special tokens."""


def settings_of(tok: Tokenizer, beside: Sidecars) -> Settings:
    config = beside.of(CONFIG)
    stated = _sides(tok, beside)
    for side in ("padding_side", "truncation_side"):
        if config.get(side) in ("left", "right"):
            stated[side] = config[side]
    names = config.get("model_input_names")
    if isinstance(names, list):
        stated["type_ids"] = "token_type_ids" in names
        stated["attention_mask"] = "attention_mask" in names
    longest = config.get("model_max_length", config.get("max_len"))
    # Some files have 1e30, which is a float.
    if isinstance(longest, int | float) and not isinstance(longest, bool):
        stated["max_length"] = int(longest) if 0 <= longest <= _NO_LIMIT else None
    control = config.get("chat_control_tokens")
    if isinstance(control, list):
        stated["control_tokens"] = tuple(token for token in control if isinstance(token, str))
    pad = special_tokens_map(tok.special_tokens, beside).get("pad_token")
    return Settings(**stated, pad_token=pad)  # type: ignore[arg-type]


def _sides(tok: Tokenizer, beside: Sidecars) -> dict[str, object]:
    """What counts where the configuration states no side: the tokenizer's file, then the class."""
    core, config = tok.core_backend, beside.of("config.json")
    stated = beside.of(CONFIG).get("tokenizer_class") or config.get("tokenizer_class")
    name = str(stated).removesuffix("Fast")
    sides: dict[str, object] = {}
    if name in _PAD_LEFT:
        info = {} if core is None else core.info
        parts = [*(info.get("decoders") or ()), *(info.get("pre_tokenizers") or ())]
        is_byte_level = any(part.startswith("ByteLevel") for part in parts)
        is_llama_3 = name == "LlamaTokenizer" and is_byte_level
        if not (is_llama_3 or str(config.get("model_type")).startswith(_OF_NO_CLASS)):
            sides["padding_side"] = "left"
    has_sides = core is None or core.info["padding"] or core.info["truncation"]
    if tok.format == "tokenizer.json" and has_sides:
        definition = json.loads(bytes(tok.recipe.data))
        for part in ("padding", "truncation"):
            if isinstance(definition.get(part), Mapping):
                sides[f"{part}_side"] = str(definition[part].get("direction", "right")).lower()
    return sides


def special_tokens_map(special: SpecialTokens, beside: Sidecars) -> dict[str, str]:
    """`bos_token`, `image_token` and the like, as templates name them. transformers has them from
    the configurations; what those leave out, the tokenizer's own file may say."""
    from ...loading.sources.transformers_rules import named_tokens
    from ...tokenizer.special.tokens import ROLES

    stated = beside.roles()
    tokens = {role: stated.get(role) or getattr(special, role) for role in ROLES}
    standard = {f"{role}_token": token for role, token in tokens.items() if token is not None}
    return standard | named_tokens(beside)
