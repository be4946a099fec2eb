"""What a file holds and who would serve it, without keeping a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from ._source import MOCK, SourceLike, read_source
from .backends.core import CoreBackend
from .backends.hf import HFBackend
from .backends.hybrid import reason_of
from .backends.mock import MockBackend
from .errors import BackendUnavailable, HostError, TokenizerError, Unsupported
from .special import SpecialTokens

__all__ = ["TokenizerInfo", "get_tokenizer_info"]


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    source: str
    format: str
    reason: str
    """Why it was recognised as that format."""
    size: int | None
    """Bytes. None for a file that was recognised without reading all of it."""
    sha256: str | None
    encoder: str | None
    """Who would encode: `core`, `hf`, `mock`; None: nobody here."""
    falls_back: str | None = None
    """What the core lacks for this file, such as `normalizer:Precompiled`."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """Model, steps and counts, as the core reports them; empty where it refuses the file."""
    special_tokens: SpecialTokens = field(default_factory=SpecialTokens)

    def as_dict(self) -> dict[str, Any]:
        """All of it in types that JSON has."""
        return asdict(self)


def get_tokenizer_info(source: SourceLike) -> TokenizerInfo:
    """Recognises a file and looks inside. What is no tokenizer raises the error that loading it
    would; a tokenizer that the core cannot serve is described as far as possible."""
    if source == MOCK:
        return TokenizerInfo(
            MOCK, "mock", "its name", 0, None, "mock", special_tokens=MockBackend().special_tokens()
        )
    try:
        data, name = read_source(source)
    except Unsupported as error:
        file_format = (error.feature or "").removeprefix("format:")
        return TokenizerInfo(
            error.source or "", file_format, error.message, None, None, None, error.feature
        )
    found = _detect(data)
    known = (name, found["format"], found["reason"], len(data), sha256(data).hexdigest())
    try:
        core = CoreBackend.load(data, build=None, source=name)
    except (Unsupported, HostError, BackendUnavailable) as error:
        return _without_core(known, data, error)
    try:
        return TokenizerInfo(
            *known, "core", pipeline=core.info(), special_tokens=core.special_tokens()
        )
    finally:
        core.close()


def _detect(data: bytes) -> dict[str, Any]:
    from . import _host

    try:
        return _host.detect(data)
    except (HostError, BackendUnavailable) as error:
        return {"format": "unknown", "reason": f"the core is not available: {error.message}"}


def _without_core(
    known: tuple[str, str, str, int, str], data: bytes, error: TokenizerError
) -> TokenizerInfo:
    missing = reason_of(error)
    hf = HFBackend(data, known[0])
    try:
        hf.load()
    except TokenizerError:
        return TokenizerInfo(*known, None, falls_back=missing)
    return TokenizerInfo(*known, "hf", falls_back=missing, special_tokens=hf.special_tokens())
