"""Which backend encodes and which decodes: argument, then environment, then default."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from ..errors import InvalidArgument

__all__ = ["DECODERS", "ENCODERS", "choose_decoder", "choose_encoder"]

log = logging.getLogger("pywasmtok")

ENCODERS = ("auto", "core", "hf", "default", "fastokens")
DECODERS = ("hf", "core")

_ENCODER_VALUES = {
    "auto": "auto",
    "core": "core",
    "wasm": "auto",
    "fast": "auto",
    "fastokens": "auto",
    "fasttokens": "auto",
    "hf": "hf",
    "huggingface": "hf",
    "default": "default",
    "slow": "hf",
}
# The values of Dynamo's own variables. Its fast backends fall back, as `auto` does; `default` is
# HuggingFace for the files that it reads.
_DYNAMO_VALUES = {"default": "default", "fastokens": "auto", "basetenkenizer": "auto"}
_DYNAMO_BACKEND_VALUES = {"default": "default", "fast": "auto"}
_ENCODER_VARIABLES = (
    ("PYWASMTOK_ENCODER", _ENCODER_VALUES),
    ("DYN_TOKENIZER", _DYNAMO_VALUES),
    ("DYN_TOKENIZER_BACKEND", _DYNAMO_BACKEND_VALUES),
)
_DECODER_VALUES = {"hf": "hf", "huggingface": "hf", "default": "hf", "core": "core", "wasm": "core"}


def choose_encoder(argument: str | None) -> str:
    """`default` stands for `hf` where HuggingFace reads the file, and for `auto` where not."""
    if argument is not None:
        return _ENCODER_VALUES[_one_of("encoder", argument, ENCODERS)]
    return _from_environment(_ENCODER_VARIABLES, "auto")


def choose_decoder(argument: str | None) -> str:
    if argument is not None:
        return _one_of("decoder", argument, DECODERS)
    return _from_environment((("PYWASMTOK_DECODER", _DECODER_VALUES),), "hf")


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise InvalidArgument(f"{what}={value!r} is none of {', '.join(known)}")
    return value


def _from_environment(variables: tuple[tuple[str, Mapping[str, str]], ...], default: str) -> str:
    """The first variable that is set decides; a value that it does not know is named."""
    for name, values in variables:
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
