"""From a source to a tokenizer: read the bytes, choose the backends, fall back where agreed."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ..backends import Backend, Hybrid
from ..backends.core import CoreBackend
from ..backends.hf import HFBackend
from ..backends.hybrid import reason_of, with_second_refusal
from ..errors import (
    BackendFailure,
    BackendUnavailable,
    HostError,
    InvalidArgument,
    LimitExceeded,
    TokenizerError,
    Unsupported,
)
from ..tokenizer.arguments import check_threads
from ..tokenizer.limits import Limits
from ..tokenizer.observed import observed
from ..tokenizer.recipe import Options, Recipe, makers
from ..tokenizer.special.tokens import is_control
from ..tokenizer.tokenizer import Tokenizer
from .choice import choose_decoder, choose_encoder
from .conversion import Conversion
from .lengths import Stated, restated
from .sources import MOCK, Request, Source, SourceLike, is_url, read_file, read_source

if TYPE_CHECKING:
    from .._host import Snapshots
    from .sources.lazy import LazyFile
    from .templates import TemplateLike

__all__ = [
    "CANNOT_SERVE",
    "create_tokenizer",
    "create_tokenizer_from_file",
    "create_tokenizer_with_chat_template",
    "fall_back",
    "hf_may_read",
    "hf_reads",
]

log = logging.getLogger("pywasmtok")

# What the core may answer to a file that is good: the file is then offered to HuggingFace.
CANNOT_SERVE = (Unsupported, HostError, BackendFailure, BackendUnavailable)

TOKENIZER_JSON = "tokenizer.json"

_TO_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([^"\\]*)"')


def create_tokenizer(
    source: SourceLike,
    *,
    encoder: str | None = None,
    decoder: str | None = None,
    build: str | None = None,
    preload: bool = False,
    threads: int | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    encoding: str | None = None,
    gguf_compat: str = "llama.cpp",
    apply_config: bool | str = False,
    model_map: Mapping[str, str] | SourceLike | None = None,
    limits: Limits | None = None,
    snapshots: Snapshots = None,
    truncation: Stated = None,
    padding: Stated = None,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: SourceLike | None = None,
    offline: bool | None = None,
    key: str | None = None,
) -> Tokenizer:
    """A tokenizer from a file of any format, its folder, the name of a model, a hub repository, or
    one that a server has.

    source   a path as str, bytes or Path (its name need not be UTF-8): a file, or a folder, out of
             which the best file is taken. What exists is a path; another str may be the name of a
             model or an encoding ("gpt-4o", "cl100k_base"), a repository ("org/name",
             "bert-base-uncased"), or `builtin:demo`. Wrap a str in Path to have it taken for a path
             only.
             `http://host:port/name` and `https://...` are served by a pywasmtok server, and take
             `limits=Limits(deadline=...)` and `key` only: see docs/client.md
    encoder  "auto": the core, and HuggingFace for what the core refuses; "core": the core or an
             error; "hf": HuggingFace alone. None: the environment (PYWASMTOK_ENCODER, then
             DYN_TOKENIZER, DYN_TOKENIZER_BACKEND), then "auto".
    decoder  "hf" or "core" (then `tokenizers` is not imported to decode). None: the environment
             (PYWASMTOK_DECODER), then "hf".
    build    the build of the core: "portable", "threads" or "baseline". None: the default one.
    preload  builds HuggingFace's tokenizer now rather than on the first decode.
    threads  with how many threads the core does a large text or batch, at most; each call may say
             otherwise. None: with all that PYWASMTOK_THREADS, or else the system, allows.

    For rank files, which do not say it themselves:
    pattern         the regular expression that cuts text into pieces
    special_tokens  special tokens and their ids
    encoding        the name of a known encoding, which settles both

    gguf_compat   for GGUF files: "llama.cpp" or "hf", whose answers to give
    apply_config  adds what transformers reads from the files beside the tokenizer. True: added
                  tokens, and add_bos_token and add_eos_token; "tokens": added tokens alone
    model_map     names of models and what they stand for, before the built-in table; also the path
                  of a TOML file
    truncation    for tokenizer.json, which may state that texts are cut. None: what it states.
                  False: nothing is cut. A mapping sets it, with the names of `enable_truncation`
                  of `tokenizers`: {"max_length": 512}; also stride, strategy, direction
    padding       the same, with the names of `enable_padding`: {"pad_id": 0, "length": 512}; also
                  pad_type_id, pad_token, pad_to_multiple_of, direction. Without a length, a batch
                  is padded to its longest text
    limits        bounds on what a file and each call may ask for (docs/limits.md)
    snapshots     where what was loaded is kept for later loads: a SnapshotStore; False: nowhere.
                  None: the user's (docs/cache.md)
    revision, token, cache_dir, offline   for the hub, as in huggingface_hub
    key           for a server. None: the environment (PYWASMTOK_API_KEY)
    """
    if is_url(source):
        said = locals()
        return _remote(said.pop("source"), said)
    if key is not None:
        raise InvalidArgument("key is for a tokenizer of a server", hint="http://host:port/name")
    options = _options(encoder, decoder, build, preload, threads, snapshots)
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
        truncation,
        padding,
    ).checked()
    if source == MOCK:
        mock = Recipe(b"", MOCK, options._replace(encoder="mock", decoder="mock"))
        return from_recipe(mock._replace(limits=_of_calls(limits)))
    with _time_of(limits):
        return from_source(read_source(source, request), request, options)


def _remote(url: str, said: dict[str, Any]) -> Tokenizer:
    """A tokenizer on a server. Options that concern a file are refused: the server has read the
    file."""
    import inspect

    parameters = inspect.signature(create_tokenizer).parameters
    for name, value in said.items():
        if name not in ("key", "limits") and value != parameters[name].default:
            raise InvalidArgument(f"{name}= is for files; {url} is a server's")
    from ..client.blocking import connect

    return connect(url, said["key"], said["limits"])


def create_tokenizer_from_file(
    path: SourceLike,
    *,
    encoder: str | None = None,
    decoder: str | None = None,
    build: str | None = None,
    preload: bool = False,
    threads: int | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    encoding: str | None = None,
    gguf_compat: str = "llama.cpp",
    apply_config: bool | str = False,
    limits: Limits | None = None,
    snapshots: Snapshots = None,
    truncation: Stated = None,
    padding: Stated = None,
) -> Tokenizer:
    """Like `create_tokenizer`, for exactly this file: no folder, no scheme, no name."""
    options = _options(encoder, decoder, build, preload, threads, snapshots)
    request = Request(
        pattern,
        special_tokens,
        encoding,
        gguf_compat,
        apply_config,
        limits=limits,
        truncation=truncation,
        padding=padding,
    ).checked()
    with _time_of(limits):
        return from_source(read_file(path, request), request, options)


def create_tokenizer_with_chat_template(
    source: SourceLike, chat_template: TemplateLike | None, **options: Any
) -> Tokenizer:
    """Like `create_tokenizer`, whose options it takes, with this chat template in place of the
    model's own: a path, its text, a dict of texts by name, or a function that writes the text.
    None: the model's own."""
    from .control import control_for_core
    from .sources.templates import ARGUMENT
    from .templates import place_of

    place = place_of(ARGUMENT, chat_template)
    tok = create_tokenizer(source, **options)
    if place is None:
        return tok
    recipe = tok.recipe._replace(chat_template=place)
    load = json.loads(recipe.load) if recipe.load else {}
    control = control_for_core(recipe.sidecars, place)
    plain = [name for name, token in tok.added_tokens.items() if not token.special]
    if control == load.get("control", {}) or not any(
        is_control(control, name, special=False) for name in plain
    ):
        tok.recipe = recipe
        return tok
    # The tokens that this template writes are control tokens, too: the file is read again with it.
    tok.close()
    return from_recipe(recipe._replace(load=json.dumps({**load, "control": control}).encode()))


def _options(  # noqa: PLR0917
    encoder: str | None,
    decoder: str | None,
    build: str | None,
    preload: bool,
    threads: int | None,
    snapshots: Snapshots,
) -> Options:
    """Checks the arguments before any file is read."""
    chosen = choose_encoder(encoder), choose_decoder(decoder), _known_build(build)
    if snapshots is not None and snapshots is not False:
        from .._host.snapshots.store import SnapshotStore

        if not isinstance(snapshots, SnapshotStore):
            raise InvalidArgument("snapshots must be a pywasmtok.SnapshotStore, False or None")
    return Options(*chosen, preload, check_threads(threads), snapshots)


def _known_build(build: str | None) -> str | None:
    if build is not None:
        from .. import _host

        if build not in _host.builds():
            raise InvalidArgument(f"build={build!r} is none of {', '.join(_host.builds())}")
    return build


def from_source(source: Source, request: Request, options: Options) -> Tokenizer:
    load, data = source.options(request), source.data
    if request.restates:
        data = _restated(data, load, request, source.name)
    recipe = Recipe(data, source.name, options, load, source.sidecars)
    return from_recipe(recipe._replace(limits=_of_calls(request.limits)))


def _restated(data: bytes | LazyFile, load: bytes, request: Request, name: str) -> bytes | LazyFile:
    if _format_of(bytes(data), load) == TOKENIZER_JSON:
        return restated(data, request.truncation, request.padding) or data
    if request.truncation or isinstance(request.padding, Mapping):
        raise Unsupported(
            "truncation= and padding= are set in a tokenizer.json; this file has no place for them",
            feature="format:truncation",
            source=name,
            hint="tok.truncate(text, n) cuts texts of any tokenizer",
        )
    return data


def _of_calls(limits: Limits | None) -> Limits | None:
    return limits if limits is not None and limits.bounds_calls else None


def _time_of(limits: Limits | None) -> AbstractContextManager[None]:
    """Reading and loading together take no longer than a call may."""
    if limits is None or limits.deadline is None:
        return nullcontext()
    from .._host.calls.deadline import within

    return within(limits.deadline)


@observed("load")
def from_recipe(recipe: Recipe) -> Tokenizer:
    if recipe.options.encoder == "mock":
        from ..backends.mock import MockBackend

        mock = MockBackend()
        hybrid = Hybrid(mock, mock, source=recipe.source)
        return Tokenizer(hybrid, recipe, build=None, file_format="mock")
    if recipe.options.encoder == "default":
        encoder = "hf" if hf_reads(bytes(recipe.data), recipe.load) else "auto"
        recipe = recipe._replace(options=recipe.options._replace(encoder=encoder))
    if recipe.limits is not None and recipe.limits.needs_sandbox:
        recipe = recipe._replace(options=_core_alone(recipe.options))
    hybrid, build, file_format = _join(recipe)
    if recipe.options.preload and isinstance(hybrid.decoder, HFBackend):
        hybrid.decoder.load()
    return Tokenizer(hybrid, recipe, build=build, file_format=file_format)


def _core_alone(options: Options) -> Options:
    """Under a deadline only the core takes part: nothing stops a call of another library."""
    if options.encoder == "hf":
        raise InvalidArgument(
            'encoder="hf" has no bounds on time and memory',
            hint="Limits(deadline=, memory=) need the core",
        )
    return options._replace(encoder="core", decoder="core")


def _join(recipe: Recipe) -> tuple[Hybrid, str | None, str]:
    """The two halves, the build of the core if it takes part, and the format of the file."""
    data, options, load = recipe.data, recipe.options, recipe.load
    core: CoreBackend | None = None
    refusal: TokenizerError | None = None
    must_be_core = "core" in (options.encoder, options.decoder)
    if must_be_core or options.encoder == "auto":
        try:
            core = _load_core(recipe)
        except LimitExceeded:
            raise
        except CANNOT_SERVE as error:
            if must_be_core or not hf_may_read(error, bytes(data), load):
                raise
            refusal = error
    file_format = core.format if core is not None else _format_of(bytes(data), load)
    if file_format == TOKENIZER_JSON and "config" not in _keys(load):
        hybrid = _with_the_same_file(core, refusal, recipe)
    else:
        hybrid = _with_a_conversion(core, recipe)
    return hybrid, core.build if core is not None else None, file_format


def _load_core(recipe: Recipe) -> CoreBackend:
    return CoreBackend.load(
        recipe.data,
        build=recipe.options.build,
        source=recipe.source,
        options=recipe.load,
        threads=recipe.options.threads,
        snapshots=recipe.options.snapshots,
        limits=recipe.limits,
    )


def _with_the_same_file(
    core: CoreBackend | None, refusal: TokenizerError | None, recipe: Recipe
) -> Hybrid:
    """Both libraries read the file as it is."""
    data, source, options = recipe.data, recipe.source, recipe.options
    whole = data if isinstance(data, bytes) else data.__bytes__
    any_length = "any_length" in _keys(recipe.load)
    hf = HFBackend(whole, source, _control(recipe.load), any_length=any_length)
    reason = None if refusal is None else fall_back(hf.load, refusal, source)
    encoder: Backend = hf if core is None or options.encoder == "hf" else core
    decoder: Backend = core if core is not None and options.decoder == "core" else hf
    if encoder is hf:
        hf.load()
    _say_who_encodes(encoder)
    fallback = hf if encoder is not hf and options.encoder == "auto" else None
    return Hybrid(encoder, decoder, fallback=fallback, reason=reason, source=source)


def _with_a_conversion(core: CoreBackend | None, recipe: Recipe) -> Hybrid:
    """HuggingFace gets what the core made of the file, as far as that says the same."""
    data, source, options, load = recipe.data, recipe.source, recipe.options, recipe.load
    conversion = Conversion(data, load, source)
    # What can be decoded alike may be encoded otherwise: only the encoder asks for both.
    hf_encodes = HFBackend(conversion.encoder_document, source, _control(load))
    hf_decodes = HFBackend(conversion.document, source)

    def chosen_decoder() -> tuple[Backend, str | None]:
        why_not = conversion.why_not("decode")
        if why_not is None:
            return hf_decodes, None
        return core or _load_core(recipe), why_not

    encoder: Backend = hf_encodes if core is None or options.encoder == "hf" else core
    if encoder is hf_encodes:
        hf_encodes.load()
    _say_who_encodes(encoder)
    fallback = hf_encodes if encoder is core and options.encoder == "auto" else None
    wants_core = core is not None and options.decoder == "core"
    decoder = core if core is not None and wants_core else chosen_decoder
    return Hybrid(encoder, decoder, fallback=fallback, source=source)


def _say_who_encodes(encoder: Backend) -> None:
    if isinstance(encoder, CoreBackend):
        log.info("Using core tokenizer backend (%s)", encoder.build)
    else:
        log.info("Using HuggingFace tokenizer backend")


def _control(load: bytes) -> dict[str, Any]:
    return dict(json.loads(load).get("control", {})) if load else {}


def _keys(load: bytes) -> set[str]:
    return set(json.loads(load)) if load else set()


def _format_of(data: bytes, load: bytes) -> str:
    """Where the core has not read the file. Of the formats that start with a brace all but one are
    for HuggingFace, and asking the core's detector would load what was not asked for."""
    if "parts" in _keys(load):
        return "vocab+merges"
    start = _TO_FIRST_KEY.match(data)
    if start is not None and start[1] != b"config":
        return TOKENIZER_JSON
    from .. import _host

    try:
        return str(_host.detect(data)["format"])
    except TokenizerError:
        # The core does not recognise the format: HuggingFace reports what is wrong with the file.
        return TOKENIZER_JSON


def hf_may_read(error: TokenizerError, data: bytes, load: bytes) -> bool:
    """HuggingFace reads tokenizer.json and nothing else, and no instructions beside it."""
    if (error.feature or "").startswith("format:") or "config" in _keys(load):
        return False
    return isinstance(error, HostError | BackendUnavailable) or hf_reads(data, load)


def hf_reads(data: bytes, load: bytes) -> bool:
    return "config" not in _keys(load) and _format_of(data, load) == TOKENIZER_JSON


def fall_back(load: Callable[[], object], error: TokenizerError, source: str) -> str:
    """Loads the fallback; or raises the error of the core if a fallback cannot help."""
    reason = reason_of(error)
    try:
        load()
    except BackendUnavailable as missing:
        missing.message = f"the core cannot serve it ({reason}), and {missing.message}"
        is_missing = isinstance(missing.__cause__, ModuleNotFoundError)
        missing.hint = "Run: pip install tokenizers" if is_missing else error.hint
        raise missing from error
    except TokenizerError as second:
        raise with_second_refusal(error, second) from second
    log.warning(
        "Core cannot serve %s, falling back to HuggingFace: %s (%s)", source, reason, error.message
    )
    return reason


makers.from_recipe = from_recipe
makers.from_file = create_tokenizer_from_file
