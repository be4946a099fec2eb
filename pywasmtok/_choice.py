"""Which backend encodes and which decodes: argument, then environment, then default."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from .errors import InvalidArgument

__all__ = ["DECODERS", "ENCODERS", "check_threads", "choose_decoder", "choose_encoder"]

log = logging.getLogger("pywasmtok")

ENCODERS = ("auto", "core", "hf")
DECODERS = ("hf", "core")

# Dynamo spelled its two backends differently from release to release; each spelling that it ever
# took is understood. Its fast backend always fell back, so those values mean `auto`.
_ENCODER_VALUES = {
    "auto": "auto",
    "core": "core",
    "wasm": "auto",
    "fast": "auto",
    "fastokens": "auto",
    "fasttokens": "auto",
    "hf": "hf",
    "huggingface": "hf",
    "default": "hf",
    "slow": "hf",
}
_DECODER_VALUES = {"hf": "hf", "huggingface": "hf", "default": "hf", "core": "core", "wasm": "core"}


def choose_encoder(argument: str | None) -> str:
    if argument is not None:
        return _one_of("encoder", argument, ENCODERS)
    return _from_environment(("PYWASMTOK_ENCODER", "DYN_TOKENIZER"), _ENCODER_VALUES, "auto")


def choose_decoder(argument: str | None) -> str:
    if argument is not None:
        return _one_of("decoder", argument, DECODERS)
    return _from_environment(("PYWASMTOK_DECODER",), _DECODER_VALUES, "hf")


def check_threads(threads: object) -> int | None:
    """None leaves it to the environment and the machine."""
    if threads is None:
        return None
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InvalidArgument(f"threads={threads!r} is neither None nor a number from 1 on")
    return threads


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise InvalidArgument(f"{what}={value!r} is none of {', '.join(known)}")
    return value


def _from_environment(names: tuple[str, ...], values: Mapping[str, str], default: str) -> str:
    """The first variable that is set decides; a value that it does not know is named."""
    for name in names:
        given = os.environ.get(name, "").strip()
        if not given:
            continue
        known = values.get(given.lower())
        if known is None:
            log.warning(
                "Unrecognized %s value %r, using %r (known: %s)",
                name,
                given,
                default,
                ", ".join(values),
            )
            return default
        return known
    return default
