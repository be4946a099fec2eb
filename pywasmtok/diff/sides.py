"""One of the two tokenizers of a comparison, whichever library serves it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..backends.hf import call_library
from ..errors import (
    BackendFailure,
    BackendUnavailable,
    InvalidArgument,
    LoadError,
    TokenizerError,
)
from ..loading.conversion import convert
from ..loading.factory import CANNOT_SERVE, create_tokenizer

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["Outcome", "Side", "open_side"]

T = TypeVar("T")


class Outcome(NamedTuple):
    """What one side makes of a text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    error: str | None = None
    """The kind of the error, where the text has no ids."""


class Side(Protocol):
    @property
    def name(self) -> str: ...
    def encode(self, text: str, add_special_tokens: bool) -> Outcome: ...
    def decode(self, ids: tuple[int, ...], skip_special_tokens: bool) -> str: ...
    def document(self) -> dict[str, Any] | None:
        """The definition as a tokenizer.json; None: it cannot be had."""

    def close(self) -> None: ...


def open_side(source: str, options: Mapping[str, Any]) -> Side:
    """`transformers:PATH` and `hf:PATH` name the library that serves; without them, the core, and
    HuggingFace for a file that the core refuses."""
    library, _, path = source.partition(":")
    if library == "transformers" and path:
        return _Transformers(path, options)
    if library == "hf" and path:
        return Ours(source, create_tokenizer(path, encoder="hf", decoder="hf", **options))
    try:
        tokenizer = create_tokenizer(source, decoder="core", **options)
    except CANNOT_SERVE:
        tokenizer = create_tokenizer(source, decoder="hf", **options)
    return Ours(source, tokenizer)


class Ours:
    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def encode(self, text: str, add_special_tokens: bool) -> Outcome:
        try:
            encoding = self._tokenizer.encode(text, None, add_special_tokens)
            return Outcome(tuple(encoding.ids), tuple(encoding.tokens))
        except TokenizerError as error:
            return Outcome((), (), error.kind)

    def decode(self, ids: tuple[int, ...], skip_special_tokens: bool) -> str:
        try:
            return self._tokenizer.decode(ids, skip_special_tokens)
        except TokenizerError as error:
            return f"error: {error.kind}"

    def document(self) -> dict[str, Any] | None:
        try:
            data, load = self._tokenizer.made_of
            document: dict[str, Any] = json.loads(convert(data, load, self.name).document)
        except TokenizerError:
            return None
        return document

    def close(self) -> None:
        self._tokenizer.close()


class _Transformers:
    def __init__(self, path: str, options: Mapping[str, Any]) -> None:
        self.name = f"transformers:{path}"
        how = _for_transformers(options)
        try:
            from transformers import AutoTokenizer, PreTrainedTokenizerFast
        except ImportError as error:
            raise BackendUnavailable(
                "the package transformers is not installed", hint="pip install transformers"
            ) from error
        self._tokenizer: Any
        fast: Any = PreTrainedTokenizerFast
        try:
            if os.path.isfile(path):
                self._tokenizer = _ask(lambda: fast(tokenizer_file=path))
            else:
                self._tokenizer = _ask(lambda: AutoTokenizer.from_pretrained(path, **how))
        except TokenizerError as error:
            raise LoadError(f"transformers: {error.__cause__}", source=path) from error

    def encode(self, text: str, add_special_tokens: bool) -> Outcome:
        theirs = self._tokenizer
        try:
            ids = _ask(lambda: theirs.encode(text, add_special_tokens=add_special_tokens))
            pieces = _ask(lambda: theirs.convert_ids_to_tokens(ids))
        except TokenizerError as error:
            return Outcome((), (), error.kind)
        return Outcome(tuple(ids), tuple(map(str, pieces)))

    def decode(self, ids: tuple[int, ...], skip_special_tokens: bool) -> str:
        how = {"skip_special_tokens": skip_special_tokens, "clean_up_tokenization_spaces": False}
        try:
            text: str = _ask(lambda: self._tokenizer.decode(list(ids), **how))
        except TokenizerError as error:
            return f"error: {error.kind}"
        return text

    def document(self) -> dict[str, Any] | None:
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        return None if backend is None else json.loads(backend.to_str())

    def close(self) -> None:
        """It holds memory alone."""


def _for_transformers(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `create_tokenizer` that transformers has. What it applies by itself, or needs
    for no file that it reads, is left out."""
    for name in ("pattern", "special_tokens", "encoding", "model_map"):
        if options.get(name) is not None:
            raise InvalidArgument(f"transformers has no option {name}")
    names = {name: name for name in ("revision", "cache_dir", "token")}
    names["offline"] = "local_files_only"
    given = {theirs: options.get(ours) for ours, theirs in names.items()}
    return {name: value for name, value in given.items() if value is not None}


def _ask(work: Callable[[], T]) -> T:
    """Whatever a library raises, also a panic of its Rust code, as a `TokenizerError`."""
    try:
        return call_library(work)
    except (OverflowError, TypeError) as error:
        raise BackendFailure(str(error)) from error
