"""What `encode` answers: ids in one flat buffer, and details that are made on first access."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from ..errors import BackendUnavailable
from .ids import ArrowIds, ArrowLists, Buffers, FlatIds
from .lists import list_of

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["ID_BYTES", "AnyDetails", "DetailSource", "Details", "Encoding", "EncodingBatch", "view"]

ID_BYTES = 4

# Part of the contract of `Encoding.hash`: a new function would need a new name.
_HASH_PERSON = b"pywasmtok-ids-1"


def view(data: bytes) -> memoryview:
    """u32 over bytes that came from the core. Every platform of wasmtime-py is little-endian."""
    return memoryview(data).cast("I")


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise BackendUnavailable(
            "the package numpy cannot be imported", hint="Run: pip install numpy; or use .buffer"
        ) from error
    return numpy


class AnyDetails(Protocol):
    """What is known of each id beside its number. Lists may be made when they are asked for."""

    @property
    def tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def byte_offsets(self) -> list[tuple[int, int]]: ...
    @property
    def type_ids(self) -> list[int]: ...
    @property
    def special_tokens_mask(self) -> list[int]: ...
    @property
    def attention_mask(self) -> list[int]: ...


class Details(NamedTuple):
    """The same with all lists made."""

    tokens: list[str]
    offsets: list[tuple[int, int]]
    byte_offsets: list[tuple[int, int]]
    type_ids: list[int]
    special_tokens_mask: list[int]
    attention_mask: list[int]


class DetailSource(Protocol):
    """The backend that made the ids of an encoding, and that can make their details."""

    @property
    def name(self) -> str: ...

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> AnyDetails: ...


class Encoding(ArrowIds, FlatIds, Sequence[int]):
    """A sequence of ids over a flat, read-only u32 buffer.

    `.buffer`, `.numpy()` and (from Python 3.12 on) `memoryview(encoding)` give the ids without
    copying; `.ids` makes a list on demand. Tokens, offsets and masks are computed on first access.
    """

    __slots__ = ("_data", "_details", "_list", "_names", "_pair", "_source", "_special", "_text")

    def __init__(  # noqa: PLR0917
        self,
        data: bytes,
        source: DetailSource,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> None:
        self._data = data
        self._source = source
        self._text = text
        self._pair = pair
        self._special = add_special_tokens
        self._names = special_is_text
        self._list: list[int] | None = None
        self._details: AnyDetails | None = None

    @property
    def buffer(self) -> memoryview:
        """The ids as a read-only memoryview of format `I`."""
        # `view`, written out: the call would cost more than what it does.
        return memoryview(self._data).cast("I")

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, and its pair if there is one."""
        return (self._text,) if self._pair is None else (self._text, self._pair)

    @property
    def ids(self) -> list[int]:
        """The ids as a list, made once."""
        ids = self._list
        if ids is None:
            ids = self._list = list_of(self._data)
        return ids

    def numpy(self) -> NDArray[numpy.uint32]:
        """The ids as a read-only array over the same memory."""
        np = _numpy()

        array: NDArray[Any] = np.frombuffer(self._data, dtype=np.uint32)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        np = _numpy()

        array: NDArray[Any] = np.frombuffer(self._data, dtype=np.uint32)
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"ids are uint32: another type ({dtype}) needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def _arrow(self) -> Buffers:
        return Buffers(self._data)

    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int, /) -> memoryview:
            return view(self._data)

    @property
    def tokens(self) -> list[str]:
        return self._detail().tokens

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token in characters of its text; (0, 0) for what no text made."""
        return self._detail().offsets

    @property
    def byte_offsets(self) -> list[tuple[int, int]]:
        """The same spans in bytes of the text's UTF-8."""
        return self._detail().byte_offsets

    @property
    def type_ids(self) -> list[int]:
        if self._ends() is None:
            return self._detail().type_ids
        made: list[int] = self._source.plain_type_ids(len(self), self._special)  # type: ignore[attr-defined]
        if made and made[0] and not self._special:
            # Chains of post-processors give other type ids where they add no tokens.
            return self._detail().type_ids
        return made

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that the post-processor put there, 0 for those of the text."""
        ends = self._ends()
        if ends is None:
            return self._detail().special_tokens_mask
        before, behind = ends
        return [1] * before + [0] * (len(self) - before - behind) + [1] * behind

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, else 1."""
        if self._details is None and getattr(self._source, "never_pads", False):
            return [1] * len(self)
        return self._detail().attention_mask

    def _ends(self) -> tuple[int, int] | None:
        """How many tokens stand before and behind the text, where that is all there is to know of
        the masks: one text, no padding. None: the details say."""
        find = getattr(self._source, "plain_ends", None)
        if self._details is not None or self._pair is not None or find is None:
            return None
        ends: tuple[int, int] | None = find()
        return ends if self._special or ends is None else (0, 0)

    @property
    def served_by(self) -> str:
        """The backend that made these ids: `core`, `hf` or `mock`."""
        return self._source.name

    @property
    def hash(self) -> int:
        """64 bits of BLAKE2b over the ids, equal in every process, host and version.

        `int.from_bytes(blake2b(ids as little-endian u32, digest_size=8,
        person=b"pywasmtok-ids-1").digest(), "little")`. It speaks of the ids alone: two
        tokenizers that answer the same ids give the same hash.
        """
        from hashlib import blake2b

        digest = blake2b(self._data, digest_size=8, person=_HASH_PERSON).digest()
        return int.from_bytes(digest, "little")

    def block_hashes(
        self, block_size: int, *, parent: int | None = None, salt: str = ""
    ) -> list[int]:
        """One number of 64 bits for each whole block of ids, each over all ids up to its end.

        For routers of KV caches; `salt` keeps apart what must not share one, such as
        `tok.fingerprint` and the name of an adapter. docs/hashes.md has the bytes, `hashes` the
        functions of Dynamo, vLLM and SGLang.
        """
        from .hashes import block_hashes

        return block_hashes(self, block_size, parent=parent, salt=salt)

    def detail_parts(self) -> Iterator[AnyDetails]:
        """The details of one part of the text after the other, so that those of a long text need
        not be in memory at once. A text that is short, or that has no cuts, is one part."""
        parts = getattr(self._source, "detail_parts", None)
        if self._details is not None or self._pair is not None or parts is None:
            return iter((self._detail(),))
        made: Iterator[AnyDetails] = parts(self._text, self._special, self._names)
        return made

    def _detail(self) -> AnyDetails:
        details = self._details
        if details is None:
            details = self._source.details(self._text, self._pair, self._special, self._names)
            self._details = details
        return details

    def __len__(self) -> int:
        return len(self._data) // ID_BYTES

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self.ids[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __eq__(self, other: object) -> bool:
        """Equal ids; a list of ids may stand for an encoding."""
        if isinstance(other, Encoding):
            return self._data == other._data
        if isinstance(other, list):
            return self.ids == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._data)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.ids[:8]))
        more = ", ..." if len(self) > 8 else ""
        return f"<Encoding of {len(self)} ids [{shown}{more}] by {self.served_by}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The tokenizer is not pickled with an encoding, so the details are made before.
        found = self._detail()
        listed = Details(*(getattr(found, name) for name in Details._fields))
        return (_restore, (self._data, self.served_by, listed, self._text, self._pair))


class _Settled(NamedTuple):
    """The source of an encoding that came out of a pickle."""

    name: str
    known: Details

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        return self.known


def _restore(
    data: bytes, name: str, details: Details, text: str = "", pair: str | None = None
) -> Encoding:
    return Encoding(data, _Settled(name, details), text, pair, False)


class EncodingBatch(ArrowLists, Sequence[Encoding]):
    """Encodings that share one flat u32 buffer: item n owns `buffer[bounds[n]:bounds[n + 1]]`."""

    __slots__ = ("_bounds", "_data", "_names", "_sources", "_special", "_texts")

    def __init__(  # noqa: PLR0917
        self,
        data: bytes,
        bounds: bytes,
        sources: DetailSource | list[DetailSource],
        texts: Sequence[str | tuple[str, str]],
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> None:
        self._data = data
        self._bounds = bounds
        self._sources = sources
        self._texts = texts
        self._special = add_special_tokens
        self._names = special_is_text

    @classmethod
    def join(
        cls,
        encodings: Sequence[Encoding],
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> EncodingBatch:
        """One batch out of encodings that were made one by one."""
        from array import array

        bounds = array("I", accumulate((len(item) for item in encodings), initial=0))
        return cls(
            b"".join([item._data for item in encodings]),
            bounds.tobytes(),
            [item._source for item in encodings],
            [item._text if item._pair is None else (item._text, item._pair) for item in encodings],
            add_special_tokens,
            special_is_text,
        )

    @property
    def texts(self) -> Sequence[str | tuple[str, str]]:
        return self._texts

    @property
    def buffer(self) -> memoryview:
        """All ids, one item after the other, as a read-only memoryview of format `I`."""
        return view(self._data)

    @property
    def bounds(self) -> memoryview:
        """One bound more than items, format `I`."""
        return view(self._bounds)

    @property
    def ids(self) -> list[list[int]]:
        flat = list_of(self._data)
        return [flat[start:end] for start, end in pairwise(self.bounds.tolist())]

    def numpy(self) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32]]:
        """Flat ids and bounds, read-only, without copying."""
        np = _numpy()

        return (
            np.frombuffer(self._data, dtype=np.uint32),
            np.frombuffer(self._bounds, dtype=np.uint32),
        )

    def _arrow(self) -> Buffers:
        return Buffers(self._data, self._bounds)

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Encoding]: ...
    def __getitem__(self, index: int | slice) -> Encoding | list[Encoding]:
        if isinstance(index, slice):
            return [self._item(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"item {index} of a batch of {len(self)}")
        return self._item(place)

    def _item(self, place: int) -> Encoding:
        start, end = self.bounds[place : place + 2]
        item = self._texts[place]
        text, pair = (item, None) if isinstance(item, str) else item
        source = self._sources[place] if isinstance(self._sources, list) else self._sources
        data = self._data[start * ID_BYTES : end * ID_BYTES]
        return Encoding(data, source, text, pair, self._special, self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EncodingBatch):
            return NotImplemented
        return self._data == other._data and self._bounds == other._bounds

    def __hash__(self) -> int:
        return hash((self._data, self._bounds))

    def __reduce__(self) -> tuple[Any, ...]:
        return (EncodingBatch.join, (list(self), self._special, self._names))

    def __repr__(self) -> str:
        return f"<EncodingBatch of {len(self)} texts, {len(self.buffer)} ids>"
