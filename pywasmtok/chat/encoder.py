"""The tokenizer that encodes rendered chats: the same file, read as transformers reads it.

It has no truncation and no padding, and it finds in text what the templates write as control
tokens: tokens that stand only in the configuration, and those of formats whose library never looks
for them in text (SentencePiece, tekken).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidFile, TokenizerError
from ..loading.control import control_for_core
from ..loading.literals import literal_text
from ..loading.sources.templates import TemplatePlace
from ..loading.sources.transformers_rules import config_for_core
from ..tokenizer.recipe import makers

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["encoder_of_chats"]

log = logging.getLogger("pywasmtok")

_ROLES: Final = ("bos", "eos", "sep", "pad", "cls", "mask")
# The shape that only names of control tokens have.
_SHAPED: Final = re.compile(r"<\|[\w./:-]{1,64}\|>")


def encoder_of_chats(tok: Tokenizer, places: Iterable[TemplatePlace]) -> Tokenizer:
    texts = [text for place in places for text in place.templates.values()]
    literals = "\0".join(map(literal_text, texts))
    encoder = _of_any_length(tok)
    missing = _not_found(encoder, _control_tokens(tok, literals))
    if missing:
        encoder = _configured(tok, missing)
        lost = _not_found(encoder, missing)
        if lost:
            log.warning("Chats of %s have no token for %s", tok.source, ", ".join(lost))
    unknown = {name for name in _SHAPED.findall(literals) if encoder.token_to_id(name) is None}
    if unknown:
        log.warning(
            "The chat template of %s writes %s, which neither the tokenizer nor its configuration "
            "has as a token: chats have letters there",
            tok.source,
            ", ".join(sorted(unknown)),
        )
    return encoder


def _control_tokens(tok: Tokenizer, literals: str) -> Iterator[str]:
    """What transformers takes from the configuration; and of all else that the configuration or the
    file states, that which the templates write or may print as a role."""
    special, beside = tok.special_tokens, tok.recipe.sidecars
    option: Mapping[str, Any] = control_for_core(beside, None)
    listed = beside.of("tokenizer_config.json").get("added_tokens_decoder")
    contents = [
        token["content"]
        for token in (listed.values() if isinstance(listed, Mapping) else ())
        if isinstance(token, Mapping) and isinstance(token.get("content"), str)
    ]
    roles = {getattr(special, role) for role in _ROLES} | set(beside.roles().values())
    stated = (*option.get("ends", ()), *option.get("named", ()), *contents)
    stated = (*stated, *beside.of("added_tokens.json"), *special)
    written: Iterable[str] = (name for name in stated if name in roles or name in literals)
    with contextlib.suppress(InvalidFile):
        taken = [token["content"] for token in _configuration(tok).get("added_tokens", [])]
        written = itertools.chain(taken, written)
    for name in dict.fromkeys(written):
        if name and name != special.unk:
            yield name


def _configuration(tok: Tokenizer) -> dict[str, Any]:
    """What transformers adds from the configuration, as a load option."""
    load = json.loads(tok.recipe.load) if tok.recipe.load else {}
    return load.get("config") or config_for_core(tok.recipe.sidecars, bos_and_eos=False) or {}


def _not_found(tok: Tokenizer, names: Iterable[str]) -> list[str]:
    """Those that, alone in a text, are not encoded as their token. No caller has sent these texts:
    bounds on calls do not concern them."""
    added, core = tok.added_tokens, tok.core_backend

    def is_found(name: str) -> bool:
        if name not in added:
            return False
        if core is None or tok.format == "tokenizer.json":
            return True
        # Other libraries find not all of them in text.
        try:
            return added[name].id in core.encode(name, None, False).ids
        except TokenizerError:
            return False

    return [name for name in names if not is_found(name)]


def _of_any_length(tok: Tokenizer) -> Tokenizer:
    """The same file without the truncation and the padding that it states, if it states any."""
    core = tok.core_backend
    if tok.format != "tokenizer.json":
        return tok
    if core is not None and core.info["truncation"] is None and core.info["padding"] is None:
        return tok
    return _loaded_with(tok, {"any_length": True})


def _configured(tok: Tokenizer, missing: list[str]) -> Tokenizer:
    """The same file with what transformers adds from the configuration, and with these tokens."""
    config = _configuration(tok)
    tokens = config.get("added_tokens", [])
    known = {token["content"] for token in tokens}
    own = [{"content": name, "special": True} for name in missing if name not in known]
    config = {**config, "added_tokens": [*tokens, *own]}
    return _loaded_with(tok, {"any_length": True, "config": config})


def _loaded_with(tok: Tokenizer, options: Mapping[str, Any]) -> Tokenizer:
    """The same file, loaded once more with these options beside its own."""
    load = json.loads(tok.recipe.load) if tok.recipe.load else {}
    changed = tok.recipe._replace(load=json.dumps({**load, **options}).encode())
    encoder = makers.from_recipe(changed)
    encoder.chat_sandbox = tok.chat_sandbox
    return encoder
