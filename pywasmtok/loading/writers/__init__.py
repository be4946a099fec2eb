"""A tokenizer as a file of another format, where that says exactly the same.

The core makes a tokenizer.json of the source; a writer puts that into its own format. The result is
read back by the core, and both are compared: in one form of them, then by their fingerprints. What
differs, or has no place in the format, is an `Unsupported` that names it, and nothing is written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InvalidArgument, LoadError, TokenizerError, Unsupported
from ..conversion import about, convert
from ..sources import Request, SourceLike, read_source
from ..sources.paths import as_path, printable, write
from ..sources.templates import of_gguf
from .base import Facts, Written, refused
from .plain import endings, plain, unlike

if TYPE_CHECKING:
    from ..._host import CoreTokenizer
    from ...tokenizer.limits import Limits
    from ..sources import Source

__all__ = ["FORMATS", "ConvertedTokenizer", "convert_tokenizer"]

FORMATS = ("json", "gguf", "model", "tiktoken")

# As the core calls them.
_READ_AS = {"gguf": "gguf", "model": "sentencepiece", "tiktoken": "tiktoken"}
# Load options that belong to the file, and are needed again to read a copy of it.
_OF_THE_FILE = ("encoding", "pattern", "special_tokens", "gguf_compat")
_OF_MERGES = {"model:merges", "model:ignore_merges"}


@dataclass(frozen=True, slots=True)
class ConvertedTokenizer:
    source: str
    out: str
    """The file that was written."""
    format: str
    """One of `json`, `gguf`, `model`, `tiktoken`."""
    bytes: int
    differences: tuple[str, ...] = ()
    """Of a tokenizer.json: what gives other results with HuggingFace. Other formats have none."""
    read_with: Mapping[str, Any] | None = None
    """Arguments of `create_tokenizer` with which the file means the same as the source."""

    def as_dict(self) -> dict[str, Any]:
        """All of it in types that JSON has."""
        return asdict(self)


def convert_tokenizer(
    source: SourceLike,
    out: SourceLike,
    *,
    to: str | None = None,
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
) -> ConvertedTokenizer:
    """Writes a source, as `create_tokenizer` takes it, as a file of the format `to`: `json`,
    `gguf`, `model` or `tiktoken`. By default the ending of `out` names the format, and any other
    ending means `json`. A folder gets a file named `tokenizer`.

    `json` is written with the differences that HuggingFace has. The other formats are written only
    where reading the file gives the same tokenizer; otherwise this raises `Unsupported`, whose
    feature names what the format cannot say, and `out` stays as it was.
    """
    path = as_path(out)
    to = _format(printable(path), to)
    if os.path.isdir(path):
        path = os.path.join(path, f"tokenizer.{to}".encode())
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
    found = read_source(source, request)
    data, load = bytes(found.data), found.options(request)
    if to == "json":
        document, differences = convert(data, load, found.name)
        written = Written(document, {})
    else:
        differences = ()
        with about(found.name):
            written = _written(found, data, load, to)
    try:
        write(path, written.data)
    except OSError as error:
        raise LoadError(f"cannot be written: {error.strerror}", source=printable(path)) from error
    size, name = len(written.data), os.fsdecode(path)
    return ConvertedTokenizer(found.name, name, to, size, differences, written.read_with)


def _format(out: str, to: str | None) -> str:
    ending = os.path.splitext(out)[1].lower().removeprefix(".")
    if to is None:
        if ending == "txt":
            raise InvalidArgument(
                f"{out} names a format that is not written", hint=f"Written are {_listed()}"
            )
        return ending if ending in FORMATS else "json"
    if to not in FORMATS:
        raise InvalidArgument(f"to={to!r} is none of {_listed()}")
    return to


def _listed() -> str:
    return ", ".join(FORMATS)


def _written(found: Source, data: bytes, load: bytes, to: str) -> Written:
    from ... import _host
    from . import gguf, ranks

    writers = {"gguf": gguf.write, "tiktoken": ranks.write}
    if not found.parts and _host.detect(data)["format"] == _READ_AS[to]:
        return _copied(data, load, to)
    whole = _exact(data, load, to)
    if to not in writers:
        raise _no_sentencepiece(whole)
    with contextlib.closing(_host.load_tokenizer(data, options=load)) as core:
        info = core.info()
        as_text = _as_text(core, info)
    ids = {token["content"]: token["id"] for token in info["added_tokens"]}
    for token in whole["added_tokens"]:
        token["id"] = ids.get(token["content"], token["id"])
    inside = of_gguf(info["chat_templates"])
    places = (*found.sidecars.template_places, *(() if inside is None else (inside,)))
    facts = Facts(
        {role: token for role, token, _ in info["roles"]} | dict(found.sidecars.roles()),
        places[0].templates if places else {},
        json.loads(load or b"{}").get("encoding"),
    )
    problem: TokenizerError | None = None
    for written in writers[to](whole, facts):
        options = _options(written.read_with)
        try:
            back, differences = convert(written.data, options, None)
        except (LoadError, Unsupported, InvalidArgument) as error:
            problem = refused(to, "vocab", f"a {to} file of it cannot be read: {error}")
            continue
        parts = [*differences, *_unlike(whole, json.loads(back))]
        if not parts:
            with contextlib.closing(_host.load_tokenizer(written.data, options=options)) as again:
                if _as_text(again, info) == as_text:
                    return written
            parts = ["added_tokens"]
        problem = refused(to, parts[0], f"a {to} file cannot say its {', '.join(parts)}")
    assert problem is not None
    raise problem


def _unlike(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The parts in which they do not mean the same. Merges are compared only where all else is
    alike, and fingerprints only where the forms differ: both take long."""
    for merges in (False, True):
        forms = [plain(document, merges=merges) for document in (one, other)]
        if forms[0] == forms[1]:
            return []
        parts = unlike(*forms)
        are_of_merges = bool(parts) and _OF_MERGES.issuperset(parts)
        if (merges or not are_of_merges) and _marks(forms[0]) == _marks(forms[1]):
            return []
        if not are_of_merges:
            break
    return parts or ["fingerprint"]


def _exact(data: bytes, load: bytes, to: str) -> dict[str, Any]:
    """The tokenizer.json that the writers begin with, if it says all of the source."""
    try:
        document, differences = convert(data, load, None)
    except Unsupported as error:
        if error.feature is None or not error.feature.startswith("convert:"):
            raise
        differences = (error.feature.removeprefix("convert:"),)
    if differences:
        raise refused(
            to, differences[0], f"a {to} file cannot say its {', '.join(differences)}", hint=None
        )
    whole: dict[str, Any] = json.loads(document)
    return whole


def _copied(data: bytes, load: bytes, to: str) -> Written:
    """A file of the same format: its own bytes, of GGUF those in front of the tensors."""
    from ... import _host

    options = json.loads(load or b"{}")
    kept = {name: options[name] for name in _OF_THE_FILE if name in options}
    if to == "gguf":
        # The number of tensors stands behind the signature and the version.
        data = data[:8] + bytes(8) + data[16 : _host.extent(data)["bytes"]]
    if _host.fingerprint(data, _options(kept)) != _host.fingerprint(data, load):
        raise refused(to, "config", f"a {to} file cannot say what apply_config adds")
    return Written(data, kept)


def _no_sentencepiece(whole: dict[str, Any]) -> Unsupported:
    """SentencePiece never finds control pieces in text, adds no tokens, and breaks ties its own
    way: only a SentencePiece model means the same."""
    if endings(whole):
        part, why = "post_processor", "tokens are added to each text"
    elif whole["added_tokens"]:
        part, why = "added_tokens", "names of special tokens are found in text"
    else:
        part, why = "model", "SentencePiece chooses among equally good pieces in its own way"
    return refused("model", part, f"a SentencePiece model cannot say its {part}: {why}")


def _options(read_with: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(read_with)).encode() if read_with else b""


def _as_text(core: CoreTokenizer, info: Mapping[str, Any]) -> list[bytes | None]:
    """Names of special tokens with `special="none"`: one in the vocabulary of the model must not be
    a piece of text. None: the model has no ids for the name."""
    found: list[bytes | None] = []
    for token in info["added_tokens"]:
        if token["special"]:
            try:
                found.append(core.encode_ids(token["content"], False, True))
            except Unsupported:
                found.append(None)
    return found


def _marks(document: dict[str, Any]) -> tuple[str, str]:
    from ... import _host

    return _host.fingerprint(json.dumps(document, ensure_ascii=False).encode())
