"""The tokenizer that users hold."""

from __future__ import annotations

import operator
import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from ..chat.methods import ChatMethods
from ..errors import (
    InvalidArgument,
    InvalidText,
    SpecialTokenInText,
    TokenizerClosed,
    TokenizerError,
)
from .arguments import (
    Segment,
    TextPair,
    check_text,
    check_threads,
    check_unknown,
    items_of,
    segments_of,
    what_is_wrong_with,
)
from .encoding import Encoding, EncodingBatch, view
from .fitting import Truncated, check_limit, check_side
from .ids import MAX_ID, as_bytes
from .limits import Limits
from .observed import observed, watch
from .recipe import BackendInfo, Options, Recipe, makers
from .special.policy import (
    NAMES_ARE_TEXT,
    WITH_SPECIAL_TOKENS,
    AddedName,
    Special,
    is_flag,
)

if TYPE_CHECKING:
    from ..backends import Backend, Complete, Hybrid
    from ..backends.core import CoreBackend
    from ..backends.streaming import Streaming
    from ..client.answers import ServedTokenizer
    from ..client.blocking import Client
    from ..loading.sources import SourceLike
    from .arrow.column import EncodedColumn
    from .fingerprint import Fingerprints
    from .ids import Ids
    from .special.tokens import SpecialTokens
    from .streaming.sequence import Sequence
    from .streaming.spans import TokenSpan
    from .streaming.stop import StopSequenceConfig, StopSequenceDecoder
    from .streaming.stream import DecodeStream

_blank = object.__new__

# Views that a tokenizer remembers; a program has few kinds of bounds.
_MOST_VIEWS = 64

__all__ = ["BackendInfo", "Options", "Recipe", "Tokenizer"]


class Tokenizer(ChatMethods):
    """Encodes and decodes. Safe to share among threads, to fork with, to copy and to pickle.

    Made by `create_tokenizer`. Every error is a `TokenizerError`.
    """

    def __init__(
        self,
        backend: Complete,
        recipe: Recipe,
        *,
        build: str | None,
        file_format: str = "tokenizer.json",
        shared: bool = False,
    ) -> None:
        """`shared`: the backends belong to another tokenizer, and `close` leaves them open."""
        # What answers calls, and what is behind it.
        limits = recipe.limits
        self._backend: Backend = backend if limits is None else backend.bounded(limits)
        self._hybrid = backend
        quick = self._backend.quick
        self._most_quick = -1
        if quick is not None:
            self._most_quick, self._quick, self._source = quick
        self._recipe = recipe
        self._build = build
        self._format = file_format
        self._unknown = habit_of(file_format)
        self._special_tokens: SpecialTokens | None = None
        self._fingerprints: Fingerprints | None = None
        self._elsewhere = backend.chats
        self._shared = shared
        # The tokenizer that this is a view of, where that is not kept alive by the backends.
        self._view_of: Tokenizer | None = None
        self._closed = False
        # Those that `limited` has made.
        self._views: dict[Limits, Tokenizer] = {}
        # All views, as long as there is one.
        self._made: set[weakref.ref[Tokenizer]] = set()

    @staticmethod
    def from_file(path: SourceLike, **options: Any) -> Tokenizer:
        """`create_tokenizer_from_file`, under the name that other libraries give it."""
        return makers.from_file(path, **options)

    def encode(
        self,
        text: str,
        pair: str | None = None,
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> Encoding:
        """The ids of a text, or of a pair of texts joined as the file's post-processor says.

        `special="all"`: the name of a special token in the text becomes its id, as in the
        reference; `"none"`: it is text like any other, which is what text of strangers needs;
        `"raise"`: it is an error, `SpecialTokenInText`; a set of names: those become ids, others
        are text. See docs/special-tokens.md.
        `threads`: with how many threads a large text is done, at most; see docs/threads.md.
        """
        if (
            pair is None
            and (special == "all" or special == "none")  # noqa: PLR1714 (a set may be no key)
            and threads is None
            and watch.observer is None
            and isinstance(text, str)
            and len(text) <= self._most_quick
        ):
            # What most calls are: at 200 bytes, each Python call in between costs 2 to 3 %.
            flags = WITH_SPECIAL_TOKENS if add_special_tokens else 0
            special_is_text = special == "none"
            if special_is_text:
                flags |= NAMES_ARE_TEXT
            ids_of = self._quick
            try:
                data = ids_of(text.encode(), flags)
            except (InvalidText, UnicodeEncodeError) as error:
                raise what_is_wrong_with([text]) or error from None
            except TokenizerError as error:
                wanted = add_special_tokens, special_is_text
                return self._backend.encode_instead(error, text, *wanted)
            # `Encoding(...)`, written out for the same reason.
            made = _blank(Encoding)
            made._data = data
            made._source = self._source
            made._text = text
            made._pair = None
            made._special = add_special_tokens
            made._names = special_is_text
            made._list = None
            made._details = None
            return made
        return self._encode(text, pair, add_special_tokens, special, threads)

    @observed("encode")
    def _encode(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special: Special,
        threads: int | None,
    ) -> Encoding:
        check_text(text, *(() if pair is None else (pair,)))
        most = check_threads(threads)
        special_is_text = False
        if special != "all":
            if special != "none":
                return self._encode_guarded(text, pair, add_special_tokens, special)
            special_is_text = True
        try:
            if most is not None:
                wanted = add_special_tokens, special_is_text, most
                return self._backend.encode_with(text, pair, *wanted)
            return self._backend.encode(text, pair, add_special_tokens, special_is_text)
        except InvalidText as error:
            texts = [text] if pair is None else [(text, pair)]
            raise what_is_wrong_with(texts) or error from None

    @observed("encode_batch")
    def encode_batch(
        self,
        texts: Iterable[str | TextPair],
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> EncodingBatch:
        """Many texts, or pairs of texts, at once: ids in one flat buffer.

        `threads`: with how many threads a large batch is done, at most; see docs/threads.md.
        """
        items = items_of(texts, self.listed)
        wanted = add_special_tokens, special == "none", check_threads(threads)
        try:
            if is_flag(special):
                return self._backend.encode_batch(items, *wanted)
            return self._backend.encode_batch_guarded(items, add_special_tokens, special)
        except SpecialTokenInText as error:
            raise _with_character(error, items) from None
        except InvalidText as error:
            raise what_is_wrong_with(items) or error from None

    def encode_arrow(
        self,
        data: object,
        column: str | None = None,
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> EncodedColumn:
        """The texts of an Arrow array, or of a column of a table, as a column of lists of ids.

        `data` is an object of pyarrow, polars, pandas or any other library with Arrow's PyCapsule
        interface. The texts are read where they lie. A null stays null. See docs/arrow.md.
        """
        from .arrow.column import encode_rows
        from .arrow.importing import read

        return encode_rows(
            read(data, column),
            lambda texts: self.encode_batch(
                texts, add_special_tokens, special=special, threads=threads
            ),
        )

    @observed("encode_segments")
    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool = True,
        *,
        control: str | Set[str] = "special",
    ) -> Encoding:
        """One text of parts, each of them trusted or not: `[("<|user|>", True), (text, False)]`.

        The ids are those of the parts joined, but that no special token comes from untrusted text,
        nor from text of which a part is untrusted. `control="added"`: nor does any other added
        token that is not white space; a set: nor do added tokens of these names.
        """
        parts = segments_of(segments, self.listed)
        try:
            return self._backend.encode_segments(parts, add_special_tokens, control)
        except InvalidText as error:
            raise what_is_wrong_with([text for text, _ in parts]) or error from None

    def _encode_guarded(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Encoding:
        texts = text if pair is None else (text, pair)
        try:
            return self._backend.encode_guarded(text, pair, add_special_tokens, special)
        except SpecialTokenInText as error:
            raise _with_character(error, texts) from None
        except InvalidText as error:
            raise what_is_wrong_with([texts]) or error from None

    @observed("count")
    def count(self, text: str, add_special_tokens: bool = True, *, special: Special = "all") -> int:
        """How many ids `encode` answers; they stay where they are."""
        return self._count(text, add_special_tokens, special, None)

    @observed("count_batch")
    def count_batch(
        self, texts: Iterable[str], add_special_tokens: bool = True, *, special: Special = "all"
    ) -> list[int]:
        """`count` of each text."""
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise InvalidArgument(f"a batch is an iterable of texts, not {type(texts).__name__}")
        items = self.listed(texts)
        check_text(*items)
        try:
            return self._backend.count_batch(items, add_special_tokens, special)
        except SpecialTokenInText as error:
            raise _with_character(error, items) from None
        except InvalidText as error:
            raise what_is_wrong_with(items) or error from None

    @observed("fits")
    def fits(
        self, text: str, n: int, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> bool:
        """Whether the text has at most `n` ids. The cost grows with `n`, not with the text, unless
        `special` is "raise" or a set: those have to see the whole text."""
        limit = check_limit(n)
        return self._count(text, add_special_tokens, special, limit) <= limit

    @observed("truncate")
    def truncate(
        self,
        text: str,
        n: int,
        side: str = "right",
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> Truncated:
        """The longest beginning of the text that has at most `n` ids, which are those of
        `encode` for what is kept, and the first that the whole text has. `side="left"` cuts off
        the beginning and keeps the end. It is cut between characters; see docs/fitting.md.
        """
        check_text(text)
        limit, keep_end = check_limit(n), check_side(side)
        wanted = text, limit, add_special_tokens
        try:
            if is_flag(special):
                return self._backend.truncate(*wanted, special == "none", keep_end=keep_end)
            return self._backend.truncate_guarded(*wanted, special, keep_end=keep_end)
        except SpecialTokenInText as error:
            raise _with_character(error, text) from None
        except InvalidText as error:
            raise what_is_wrong_with([text]) or error from None

    def _count(
        self, text: str, add_special_tokens: bool, special: Special, limit: int | None
    ) -> int:
        check_text(text)
        try:
            if not is_flag(special):
                return self._backend.count_guarded(text, add_special_tokens, special)
            return self._backend.count(text, add_special_tokens, special == "none", limit)
        except SpecialTokenInText as error:
            raise _with_character(error, text) from None
        except InvalidText as error:
            # It speaks of the whole text, and not of the part that was looked at.
            raise what_is_wrong_with([text]) or error from None

    def decode(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> str:
        """The text of ids: a list, an Encoding, a numpy array, an array or a memoryview.

        `unknown_id` says what becomes of an id that there is not: `"skip"`, `"error"`, or
        `"replace"` (U+FFFD). None: what the reference of the file's format does.
        """
        observer = watch.observer
        if observer is None:
            return self._decode(ids, skip_special_tokens, unknown_id)
        return observer.call(
            "decode", Tokenizer._decode, self, ids, skip_special_tokens, unknown_id
        )

    def _decode(self, ids: Ids, skip_special_tokens: bool, unknown_id: str | None) -> str:
        unknown = self._unknown_id(unknown_id)
        return self._backend.decode(ids, skip_special_tokens, unknown)

    @observed("decode_batch")
    def decode_batch(
        self,
        lists: Iterable[Ids],
        skip_special_tokens: bool = True,
        *,
        unknown_id: str | None = None,
        threads: int | None = None,
    ) -> list[str]:
        if isinstance(lists, str | bytes) or not isinstance(lists, Iterable):
            raise InvalidArgument(f"lists of ids, not {type(lists).__name__}")
        wanted = skip_special_tokens, self._unknown_id(unknown_id), check_threads(threads)
        return self._backend.decode_batch(self.listed(lists), *wanted)

    def decode_bytes(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> bytes:
        """The bytes that ids stand for, before U+FFFD replaces what is no UTF-8.

        For decoders in which tokens have no bytes of their own it is the UTF-8 of the text.
        """
        streaming = self.streaming
        flags = streaming.flags(skip_special_tokens, self._unknown_id(unknown_id))
        return streaming.decode_bytes(self._backend.ids_given(ids), flags)

    def token_spans(self, ids: Ids, skip_special_tokens: bool = True) -> list[TokenSpan]:
        """Which token wrote which part of the text, in bytes and in characters: what a server
        sends with log probabilities."""
        from .streaming.spans import token_spans

        self._hybrid.require_file("spans of tokens", "token_spans")
        streaming = self.streaming
        flags = streaming.flags(skip_special_tokens, self._unknown)

        def decoded(some: list[int]) -> bytes:
            # Without the bound on ids: parts are decoded together that no call has given.
            return streaming.decode_bytes(as_bytes(some), flags)

        with self.as_one():
            # With eager runs the states of a stream stay short, whatever it holds back.
            eager = streaming.flags(skip_special_tokens, self._unknown, "eager")
            begin = streaming.node(streaming.first(b"", eager))
            return token_spans(self, decoded, begin, ids, skip_special_tokens)

    def decode_stream(
        self,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
        history: bool = False,
    ) -> DecodeStream:
        """A stream of text for ids that come one by one, behind those of a prompt.

        `byte_runs="exact"`: a run of byte tokens goes out when it has ended, as only then it is
        certain to be text; `"eager"`: each of its characters when it is complete. `unknown_id`:
        "skip", "error" or "replace". `history=True` keeps `tokens` and `text`.
        """
        from .streaming.stream import DecodeStream

        streaming = self.streaming
        flags = streaming.flags(skip_special_tokens, self._unknown_id(unknown_id), byte_runs)
        context = self._backend.ids_given(prompt_ids)
        return DecodeStream.begin(streaming, streaming.first(context, flags), history)

    def stop_decoder(
        self,
        config: StopSequenceConfig,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        eos_token_ids: Iterable[int] | None = None,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> StopSequenceDecoder:
        """A stream that ends at a stop token or at a stop sequence.

        `eos_token_ids` stop it, too, unless the config ignores them. None: those that the file and
        the configurations beside it state (`special_tokens.eos_token_ids`).
        """
        from .streaming.stop import StopSequenceDecoder, ends_of

        streaming = self.streaming
        eos = ends_of(self, streaming, eos_token_ids)
        flags = streaming.flags(skip_special_tokens, self._unknown_id(unknown_id), byte_runs)
        return StopSequenceDecoder.begin(
            streaming, config, eos, self._backend.ids_given(prompt_ids), flags
        )

    def sequence(self, token_ids: Ids = (), skip_special_tokens: bool = False) -> Sequence:
        """Ids and their text, growing together."""
        from .streaming.sequence import Sequence

        given = view(self._backend.ids_given(token_ids))
        with self.as_one():
            return Sequence(self, given, skip_special_tokens)

    @property
    def stream_backend(self) -> str:
        """What decodes for streams and stop decoders: `core`, `core (decoder only)` where another
        library encodes, or `held until flush: ...` with what the core lacks."""
        return self.streaming.name

    @property
    def streaming(self) -> Streaming:
        """The backend that decodes step by step; chosen when it is first needed."""
        self._require_open()
        return self._hybrid.streaming(self._build, self.source)

    def _unknown_id(self, unknown_id: str | None) -> str:
        return self._unknown if unknown_id is None else check_unknown(unknown_id)

    @property
    def added_tokens(self) -> Mapping[str, AddedName]:
        """The added tokens of the file by name: the id, and whether the file calls it special."""
        return self._backend.added_names()

    def token_to_id(self, token: str) -> int | None:
        """None for a token that the vocabulary does not have."""
        if not isinstance(token, str):
            raise InvalidArgument(f"a token must be str, not {type(token).__name__}")
        try:
            token.encode()
        except UnicodeEncodeError:
            return None
        return self._backend.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """None for an id that the vocabulary does not have."""
        try:
            number = operator.index(token_id)
        except TypeError as error:
            raise InvalidArgument(f"an id must be int, not {type(token_id).__name__}") from error
        return self._backend.id_to_token(number) if 0 <= number <= MAX_ID else None

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return self._backend.vocab(with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are. Ids may have gaps: the largest can be beyond this."""
        return self._backend.vocab_size(with_added_tokens)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, added ones included."""
        return self.get_vocab_size()

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the file, or a configuration beside it, names; never guessed."""
        tokens = self._special_tokens
        if tokens is None:
            stated = self._backend.special_tokens().of_format(self._format)
            tokens = stated.completed(self._recipe.sidecars, self._backend.token_to_id)
            self._special_tokens = tokens
        return tokens

    @property
    def backend(self) -> BackendInfo:
        return self._hybrid.info(self._build)

    @property
    def core_backend(self) -> CoreBackend | None:
        """The core, where it encodes."""
        return self._hybrid.core

    @property
    def hybrid(self) -> Hybrid:
        """The backends that encode and decode."""
        self._require_file()
        self._require_open()
        return cast("Hybrid", self._hybrid)

    def _require_open(self) -> None:
        if self.closed:
            raise TokenizerClosed("this tokenizer is closed", source=self.source)

    def _require_file(self) -> None:
        self._hybrid.require_file("the file", "file")

    @property
    def recipe(self) -> Recipe:
        """What an equal tokenizer is made of."""
        self._require_file()
        return self._recipe

    @recipe.setter
    def recipe(self, recipe: Recipe) -> None:
        self._require_file()
        self._recipe = recipe

    @property
    def made_of(self) -> tuple[bytes, bytes]:
        """The bytes of the file, and the options that it was loaded with."""
        self._require_file()
        return bytes(self._recipe.data), self._recipe.load

    @property
    def fallbacks(self) -> dict[str, int]:
        """How many calls HuggingFace answered in place of the core, by reason."""
        return self._hybrid.refused

    @property
    def fingerprint(self) -> str:
        """A hash of everything in the file and in how it was loaded that can change an id, equal
        wherever and by whomever it is served; see docs/hashes.md. Made on first use: it takes as
        long as loading does."""
        return self._identity().encoding

    @property
    def decoding_fingerprint(self) -> str:
        """The same of everything that can change a decoded text."""
        return self._identity().decoding

    def _identity(self) -> Fingerprints:
        known = self._fingerprints
        if known is None:
            what = "the fingerprint; `served.digest` names the file"
            self._hybrid.require_file(what, "fingerprint")
            self._require_open()
            from .fingerprint import fingerprints_of

            known = self._fingerprints = fingerprints_of(self._recipe)
        return known

    @property
    def format(self) -> str:
        """What kind of file this was made from, such as `tokenizer.json`, `gguf`, `tiktoken`."""
        return self._hybrid.format_of(self._format)

    @property
    def source(self) -> str:
        """What this was made from, for people."""
        return self._recipe.source

    def close(self) -> None:
        """Gives the memory back. Later calls raise TokenizerClosed; closing twice is fine."""
        self._closed = True
        self._most_quick = -1
        # A call then needs no check of its own.
        self._backend = cast("Backend", _Closed(self._recipe.source))
        self._elsewhere = self._elsewhere and self._backend
        # Templates need no backend, and would be rendered on and on.
        self._chat = None
        for made in list(self._made):
            limited = made()
            if limited is not None:
                limited.close()
        if not self._shared:
            self._hybrid.close()

    @property
    def closed(self) -> bool:
        return self._closed or self._hybrid.closed

    def limited(self, limits: Limits | None = None, **bounds: Any) -> Tokenizer:
        """The same tokenizer with bounds on every call: `tok.limited(deadline=0.05).encode(text)`.

        Takes a `Limits`, or its arguments. It shares the tables and is cheap to make; never does
        it allow more than this one does. It is closed with this one. See docs/limits.md.
        """
        wanted = Limits.of(limits, bounds)
        if self.limits is not None:
            wanted = self.limits.tightened(wanted)
        view = self._views.get(wanted)
        if (
            view is None
            or view.closed
            # Set since then, here or there.
            or view._recipe.chat_template is not self._recipe.chat_template
            or view.chat_sandbox is not self.chat_sandbox
        ):
            view = self.view(wanted)
            if wanted in self._views or len(self._views) < _MOST_VIEWS:
                self._views[wanted] = view
        return view

    def view(self, limits: Limits) -> Tokenizer:
        """A new tokenizer with exactly these bounds, over what this one has in memory. `close` of
        it leaves this one open."""
        self._require_open()
        hybrid = self._hybrid.for_limits(limits)
        shared = hybrid is self._hybrid
        view = Tokenizer(
            hybrid,
            self._recipe._replace(limits=limits),
            build=self._build,
            file_format=self._format,
            shared=shared,
        )
        view.chat_sandbox = self.chat_sandbox
        view._view_of = self if shared else None
        self._made.add(weakref.ref(view, self._made.discard))
        return view

    @property
    def limits(self) -> Limits | None:
        """The bounds on calls, where there are any."""
        return self._recipe.limits

    def listed(self, items: Iterable[Any]) -> list[Any]:
        """The items of a batch, as many as a call may have."""
        return self._backend.listed(items)

    def as_one(self) -> AbstractContextManager[None]:
        """Around several calls that are one for the caller: they have one deadline."""
        return self._backend.as_one()

    def encode_within_bounds(self, text: str, encode: Callable[[], Encoding]) -> Encoding:
        """What `encode` answers for a text, within the bounds of this tokenizer."""
        return self._backend.encode_within_bounds(text, encode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Tokenizer:
        """Of the same file, whose digest is known."""
        make, given = self._reduced() or (_recreate, (self._recipe,))
        made: Tokenizer = make(*given)
        return made

    def __deepcopy__(self, memo: object) -> Tokenizer:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        reduced = self._reduced()
        if reduced is not None:
            return reduced
        # Without folders and with all bytes: equal files have equal pickles, by which `datasets`
        # finds its cache.
        data, name = bytes(self._recipe.data), self._recipe.source.rpartition("/")[2]
        return _recreate, (self._recipe._replace(data=data, source=name),)

    def _reduced(self) -> tuple[Any, ...] | None:
        if self.closed:
            raise TokenizerClosed("a closed tokenizer cannot be copied", source=self.source)
        return self._hybrid.reduced()

    def __repr__(self) -> str:
        return self._hybrid.described(self.source, self.closed)

    # What a tokenizer on a server has besides; others have no such attributes.

    @property
    def client(self) -> Client:
        """The client of the server."""
        return cast("Client", self._of_server("client"))

    @property
    def name(self) -> str:
        """The name on the server."""
        return str(self._of_server("served_name"))

    @property
    def served(self) -> ServedTokenizer:
        """What the server says of it now."""
        return cast("ServedTokenizer", self._of_server("served"))

    def _of_server(self, name: str) -> Any:
        if self._hybrid.name != "remote":
            raise AttributeError(f"{self!r} is on no server and has no {name}")
        return getattr(self._hybrid, name)


class _Closed:
    """Stands where the backends of a closed tokenizer were."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __getattr__(self, name: str) -> NoReturn:
        raise TokenizerClosed("this tokenizer is closed", source=self._source)


def _recreate(recipe: Recipe) -> Tokenizer:
    return makers.from_recipe(recipe)


# What the library that a format belongs to does with an id that there is not.
_HABITS = {
    "tokenizer.json": "skip",
    "vocab+merges": "skip",
    "mock": "skip",
    # That of the format, which only the server knows.
    "remote": "habit",
}


def habit_of(file_format: str) -> str:
    """`tokenizers` leaves such ids out; tiktoken, sentencepiece, mistral-common and llama.cpp
    raise."""
    return _HABITS.get(file_format, "error")


def _with_character(error: SpecialTokenInText, texts: object) -> SpecialTokenInText:
    """The same error, which now also says at which character the name begins.

    Its path leads to the text: `texts[3]`, or `texts[3][1]` where that is a pair.
    """
    if isinstance(texts, str):
        error.path = None
    for number in re.findall(r"\d+", error.path or ""):
        texts = cast("list[object]", texts)[int(number)]
    if error.offset is not None and isinstance(texts, str):
        # Of a byte token it may lie inside a character: then it is that character.
        before = texts.encode()[: error.offset].decode(errors="ignore")
        error.offset, error.character = len(before.encode()), len(before)
    return error
