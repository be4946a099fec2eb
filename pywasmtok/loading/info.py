"""What a source holds and which backend would serve it, without keeping a tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from ..backends.core import CoreBackend
from ..backends.hf import HFBackend
from ..backends.hybrid import reason_of
from ..errors import BackendUnavailable, HostError, LimitExceeded, TokenizerError
from ..tokenizer.fingerprint import of_file
from ..tokenizer.limits import Limits
from ..tokenizer.special.tokens import SpecialTokens
from .conversion import Conversion
from .factory import CANNOT_SERVE, hf_may_read
from .sources import MOCK, Request, Source, SourceLike, read_source
from .sources.templates import TemplatePlace, of_gguf

__all__ = ["TokenizerInfo", "get_tokenizer_info"]


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    source: str
    format: str
    reason: str
    """Why it was recognised as that format."""
    size: int | None
    """Bytes of the file."""
    sha256: str | None
    """Of the bytes that were read; of a GGUF file these end before the tensors."""
    encoder: str | None
    """The backend that would encode: `core`, `hf`, `mock`; None: none here."""
    falls_back: str | None = None
    """What the core lacks for this file, such as `normalizer:Precompiled`."""
    decoder: str | None = None
    """The backend that would decode by default."""
    decoder_reason: str | None = None
    """Why it is not HuggingFace."""
    chosen: str | None = None
    """The file that was taken out of a folder."""
    passed_over: tuple[str, ...] = ()
    """The others, and why not."""
    sidecars: tuple[str, ...] = ()
    """Configurations beside it that were read."""
    chat_templates: Mapping[str, int] = field(default_factory=dict)
    """Name and length in characters of each that counts."""
    chat_template_places: tuple[str, ...] = ()
    """Places that state chat templates: the one that counts, then those that it outranks."""
    fingerprint: str | None = None
    decoding_fingerprint: str | None = None
    """Those of the tokenizer that this would be; see docs/hashes.md."""
    eos_token_ids: tuple[int, ...] = ()
    """Ids that end a text, as the tokenizer's file and the configurations beside it say."""
    notes: tuple[str, ...] = ()
    """What the reader had to assume, and what is wrong with the files beside it."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """Model, steps and counts, as the core reports them; empty where it refuses the file."""
    special_tokens: SpecialTokens = field(default_factory=SpecialTokens)

    def as_dict(self) -> dict[str, Any]:
        """All of it in types that JSON has."""
        return asdict(self)


def get_tokenizer_info(
    source: SourceLike,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    encoding: str | None = None,
    gguf_compat: str = "llama.cpp",
    apply_config: bool | str = False,
    model_map: Mapping[str, str] | SourceLike | None = None,
    limits: Limits | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: SourceLike | None = None,
    offline: bool | None = None,
) -> TokenizerInfo:
    """Recognises a source, as `create_tokenizer` takes it, and looks inside. What is no tokenizer
    raises the error that loading it would; a tokenizer that the core cannot serve is described as
    far as possible."""
    if source == MOCK:
        from ..backends.mock import MockBackend

        mock = MockBackend().special_tokens()
        return TokenizerInfo(MOCK, "mock", "its name", 0, None, "mock", special_tokens=mock)
    request = Request(
        pattern,
        special_tokens,
        encoding,
        gguf_compat,
        apply_config,
        model_map,
        limits,
        revision,
        token,
        cache_dir,
        offline,
    ).checked()
    return describe(read_source(source, request), request)


def describe(found: Source, request: Request) -> TokenizerInfo:
    data = bytes(found.data)
    found = found._replace(data=data)
    load = found.options(request)
    facts = _facts(found)
    try:
        core = CoreBackend.load(data, build=None, source=found.name, options=load)
    except LimitExceeded:
        raise
    except CANNOT_SERVE as error:
        return _without_core(facts, found, load, error)
    try:
        pipeline = dict(core.info)
        facts["notes"] += tuple(pipeline.pop("notes", ()))
        inside = of_gguf(pipeline.pop("chat_templates", ()))
        facts |= _templates(found, () if inside is None else (inside,))
        facts["format"] = pipeline["format"]
        special = core.special_tokens().of_format(facts["format"])
        special = special.completed(found.sidecars, core.token_to_id)
        facts["eos_token_ids"] = special.eos_token_ids
        facts |= _fingerprints(found, load)
        decoder_reason = None
        if facts["format"] != "tokenizer.json":
            decoder_reason = Conversion(data, load, found.name).why_not("decode")
        return TokenizerInfo(
            **facts,
            encoder="core",
            decoder="hf" if decoder_reason is None else "core",
            decoder_reason=decoder_reason,
            pipeline=pipeline,
            special_tokens=special,
        )
    finally:
        core.close()


def _facts(found: Source) -> dict[str, Any]:
    """The facts that are known before the file is parsed."""
    verdict = _detect(found)
    return {
        "source": found.name,
        "format": verdict["format"],
        "reason": verdict["reason"],
        "size": len(found.data) if found.size is None else found.size,
        "sha256": found.sha256 or sha256(bytes(found.data)).hexdigest(),
        "chosen": found.chosen,
        "passed_over": found.passed_over,
        "sidecars": found.sidecars.files,
        **_templates(found),
        "eos_token_ids": found.sidecars.eos_token_ids(),
        "notes": found.sidecars.problems,
    }


def _templates(found: Source, inside: tuple[TemplatePlace, ...] = ()) -> dict[str, Any]:
    """Templates beside the tokenizer come before those inside its file."""
    places = (*found.sidecars.template_places, *inside)
    counts = places[0].templates if places else {}
    return {
        "chat_templates": {name: len(text) for name, text in counts.items()},
        "chat_template_places": tuple(place.place for place in places),
    }


def _detect(found: Source) -> dict[str, Any]:
    if found.parts:
        names = " and ".join(name for name, _ in found.parts)
        return {"format": "vocab+merges", "reason": f"{names} side by side"}
    from .. import _host

    try:
        return _host.detect(bytes(found.data))
    except (HostError, BackendUnavailable) as error:
        return {"format": "unknown", "reason": f"the core is not available: {error.message}"}
    except TokenizerError as error:
        error.source = found.name
        raise


def _fingerprints(found: Source, load: bytes) -> dict[str, str]:
    fingerprints = of_file(bytes(found.data), load, found.name)
    return {
        "fingerprint": fingerprints.encoding,
        "decoding_fingerprint": fingerprints.decoding,
    }


def _without_core(
    facts: dict[str, Any], found: Source, load: bytes, error: TokenizerError
) -> TokenizerInfo:
    missing = reason_of(error)
    data = bytes(found.data)
    hf = HFBackend(data, found.name)
    try:
        if not hf_may_read(error, data, load):
            raise error
        hf.load()
    except TokenizerError:
        return TokenizerInfo(**facts, encoder=None, falls_back=missing)
    special = hf.special_tokens().completed(found.sidecars, hf.token_to_id)
    facts["eos_token_ids"] = special.eos_token_ids
    if not isinstance(error, HostError | BackendUnavailable):
        facts |= _fingerprints(found, b"")
    return TokenizerInfo(
        **facts, encoder="hf", decoder="hf", falls_back=missing, special_tokens=special
    )
