"""`Tokenizer` of `tokenizers`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

import tokenizers

from ..._locks import ForkSafeLock
from ...errors import TokenizerError, Unsupported
from ...loading.sources import read_file
from ...tokenizer.ids import MAX_ID
from .encoding import Encoding, Origin, Place, full
from .engine import PLAIN, Engine, Settings

if TYPE_CHECKING:
    from ...loading.sources.lazy import LazyFile
    from ...tokenizer.encoding import Encoding as CoreEncoding
    from ...tokenizer.tokenizer import Tokenizer as CoreTokenizer

__all__ = ["Tokenizer"]

# The reference decodes so few in less time than a call into the core takes.
_FEW_IDS: Final = 8


def _copied(name: str, component: Any) -> Any:
    try:
        return deepcopy(component)
    except TypeError:
        # Some parts of the library cannot be copied, but all can be written and read.
        written = tokenizers.Tokenizer(tokenizers.models.BPE())
        setattr(written, name, component)
        return getattr(tokenizers.Tokenizer.from_str(written.to_str()), name)


def _component(name: str) -> property:
    """A part of the pipeline. What is read is a copy once the core may have read the file, except
    for the model, which is large. Assigning one changes the tokenizer."""

    def read(self: Tokenizer) -> Any:
        engine = self._engine
        with engine.reference(None) as reference:
            component = getattr(reference, name)
        return component if name == "model" or engine.is_open else _copied(name, component)

    def assign(self: Tokenizer, component: Any) -> None:
        with self._change_lock:
            self._engine, _ = self._engine.change(
                lambda reference: setattr(reference, name, component)
            )

    return property(read, assign)


class Tokenizer:
    """A drop-in for `tokenizers.Tokenizer`: the same methods, answers and exceptions.

    The core encodes and decodes. Calls that it refuses, or has no way for, go to the reference
    with the same arguments, so that their answers and errors are the reference's.
    """

    def __init__(self, model: Any) -> None:
        self._engine = Engine(None, tokenizers.Tokenizer(model), type(model).__name__)
        self._settings = PLAIN
        self._change_lock = ForkSafeLock()

    @classmethod
    def _of(cls, engine: Engine, settings: Settings) -> Self:
        self = cls.__new__(cls)
        self._engine, self._settings = engine, settings
        self._change_lock = ForkSafeLock()
        return self

    @classmethod
    def of_reference(cls, reference: tokenizers.Tokenizer, name: str) -> Self:
        """From a tokenizer of the library, which becomes a part of this one. The core is loaded
        when it is first needed; until then, changes inside of the given one count."""
        settings = Settings(
            reference.truncation, reference.padding, reference.encode_special_tokens
        )
        PLAIN.apply(reference)
        return cls._of(Engine(None, reference, name), settings)

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """From the bytes of a tokenizer.json."""
        reference = tokenizers.Tokenizer.from_buffer
        data = bytes(memoryview(buffer))
        return Tokenizer._of(*Engine.load(data, "buffer", lambda: reference(buffer)))

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """From the text of a tokenizer.json."""
        reference = tokenizers.Tokenizer.from_str
        try:
            data = json.encode()
        except (AttributeError, UnicodeEncodeError):
            data = b""
        return Tokenizer._of(*Engine.load(data, "str", lambda: reference(json)))

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Tokenizer:
        """From a tokenizer.json."""
        path = os.fspath(path)
        try:
            data: bytes | LazyFile = read_file(path).data
        except TokenizerError:
            data = b""
        reference = tokenizers.Tokenizer.from_file
        return Tokenizer._of(*Engine.load(data, str(path), lambda: reference(str(path))))

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None
    ) -> Tokenizer:
        """From the tokenizer.json of a repository of the hub."""
        from huggingface_hub import hf_hub_download

        if not isinstance(identifier, str):
            raise TypeError(f"identifier is str, not {type(identifier).__name__}")
        return Tokenizer.from_file(
            hf_hub_download(identifier, "tokenizer.json", revision=revision, token=token)
        )

    @property
    def core(self) -> CoreTokenizer | None:
        """The pywasmtok tokenizer that encodes, for what `tokenizers` does not have: streams,
        counting, bounds. It neither truncates nor pads. None: the reference encodes."""
        return self._engine.core()

    @property
    def refusal(self) -> str | None:
        """Why the reference encodes and not the core; None: the core does."""
        return self._engine.refusal

    # Encoding

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        engine, settings = self._engine, self._settings
        if is_pretokenized is False and type(add_special_tokens) is bool:
            made = self._by_core(
                lambda core: [core.encode(sequence, pair, add_special_tokens)],
                Origin(engine, settings, add_special_tokens, fast=False),
            )
            if made is not None:
                return made[0]
        with engine.reference(settings) as reference:
            return Encoding.of_reference(
                reference.encode(sequence, pair, is_pretokenized, add_special_tokens)
            )

    def encode_batch(
        self,
        input: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        return self._encode_batch(input, is_pretokenized, add_special_tokens, fast=False)

    def encode_batch_fast(
        self,
        input: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """`encode_batch` with offsets that are all zero."""
        return self._encode_batch(input, is_pretokenized, add_special_tokens, fast=True)

    def _encode_batch(
        self, items: Sequence[Any], is_pretokenized: bool, add_special_tokens: bool, *, fast: bool
    ) -> list[Encoding]:
        engine, settings = self._engine, self._settings
        is_plain = is_pretokenized is False and type(add_special_tokens) is bool
        if is_plain and isinstance(items, list | tuple):
            # transformers makes a batch of each text.
            is_single = len(items) == 1 and type(items[0]) is str
            made = self._by_core(
                lambda core: (
                    [core.encode(items[0], None, add_special_tokens)]
                    if is_single
                    else list(core.encode_batch(items, add_special_tokens))
                ),
                Origin(engine, settings, add_special_tokens, fast),
            )
            if made is not None:
                return made
        how = {"is_pretokenized": is_pretokenized, "add_special_tokens": add_special_tokens}
        return [
            Encoding.of_reference(one) for one in engine.encode(items, settings, fast=fast, **how)
        ]

    def _by_core(
        self, encode: Callable[[CoreTokenizer], list[CoreEncoding]], origin: Origin
    ) -> list[Encoding] | None:
        """The encodings by the core, truncated and padded; None: the reference has to do it."""
        engine, settings = origin.engine, origin.settings
        core = engine.core()
        # Where names are text, the core also finds tokens inside of them; the reference does not.
        if core is None or settings.names_are_text:
            return None
        # Rare, and refused for single texts: the reference knows best when.
        if settings.truncation is not None and settings.truncation["strategy"] == "only_second":
            return None
        try:
            made = encode(core)
        except TokenizerError:
            return None
        places = [Place()] * len(made)
        if settings.truncation is not None:
            ends = engine.plain_ends()
            cuts = [_cut(one, settings.truncation, ends, origin) for one in made]
            if None in cuts:
                return None
            places = [Place(cut) for cut in cuts if cut is not None]
        if settings.padding is not None:
            places = _padded(made, places, settings.padding)
        return [
            Encoding.of_core(one, origin, place) for one, place in zip(made, places, strict=True)
        ]

    async def async_encode(self, *args: Any, **how: Any) -> Encoding:
        """`encode` in another thread."""
        return await asyncio.to_thread(self.encode, *args, **how)

    async def async_encode_batch(self, *args: Any, **how: Any) -> list[Encoding]:
        """`encode_batch` in another thread."""
        return await asyncio.to_thread(self.encode_batch, *args, **how)

    async def async_encode_batch_fast(self, *args: Any, **how: Any) -> list[Encoding]:
        """`encode_batch_fast` in another thread."""
        return await asyncio.to_thread(self.encode_batch_fast, *args, **how)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncates, adds special tokens, and pads what was encoded without."""
        first, second = full(encoding), full(pair)
        with self._engine.reference(self._settings) as reference:
            made = reference.post_process(first, second, add_special_tokens)
        return Encoding.of_reference(made)

    # Decoding, and questions about the vocabulary

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        reference = self._engine.loaded
        if reference is not None and isinstance(ids, list | tuple) and len(ids) <= _FEW_IDS:
            return reference.decode(ids, skip_special_tokens)
        is_plain = type(skip_special_tokens) is bool and _is_ids(ids)
        answer: str = self._ask(
            "decode", ids, skip_special_tokens=skip_special_tokens, by_core=is_plain
        )
        return answer

    def decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        reference = self._engine.loaded
        if reference is not None and _are_few(sequences):
            return reference.decode_batch(sequences, skip_special_tokens)
        how = {"skip_special_tokens": skip_special_tokens}
        is_plain = type(skip_special_tokens) is bool and _is_ids(sequences)
        is_plain = is_plain and all(map(_is_ids, sequences))
        answer: list[str] = self._ask("decode_batch", sequences, **how, by_core=is_plain)
        return answer

    async def async_decode_batch(self, *args: Any, **how: Any) -> list[str]:
        """`decode_batch` in another thread."""
        return await asyncio.to_thread(self.decode_batch, *args, **how)

    def token_to_id(self, token: str) -> int | None:
        reference = self._engine.loaded
        if reference is not None:
            return reference.token_to_id(token)
        answer: int | None = self._ask("token_to_id", token)
        if answer is None:
            # A lone surrogate is an error of the library.
            token.encode()
        return answer

    def id_to_token(self, id: int) -> str | None:
        reference = self._engine.loaded
        if reference is not None:
            # At once: transformers asks for each id of a text.
            return reference.id_to_token(id)
        in_range = isinstance(id, int) and 0 <= id <= MAX_ID
        answer: str | None = self._ask("id_to_token", id, by_core=None if in_range else False)
        return answer

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        by_core = None if type(with_added_tokens) is bool else False
        answer: dict[str, int] = self._ask("get_vocab", with_added_tokens, by_core=by_core)
        return answer

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        by_core = None if type(with_added_tokens) is bool else False
        answer: int = self._ask("get_vocab_size", with_added_tokens, by_core=by_core)
        return answer

    def get_added_tokens_decoder(self) -> dict[int, tokenizers.AddedToken]:
        answer: dict[int, tokenizers.AddedToken] = self._ask(
            "get_added_tokens_decoder", by_core=False
        )
        return answer

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        answer: int = self._ask("num_special_tokens_to_add", is_pair, by_core=False)
        return answer

    def _ask(self, name: str, *args: Any, by_core: bool | None = None, **how: Any) -> Any:
        """The answer of the core, or of the reference where the core raises. `by_core=None`: of
        that which is loaded."""
        engine = self._engine
        core = engine.core() if by_core or (by_core is None and engine.reads_by_core) else None
        if core is not None:
            try:
                return getattr(core, name)(*args, **how)
            except TokenizerError:
                pass
        reference = engine.loaded
        if reference is not None and not by_core:
            # Without the lock: a component that is written in Python may ask this within a call.
            return getattr(reference, name)(*args, **how)
        with engine.reference(None) as reference:
            return getattr(reference, name)(*args, **how)

    # Settings

    @property
    def truncation(self) -> dict[str, Any] | None:
        stated = self._settings.truncation
        return None if stated is None else dict(stated)

    @property
    def padding(self) -> dict[str, Any] | None:
        stated = self._settings.padding
        return None if stated is None else dict(stated)

    @property
    def encode_special_tokens(self) -> bool:
        """Whether the names of special tokens are text like any other."""
        return self._settings.names_are_text

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        _blank().encode_special_tokens = value
        self._set(names_are_text=value)

    def _set(self, **changes: Any) -> None:
        with self._change_lock:
            self._settings = self._settings._replace(**changes)

    def enable_truncation(self, max_length: int, **how: Any) -> None:
        """Takes `stride`, `strategy` and `direction`."""
        reference = _blank()
        if how.get("stride"):
            # It has to be less than what special tokens leave.
            reference.post_processor = self.post_processor
        reference.enable_truncation(max_length, **how)
        self._set(truncation=reference.truncation)

    def no_truncation(self) -> None:
        self._set(truncation=None)

    def enable_padding(self, **how: Any) -> None:
        """Takes `direction`, `pad_id`, `pad_type_id`, `pad_token`, `length` and
        `pad_to_multiple_of`."""
        reference = _blank()
        reference.enable_padding(**how)
        self._set(padding=reference.padding)

    def no_padding(self) -> None:
        self._set(padding=None)

    # Changes

    def add_tokens(self, tokens: list[Any]) -> int:
        return self._add(lambda reference: reference.add_tokens(tokens))

    def add_special_tokens(self, tokens: list[Any]) -> int:
        return self._add(lambda reference: reference.add_special_tokens(tokens))

    def _add(self, add: Callable[[tokenizers.Tokenizer], int]) -> int:
        with self._change_lock:
            self._engine, count = self._engine.change(add, adds_tokens=True)
        return count

    model = _component("model")
    normalizer = _component("normalizer")
    pre_tokenizer = _component("pre_tokenizer")
    post_processor = _component("post_processor")
    decoder = _component("decoder")

    def train(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported(
            "a vocabulary is not trained here",
            feature="train",
            hint="Train with tokenizers.Tokenizer, and load what its to_str() writes",
        )

    train_from_iterator = train

    # Files and copies

    def to_str(self, pretty: bool = False) -> str:
        """The text of a tokenizer.json."""
        with self._engine.reference(self._settings) as reference:
            return reference.to_str(pretty)

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        with self._engine.reference(self._settings) as reference:
            reference.save(os.fspath(path), pretty)

    def __deepcopy__(self, memo: object) -> Tokenizer:
        if self._engine.is_changed:
            return _restored(*self.__reduce__()[1])
        return Tokenizer._of(self._engine, self._settings._replace(names_are_text=False))

    def __copy__(self) -> Tokenizer:
        return self.__deepcopy__({})

    def __reduce__(self) -> tuple[Any, ...]:
        settings = self._settings._replace(names_are_text=False)
        # Without the name: equal files have equal pickles, by which `datasets` finds its cache.
        return _restored, (bytes(self._engine.data()), settings)

    def __repr__(self) -> str:
        with self._engine.reference(self._settings) as reference:
            return repr(reference)

    def __str__(self) -> str:
        with self._engine.reference(self._settings) as reference:
            return str(reference)


def _restored(data: bytes, settings: Settings) -> Tokenizer:
    return Tokenizer._of(Engine(data, None, "copy"), settings)


def _is_ids(ids: Any) -> bool:
    """Whether it is of a type that the library and the core take alike. The core takes others,
    such as sets, which the library refuses."""
    return isinstance(ids, list | tuple) or (
        getattr(getattr(ids, "dtype", None), "kind", None) in {"i", "u"}
    )


def _are_few(sequences: Any) -> bool:
    return (
        isinstance(sequences, list)
        and len(sequences) <= _FEW_IDS
        and all(isinstance(ids, list) for ids in sequences)
        and sum(map(len, sequences)) <= _FEW_IDS
    )


def _blank() -> tokenizers.Tokenizer:
    """Without a vocabulary: it checks settings and fills in what is not said."""
    return tokenizers.Tokenizer(tokenizers.models.BPE())


def _cut(
    made: CoreEncoding,
    truncation: dict[str, Any],
    ends: tuple[int, int] | None,
    origin: Origin,
) -> tuple[int, int] | None:
    """The range of ids that truncation cuts out. None: the reference has to do it, as for pairs,
    for bounds that leave no room between special tokens, and for chains of post-processors."""
    if ends is None:
        return None
    before, behind = ends if origin.add_special_tokens else (0, 0)
    size = len(made)
    if len(made.texts) == 1:
        room = truncation["max_length"] - before - behind
        if room <= truncation["stride"] or truncation["strategy"] == "only_second":
            return None
        excess = size - before - behind - room
        if excess <= 0:
            return 0, 0
        if truncation["direction"] == "left":
            return before, before + excess
        return size - behind - excess, size - behind
    return (0, 0) if size <= truncation["max_length"] else None


def _padded(made: list[CoreEncoding], places: list[Place], padding: dict[str, Any]) -> list[Place]:
    sizes = [len(one) - (at.cut[1] - at.cut[0]) for one, at in zip(made, places, strict=True)]
    length = padding["length"]
    if length is None:
        length = max(sizes, default=0)
    multiple = padding["pad_to_multiple_of"]
    if multiple:
        length += -length % multiple
    missing = [max(length - size, 0) for size in sizes]
    side = padding["direction"]
    return [
        at._replace(**{side: n, "length": length}) for at, n in zip(places, missing, strict=True)
    ]
