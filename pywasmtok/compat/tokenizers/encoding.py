"""`Encoding` of `tokenizers`: ids and masks from the core, the rest from the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import tokenizers

from ...errors import TokenizerError

if TYPE_CHECKING:
    from ...tokenizer.encoding import Encoding as CoreEncoding
    from .engine import Engine, Settings

__all__ = ["Encoding", "Origin", "Place", "full"]

T = TypeVar("T")


class Origin(NamedTuple):
    """How a batch was encoded: enough for the reference to encode an item of it again."""

    engine: Engine
    settings: Settings
    add_special_tokens: bool
    fast: bool
    """Without offsets, as `encode_batch_fast` does it."""

    def complete(self, texts: tuple[str, ...], length: int) -> tokenizers.Encoding:
        """The reference's encoding of a text or a pair, padded to this length."""
        item = texts[0] if len(texts) == 1 else texts
        unpadded = self.settings._replace(padding=None)
        (made,) = self.engine.encode(
            [item], unpadded, fast=self.fast, add_special_tokens=self.add_special_tokens
        )
        padding = self.settings.padding
        if padding is not None:
            names = ("direction", "pad_id", "pad_type_id", "pad_token")
            made.pad(length, **{name: padding[name] for name in names})
        return made


class Place(NamedTuple):
    """What becomes of the core's ids: a part is cut out, then padding is put around them."""

    cut: tuple[int, int] = (0, 0)
    left: int = 0
    right: int = 0
    length: int = 0
    """To which overflowing parts are padded, too."""

    def of(self, values: list[T], filler: T) -> list[T]:
        if self == _WHOLE:
            return values[:]
        start, end = self.cut
        kept = values[:start] + values[end:]
        return [filler] * self.left + kept + [filler] * self.right


_WHOLE = Place()


def _read(name: str) -> property:
    """A property that the reference has."""
    return property(lambda self: getattr(self._full(), name))


def _call(name: str) -> Callable[..., Any]:
    """A method that the reference has."""

    def call(self: Encoding, *args: Any, **how: Any) -> Any:
        return getattr(self._full(), name)(*args, **how)

    call.__name__ = name
    return call


def _change(name: str) -> Callable[..., None]:
    """A method that changes the encoding; from then on the reference's is all there is."""

    def change(self: Encoding, *args: Any, **how: Any) -> None:
        full = self._full()
        getattr(full, name)(*args, **how)
        self._core = None

    change.__name__ = name
    return change


class Encoding:
    """The result of encoding a text or a pair, as `tokenizers.Encoding` has it.

    Ids and masks are there at once. Tokens and offsets come from the core when they are read; where
    the reference is loaded, it knows the tokens of a BPE vocabulary.
    Words, sequences and overflowing parts come from the reference, which encodes the text again.
    """

    # Programs may set attributes of their own.
    __slots__ = ("__dict__", "_core", "_made", "_origin", "_place")

    def __init__(self) -> None:
        """An empty one; a `Tokenizer` makes those of texts."""
        self._core: CoreEncoding | None = None
        self._made: tokenizers.Encoding | None = tokenizers.Encoding()
        self._origin: Origin | None = None
        self._place = Place()

    @classmethod
    def of_core(cls, core: CoreEncoding, origin: Origin, place: Place) -> Encoding:
        self = cls.__new__(cls)
        self._core, self._origin, self._place = core, origin, place
        self._made = None
        return self

    @classmethod
    def of_reference(cls, made: tokenizers.Encoding) -> Encoding:
        self = cls()
        self._made = made
        return self

    def _full(self) -> tokenizers.Encoding:
        """The reference's encoding."""
        made = self._made
        if made is None:
            assert self._core is not None
            assert self._origin is not None
            made = self._made = self._origin.complete(self._core.texts, self._place.length)
        return made

    def _by_core(self, name: str, filler: Any, *, fast: bool = True) -> Any:
        """What the core says of each id, with this setting or value for padding. The reference says
        it where the core refuses, and with `fast=False` for encodings without offsets; and where it
        has encoded the text already."""
        if self._made is not None:
            return getattr(self._made, name)
        core, origin = self._core, self._origin
        if core is not None and origin is not None and (fast or not origin.fast):
            if isinstance(filler, str):
                padding = origin.settings.padding
                filler = None if padding is None else padding[filler]
            try:
                return self._place.of(getattr(core, name), filler)
            except TokenizerError:
                pass
        return getattr(self._full(), name)

    @property
    def _is_plain(self) -> bool:
        """Whether this is one text with at most one special token on each side."""
        core, origin = self._core, self._origin
        if core is None or origin is None or len(core.texts) > 1:
            return False
        return not origin.add_special_tokens or origin.engine.plain_ends() is not None

    @property
    def ids(self) -> list[int]:
        ids: list[int] = self._by_core("ids", "pad_id")
        return ids

    @property
    def type_ids(self) -> list[int]:
        # Without offsets, the reference has other type ids for pairs.
        is_single = self._core is not None and len(self._core.texts) == 1
        type_ids: list[int] = self._by_core("type_ids", "pad_type_id", fast=is_single)
        return type_ids

    @property
    def attention_mask(self) -> list[int]:
        core = self._core
        return self._full().attention_mask if core is None else self._place.of([1] * len(core), 0)

    @property
    def special_tokens_mask(self) -> list[int]:
        core, origin = self._core, self._origin
        is_pair = core is not None and len(core.texts) == 2
        if self._is_plain or (is_pair and origin is not None and not origin.engine.is_chain()):
            mask: list[int] = self._by_core("special_tokens_mask", 1)
            return mask
        return self._full().special_tokens_mask

    @property
    def tokens(self) -> list[str]:
        # Without offsets, the reference leaves out the tokens of the text.
        core, origin = self._core, self._origin
        is_whole = self._made is None and self._place == _WHOLE
        if core is not None and origin is not None and is_whole and not origin.fast:
            ends: tuple[int, int] | None = (0, 0)
            if origin.add_special_tokens:
                ends = origin.engine.plain_ends() if len(core.texts) == 1 else None
            found = ends and origin.engine.vocabulary_tokens(core.ids, ends)
            if found is not None:
                return found
        tokens: list[str] = self._by_core("tokens", "pad_token", fast=False)
        return tokens

    @property
    def offsets(self) -> list[tuple[int, int]]:
        if self._core is not None and self._origin is not None:
            if self._origin.fast:
                return [(0, 0)] * len(self)
            truncation = self._origin.settings.truncation
            if self._place.cut != (0, 0) and truncation and truncation["direction"] == "left":
                # The reference trims the spaces of the first token that is left in its own way.
                return self._full().offsets
        offsets: list[tuple[int, int]] = self._by_core("offsets", (0, 0))
        return offsets

    @property
    def overflowing(self) -> list[Encoding]:
        """What truncation cut off, in parts of the same length."""
        if self._core is not None and self._place.cut == (0, 0):
            return []
        return [Encoding.of_reference(part) for part in self._full().overflowing]

    @property
    def n_sequences(self) -> int:
        core, origin = self._core, self._origin
        if core is None or origin is None or origin.engine.is_chain():
            return self._full().n_sequences
        if len(core.texts) == 2:
            return origin.engine.sequences_of_pairs(origin.add_special_tokens)
        return 1 if self._is_plain else self._full().n_sequences

    word_ids = _read("word_ids")
    words = _read("words")
    sequence_ids = _read("sequence_ids")
    char_to_token = _call("char_to_token")
    char_to_word = _call("char_to_word")
    token_to_chars = _call("token_to_chars")
    token_to_sequence = _call("token_to_sequence")
    token_to_word = _call("token_to_word")
    word_to_chars = _call("word_to_chars")
    word_to_tokens = _call("word_to_tokens")
    pad = _change("pad")
    truncate = _change("truncate")
    set_sequence_id = _change("set_sequence_id")

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        made: Any = list(map(full, encodings))
        return Encoding.of_reference(tokenizers.Encoding.merge(made, growing_offsets))

    def __len__(self) -> int:
        core = self._core
        if core is None:
            return len(self._full())
        start, end = self._place.cut
        return len(core) - (end - start) + self._place.left + self._place.right

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._full().__getstate__(),)


def full(encoding: Any) -> Any:
    """The reference's encoding; what is none stays as it is, for the library to refuse."""
    return encoding._full() if isinstance(encoding, Encoding) else encoding


def _restored(state: bytes) -> Encoding:
    made = tokenizers.Encoding()
    made.__setstate__(state)
    return Encoding.of_reference(made)
