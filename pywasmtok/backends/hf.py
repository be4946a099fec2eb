"""HuggingFace `tokenizers`: the reference, the default decoder and the fallback.

It is imported and built on first use: from the same bytes that the core saw, or, for a format that
the library does not read, from the tokenizer.json that the core made of them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from .._locks import ForkSafeLock
from .._signals import raised_by_handler
from ..errors import (
    BackendFailure,
    BackendUnavailable,
    EmptyFile,
    GitLfsPointer,
    InvalidArgument,
    InvalidFile,
    InvalidText,
    LoadError,
    TokenizerClosed,
    TokenizerError,
    Unsupported,
)
from ..tokenizer.arguments import TextPair, as_pair, what_is_wrong_with
from ..tokenizer.encoding import Details, Encoding, EncodingBatch
from ..tokenizer.ids import as_list, require_known, what_is_wrong
from ..tokenizer.special.policy import AddedName
from ..tokenizer.special.tokens import SpecialTokens, is_control
from .base import Backend

if TYPE_CHECKING:
    from tokenizers import Encoding as HFEncoding
    from tokenizers import Tokenizer as HFTokenizer

    from ..tokenizer.ids import Ids

__all__ = ["REFERENCE", "HFBackend", "call_library"]

REFERENCE = "0.23.3"
"""The version of `tokenizers` that exactness is tested against. docs/versions.md says which others
can be installed, and what differs there."""

_BOM = b"\xef\xbb\xbf"

P = ParamSpec("P")
T = TypeVar("T")


def call_library(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The seam: here, and only here, a panic of the library becomes an error.

    pyo3 raises a Rust panic as a BaseException that is no Exception (the regex engine panics when
    it backtracks too far), so `except Exception` would let it end the program.
    """
    try:
        return function(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except UnicodeEncodeError as error:
        raise InvalidText(f"no UTF-8: {error.reason} at character {error.start}") from error
    except (OverflowError, TypeError):
        # A wrong argument; the caller of this function knows which one.
        raise
    except BaseException as error:
        if raised_by_handler(error):
            raise
        raise BackendFailure(f"tokenizers: {type(error).__name__}: {error}") from error


class HFBackend(Backend):
    name = "hf"

    def __init__(
        self,
        data: bytes | Callable[[], bytes],
        source: str | None = None,
        control: Mapping[str, Any] = MappingProxyType({}),
        *,
        any_length: bool = False,
    ) -> None:
        """`data` is a tokenizer.json, or a function that makes one when it is needed; `control` and
        `any_length` are the load options of these names."""
        self.gives_way = False
        """Whether other threads run during a call: the library keeps the interpreter's lock in all
        calls but those of batches."""
        self._data = data
        self._source = source
        self._control = control
        self._any_length = any_length
        self._tokenizer: HFTokenizer | None = None
        self._literal: HFTokenizer | None = None
        self._known: frozenset[int] | None = None
        self._lock = ForkSafeLock()
        self._closed = False

    @property
    def loaded(self) -> bool:
        return self._tokenizer is not None

    def load(self) -> HFTokenizer:
        """The library's tokenizer, built by whichever thread comes first."""
        tokenizer = self._tokenizer
        if tokenizer is None:
            with self._lock:
                tokenizer = self._tokenizer
                if tokenizer is None:
                    if self._closed:
                        raise TokenizerClosed("this tokenizer is closed")
                    tokenizer = self._tokenizer = self._build()
        return tokenizer

    def _load_literal(self) -> HFTokenizer:
        """A second one, to which the names of special tokens are text: this is a setting of the
        library's object, and threads that want it otherwise share the first one."""
        tokenizer = self._literal
        if tokenizer is None:
            with self._lock:
                tokenizer = self._literal
                if tokenizer is None:
                    if self._closed:
                        raise TokenizerClosed("this tokenizer is closed")
                    tokenizer = self._build()
                    tokenizer.encode_special_tokens = True
                    self._literal = tokenizer
        return tokenizer

    def _build(self) -> HFTokenizer:
        try:
            from tokenizers import Tokenizer as Factory
        except ImportError as error:
            is_missing = isinstance(error, ModuleNotFoundError)
            install = "Run: pip install tokenizers; or do" if is_missing else "Do"
            raise BackendUnavailable(
                f"the package tokenizers cannot be imported: {error}",
                source=self._source,
                hint=f'{install} without it: encoder="core", decoder="core"',
            ) from error
        data = self._data() if callable(self._data) else self._data
        try:
            # It refuses a byte-order mark, which says nothing about what follows.
            built = call_library(Factory.from_buffer, data.removeprefix(_BOM))
        except BackendFailure as error:
            raise _refusal(data, error, self._source) from error.__cause__
        if self._any_length:
            built.no_truncation()
            built.no_padding()
        return built

    def _use(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call_library(function, *args, **kwargs)
        except BackendFailure as error:
            if not isinstance(error.__cause__, Exception):
                # A panic may leave anything half-done: the next call starts from a fresh one.
                self._tokenizer = self._literal = None
            raise

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        tokenizer = self._load_literal() if special_is_text else self.load()
        try:
            if self.gives_way:
                batch = [text if pair is None else (text, pair)]
                (result,) = self._use(
                    tokenizer.encode_batch, batch, add_special_tokens=add_special_tokens
                )
            else:
                result = self._use(
                    tokenizer.encode, text, pair, add_special_tokens=add_special_tokens
                )
        except TypeError as error:
            texts = [text] if pair is None else [(text, pair)]
            raise what_is_wrong_with(texts) or InvalidArgument(str(error)) from error
        if special_is_text:
            self._require_text(result, text, pair)
        return _encoding(result, text, pair, add_special_tokens, special_is_text)

    def _require_text(self, result: HFEncoding, *texts: str | None) -> None:
        """Refuses an answer in which the model itself made a special token of the text: the
        library's setting only keeps the names from being looked for."""
        special = self._special_ids
        own = zip(result.special_tokens_mask, result.sequence_ids, result.offsets, strict=True)
        for number, (added, sequence, (start, end)) in zip(result.ids, own, strict=True):
            name = special.get(number)
            if name is None or added:
                continue
            text = texts[min(sequence or 0, len(texts) - 1)] or ""
            # The unknown token is no attack, unless the text spells its name.
            if name == self._unknown_name and text[start:end].strip() != name:
                continue
            raise Unsupported(
                f"the model itself makes the special token {name!r} of this text",
                feature="special:made_by_model",
                source=self._source,
            )

    @cached_property
    def _special_ids(self) -> dict[int, str]:
        added = self.added_names()
        return {
            token.id: name
            for name, token in added.items()
            if is_control(self._control, name, special=token.special)
        }

    @cached_property
    def _unknown_name(self) -> str | None:
        model = self.load().model
        name: str | None = getattr(model, "unk_token", None)
        if name is None and type(model).__name__ == "Unigram":
            data = self._data() if callable(self._data) else self._data
            number = json.loads(data.removeprefix(_BOM))["model"].get("unk_id")
            name = None if number is None else self.id_to_token(number)
        return name

    def added_names(self) -> Mapping[str, AddedName]:
        added = self._use(self.load().get_added_tokens_decoder)
        return {token.content: AddedName(number, token.special) for number, token in added.items()}

    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> EncodingBatch:
        tokenizer = self._load_literal() if special_is_text else self.load()
        try:
            results = self._use(
                tokenizer.encode_batch, list(texts), add_special_tokens=add_special_tokens
            )
        except TypeError as error:
            raise what_is_wrong_with(texts) or InvalidArgument(str(error)) from error
        if special_is_text:
            for result, item in zip(results, texts, strict=True):
                self._require_text(result, *as_pair(item))
        return EncodingBatch.join(
            [
                _encoding(result, *as_pair(item), add_special_tokens, special_is_text)
                for result, item in zip(results, texts, strict=True)
            ],
            add_special_tokens,
            special_is_text,
        )

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        tokenizer = self.load()
        values = as_list(ids)
        if unknown != "skip":
            self._look_for_unknown(values, unknown)
        try:
            if self.gives_way:
                return self._use(
                    tokenizer.decode_batch, [values], skip_special_tokens=skip_special_tokens
                )[0]
            return self._use(tokenizer.decode, values, skip_special_tokens=skip_special_tokens)
        except (OverflowError, TypeError) as error:
            raise what_is_wrong(values, error) from error

    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]:
        tokenizer = self.load()
        values = [as_list(ids) for ids in lists]
        if unknown != "skip":
            for place, one in enumerate(values):
                try:
                    self._look_for_unknown(one, unknown)
                except TokenizerError as error:
                    error.message = f"list {place}: {error.message}"
                    raise
        try:
            return self._use(
                tokenizer.decode_batch, values, skip_special_tokens=skip_special_tokens
            )
        except (OverflowError, TypeError) as error:
            raise _first_wrong(values, error) from error

    def _look_for_unknown(self, values: list[int], unknown: str) -> None:
        """The library leaves unknown ids out and says nothing."""
        known = self._known
        if known is None:
            known = self._known = frozenset(self.vocab(True).values())
        try:
            if known.issuperset(values):
                return
        except TypeError as error:
            raise what_is_wrong(values, error) from error
        if unknown == "error":
            require_known(values, known)
        raise Unsupported(
            "tokenizers puts nothing in the place of an unknown id",
            feature="unknown_id:replace",
            hint='decoder="core" does',
        )

    def token_to_id(self, token: str) -> int | None:
        return self._use(self.load().token_to_id, token)

    def id_to_token(self, token_id: int) -> str | None:
        return self._use(self.load().id_to_token, token_id)

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return self._use(self.load().get_vocab, with_added_tokens=with_added_tokens)

    def vocab_size(self, with_added_tokens: bool) -> int:
        return self._use(self.load().get_vocab_size, with_added_tokens=with_added_tokens)

    def special_tokens(self) -> SpecialTokens:
        tokenizer = self.load()
        added = self._use(tokenizer.get_added_tokens_decoder)
        special = {token.content: number for number, token in added.items() if token.special}
        roles: dict[str, tuple[str, int | None]] = {}
        unk = getattr(tokenizer.model, "unk_token", None)
        if unk is not None:
            roles["unk"] = (unk, tokenizer.token_to_id(unk))
        for role in ("sep", "cls"):
            pair = getattr(tokenizer.post_processor, role, None)
            if isinstance(pair, tuple):
                roles[role] = pair
        padding = tokenizer.padding
        if padding:
            roles["pad"] = (padding["pad_token"], padding["pad_id"])
        return SpecialTokens.from_file(special, roles)

    def decoder_json(self) -> Any:
        """The decoder as the library itself writes it."""
        return json.loads(self._use(self.load().to_str))["decoder"]

    def special_contents(self) -> list[str]:
        """Tokens that decoding leaves out, where special tokens are left out."""
        added = self._use(self.load().get_added_tokens_decoder)
        return [token.content for token in added.values() if token.special]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._tokenizer = self._literal = None


def _refusal(data: bytes, error: BackendFailure, source: str | None) -> LoadError:
    """Why a file does not load. The library calls all of it a ValueError; the two commonest
    mistakes can be told apart without reading the file."""
    if not data.strip():
        return EmptyFile("the file holds nothing", source=source)
    if data.startswith(b"version https://git-lfs"):
        return GitLfsPointer(
            "this is a git-lfs pointer and not the file itself", source=source, hint="git lfs pull"
        )
    from tokenizers import __version__ as installed

    text = str(error.__cause__).removeprefix("Cannot instantiate Tokenizer from buffer: ")
    other = f"this is not the reference; pip install tokenizers=={REFERENCE} may load it"
    return InvalidFile(
        f"HuggingFace tokenizers {installed} does not load it: {text}",
        source=source,
        hint=None if installed == REFERENCE else other,
    )


def _first_wrong(lists: list[list[int]], error: Exception) -> TokenizerError:
    for place, values in enumerate(lists):
        try:
            array("I", values)
        except (OverflowError, TypeError):
            wrong = what_is_wrong(values, error)
            wrong.message = f"list {place}: {wrong.message}"
            return wrong
    return InvalidArgument(f"these are no lists of ids: {error}")


def _encoding(
    result: HFEncoding,
    text: str,
    pair: str | None,
    add_special_tokens: bool,
    special_is_text: bool,
) -> Encoding:
    data = array("I", result.ids).tobytes()
    return Encoding(data, _Result(result), text, pair, add_special_tokens, special_is_text)


class _Result(NamedTuple):
    """One answer of the library, unpacked on first access."""

    encoding: HFEncoding

    @property
    def name(self) -> str:
        return "hf"

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        made = self.encoding
        offsets: list[tuple[int, int]] = made.offsets
        return Details(
            tokens=made.tokens,
            offsets=offsets,
            byte_offsets=_byte_offsets(offsets, made.sequence_ids, text, pair),
            type_ids=made.type_ids,
            special_tokens_mask=made.special_tokens_mask,
            attention_mask=made.attention_mask,
        )


def _byte_offsets(
    offsets: list[tuple[int, int]], sequences: list[int | None], text: str, pair: str | None
) -> list[tuple[int, int]]:
    if text.isascii() and (pair is None or pair.isascii()):
        return list(offsets)
    starts = [_byte_starts(item) for item in (text, pair) if item is not None]
    spans: list[tuple[int, int]] = []
    for (start, end), sequence in zip(offsets, sequences, strict=True):
        # Chains of post-processors number their parts beyond the two texts.
        table = starts[min(sequence, len(starts) - 1)] if sequence is not None else ()
        # The library leaves a span that is no span of characters as it has it, in bytes.
        inside = end < len(table)
        spans.append((table[start], table[end]) if inside else (start, end))
    return spans


def _byte_starts(text: str) -> list[int]:
    """The byte at which each character of a text starts, and the length of the text."""
    place = 0
    starts = [0]
    for character in text:
        code = ord(character)
        place += 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)
        starts.append(place)
    return starts
