"""Ids as callers give them, turned into what a backend takes; and as other libraries take them."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Container, Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidArgument, InvalidToken, TokenizerError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = [
    "MAX_ID",
    "REPLACEMENT",
    "ArrowIds",
    "ArrowLists",
    "Buffers",
    "FlatIds",
    "Ids",
    "as_bytes",
    "as_list",
    "require_known",
    "what_is_wrong",
]

MAX_ID = 2**32 - 1

# Numbers without a sign, where they have four bytes.
_WORD_FORMATS = ("I", "L")

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class FlatIds:
    """The base of what has its ids in a flat buffer already: `Encoding`."""

    __slots__ = ()

    @property
    @abstractmethod
    def ids(self) -> list[int]: ...

    @property
    @abstractmethod
    def buffer(self) -> memoryview: ...

    @abstractmethod
    def __len__(self) -> int: ...


class Buffers(NamedTuple):
    """What an Arrow array of ids is made of."""

    ids: bytes
    bounds: bytes | None = None
    """u32, one more than lists. None: the ids are the array."""
    validity: bytes | None = None
    """A bit a list, from the lowest on. None: no list is null."""
    null_count: int = 0


class ArrowIds:
    """An Arrow array over memory that is there already: Arrow's PyCapsule interface."""

    __slots__ = ()

    @abstractmethod
    def _arrow(self) -> Buffers: ...

    def __arrow_c_schema__(self) -> object:
        from .arrow.exporting import schema_capsule

        return schema_capsule(self._arrow())

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from .arrow.exporting import array_capsules

        return array_capsules(self._arrow(), requested_schema)


class ArrowLists(ArrowIds):
    """Lists of ids, also as a stream of one array."""

    __slots__ = ()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from .arrow.exporting import stream_capsule

        return stream_capsule(self._arrow(), requested_schema)


if TYPE_CHECKING:
    Ids = Sequence[int] | FlatIds | array[int] | memoryview | NDArray[numpy.integer[Any]]


def as_list(ids: Ids) -> list[int]:
    """Ids as a list. Its values are not looked at: see `what_is_wrong`."""
    if isinstance(ids, FlatIds):
        return ids.ids
    if isinstance(ids, str | bytes | bytearray) or not isinstance(ids, Iterable):
        raise InvalidArgument(
            f"ids must be a sequence of integers, not {type(ids).__name__}",
            hint="Raw bytes hold ids as memoryview(data).cast('I')",
        )
    # Arrays, tensors and memoryviews make a list of themselves faster than a loop.
    tolist = getattr(ids, "tolist", None)
    try:
        values: Any = list(ids) if tolist is None else tolist()
    except (NotImplementedError, TypeError, ValueError) as error:
        # A memoryview whose items Python does not know, a null of Arrow.
        raise InvalidArgument(f"these are no ids: {error}") from error
    if not isinstance(values, list):
        raise InvalidArgument("ids must be a sequence, not a single number")
    return values


def as_bytes(ids: Ids) -> bytes:
    """Ids as little-endian u32."""
    if isinstance(ids, FlatIds):
        return ids.buffer.tobytes()
    # Lists, which most callers give, need no checks.
    if type(ids) is list:
        values = ids
    else:
        view = _words(ids)
        if view is not None:
            return view.tobytes()
        values = as_list(ids)
    try:
        return array("I", values).tobytes()
    except (OverflowError, TypeError) as error:
        raise what_is_wrong(values, error) from None


def _words(ids: Any) -> memoryview | None:
    """Ids that lie in memory as they are wanted: those of numpy's uint32, of `array("I")`."""
    kind = type(ids)
    # A subclass of numpy's may mean something else: a masked array has values that are none.
    if kind not in (memoryview, array) and (kind.__module__, kind.__name__) != ("numpy", "ndarray"):
        return None
    try:
        view = memoryview(ids)
    except TypeError:
        return None
    except ValueError as error:
        raise InvalidArgument(f"these are no ids: {error}") from error
    return view if view.format in _WORD_FORMATS and view.itemsize == 4 and view.ndim == 1 else None


def require_known(values: Sequence[int], known: Container[int]) -> None:
    """Raises for the first unknown id."""
    for place, value in enumerate(values):
        if value not in known:
            raise InvalidToken(f"ids[{place}] = {value} is no id of this tokenizer")


def what_is_wrong(values: Sequence[Any], error: Exception) -> TokenizerError:
    """The typed error for a list that a backend would not take as ids."""
    for place, value in enumerate(values):
        try:
            # numpy's integers are no `int`, but they have an index; its arrays have none.
            number = index(value)
        except TypeError:
            return InvalidArgument(f"ids[{place}] is no integer: {value!r:.40}")
        if not 0 <= number <= MAX_ID:
            return InvalidToken(f"ids[{place}] = {value} is outside 0..{MAX_ID}")
    return InvalidArgument(f"these are no ids: {error}")
