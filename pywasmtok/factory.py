"""From a source to a tokenizer: read the bytes, choose the backends, fall back where agreed."""

from __future__ import annotations

import logging

from ._choice import choose_decoder, choose_encoder
from ._source import MOCK, SourceLike, read_file, read_source
from .backends import Backend, Hybrid
from .backends.core import CoreBackend
from .backends.hf import HFBackend
from .backends.hybrid import reason_of, with_second_refusal
from .backends.mock import MockBackend
from .errors import (
    BackendFailure,
    BackendUnavailable,
    HostError,
    InvalidArgument,
    TokenizerError,
    Unsupported,
)
from .tokenizer import Options, Recipe, Tokenizer

__all__ = [
    "create_tokenizer",
    "create_tokenizer_from_file",
    "create_tokenizer_with_chat_template",
]

log = logging.getLogger("pywasmtok")


# What the core may answer to a file that is good: the file is then offered to HuggingFace.
CANNOT_SERVE = (Unsupported, HostError, BackendFailure, BackendUnavailable)


def create_tokenizer(
    source: SourceLike,
    *,
    encoder: str | None = None,
    decoder: str | None = None,
    build: str | None = None,
    preload: bool = False,
) -> Tokenizer:
    """A tokenizer from a `tokenizer.json`, a folder that holds one, or `"builtin:demo"`.

    source   a path as str, bytes or Path (its name need not be UTF-8). A str that starts with
             `builtin:` or equals `mock://` is no path; wrap it in Path to make it one.
    encoder  "auto": the core, and HuggingFace for what the core refuses; "core": the core or an
             error; "hf": HuggingFace alone. None: the environment (PYWASMTOK_ENCODER, then
             DYN_TOKENIZER), then "auto".
    decoder  "hf" or "core" (then `tokenizers` is not imported to decode). None: the environment
             (PYWASMTOK_DECODER), then "hf".
    build    the build of the core: "portable", "threads" or "baseline". None: the default one.
    preload  builds HuggingFace's tokenizer now rather than on the first decode.
    """
    options = _options(encoder, decoder, build, preload)
    if source == MOCK:
        return from_recipe(Recipe(b"", MOCK, options._replace(encoder="mock", decoder="mock")))
    return from_recipe(Recipe(*read_source(source), options))


def create_tokenizer_from_file(
    path: SourceLike,
    *,
    encoder: str | None = None,
    decoder: str | None = None,
    build: str | None = None,
    preload: bool = False,
) -> Tokenizer:
    """Like `create_tokenizer`, for exactly this file: no folder, no scheme."""
    options = _options(encoder, decoder, build, preload)
    return from_recipe(Recipe(*read_file(path), options))


def create_tokenizer_with_chat_template(
    source: SourceLike, chat_template: SourceLike, **options: object
) -> Tokenizer:
    """Refused until chat templates are rendered: a tokenizer that ignored one would be wrong."""
    raise Unsupported(
        "chat templates are not rendered yet",
        feature="chat_template",
        hint="create_tokenizer() makes a tokenizer without one",
    )


def _options(encoder: str | None, decoder: str | None, build: str | None, preload: bool) -> Options:
    """Arguments are looked at before any file is read."""
    return Options(choose_encoder(encoder), choose_decoder(decoder), _known_build(build), preload)


def _known_build(build: str | None) -> str | None:
    if build is not None:
        from . import _host

        if build not in _host.builds():
            raise InvalidArgument(f"build={build!r} is none of {', '.join(_host.builds())}")
    return build


def from_recipe(recipe: Recipe) -> Tokenizer:
    if recipe.options.encoder == "mock":
        mock = MockBackend()
        return Tokenizer(Hybrid(mock, mock, source=recipe.source), recipe, build=None)
    hybrid, build = _join(recipe.data, recipe.source, recipe.options)
    if recipe.options.preload and isinstance(hybrid.decoder, HFBackend):
        hybrid.decoder.load()
    return Tokenizer(hybrid, recipe, build=build)


def _join(data: bytes, source: str, options: Options) -> tuple[Hybrid, str | None]:
    """The two halves, and the build of the core if it takes part."""
    hf = HFBackend(data, source)
    core: CoreBackend | None = None
    reason: str | None = None
    must_be_core = "core" in (options.encoder, options.decoder)
    if must_be_core or options.encoder == "auto":
        try:
            core = CoreBackend.load(data, build=options.build, source=source)
        except CANNOT_SERVE as error:
            if must_be_core or not _hf_may_read(error):
                raise
            reason = _fall_back(hf, error, source)
    encoder: Backend = hf if core is None or options.encoder == "hf" else core
    decoder: Backend = core if core is not None and options.decoder == "core" else hf
    if encoder is hf:
        hf.load()
        log.info("Using HuggingFace tokenizer backend")
    elif core is not None:
        log.info("Using core tokenizer backend (%s)", core.build)
    fallback = hf if encoder is not hf and options.encoder == "auto" else None
    hybrid = Hybrid(encoder, decoder, fallback=fallback, reason=reason, source=source)
    return hybrid, core.build if core is not None else None


def _hf_may_read(error: TokenizerError) -> bool:
    """HuggingFace reads tokenizer.json and nothing else."""
    return not (error.feature or "").startswith("format:")


def _fall_back(hf: HFBackend, error: TokenizerError, source: str) -> str:
    """Loads the fallback, or raises the error of the core where that has no use."""
    reason = reason_of(error)
    try:
        hf.load()
    except BackendUnavailable as missing:
        missing.message = f"the core cannot serve it ({reason}), and {missing.message}"
        raise missing from error
    except TokenizerError as second:
        raise with_second_refusal(error, second) from second
    log.warning(
        "Core cannot serve %s, falling back to HuggingFace: %s (%s)", source, reason, error.message
    )
    return reason
