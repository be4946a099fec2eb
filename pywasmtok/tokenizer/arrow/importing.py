"""The texts of a column that another library holds, read where they lie."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from ctypes import CFUNCTYPE, addressof, c_char_p, c_int, c_int64, c_ubyte, c_void_p
from itertools import compress, pairwise
from operator import add, sub
from typing import Any, Final, Literal, NamedTuple

from ..._utf8_texts import Utf8Texts
from ...errors import BackendFailure, InvalidArgument
from .structures import (
    ARRAY,
    SCHEMA,
    STREAM,
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    address_in,
)

__all__ = ["Rows", "read"]

_STRUCT: Final = "+s"
_NULLS: Final = "n"
_VIEWS: Final = ("vu", "vz")
# Offsets have 32 or 64 bits.
_OFFSETS: Final[dict[str, Literal["i", "q"]]] = {"u": "i", "z": "i", "U": "q", "Z": "q"}
_TYPES: Final = "string, large_string, string_view, or binary of UTF-8"

# A view of a text is 16 bytes. A short text is in it; of a long one it names buffer and offset.
_VIEW: Final = 16
_IN_VIEW: Final = 12

_Release = CFUNCTYPE(None, c_void_p)
_Get = CFUNCTYPE(c_int, c_void_p, c_void_p)
_Error = CFUNCTYPE(c_char_p, c_void_p)


class Rows(NamedTuple):
    """A column of texts."""

    texts: Utf8Texts
    """The rows that are not null."""
    present: str | None
    """`1` for a row that is not null, else `0`. None: no row is null."""


class _Owned:
    """A structure that another library has filled in, released with this object."""

    # Of the class, for an object whose `__init__` was interrupted.
    filled: Any = None

    def __init__(self, kind: Any) -> None:
        self.filled = kind()

    # Bound, since the globals of this module may be gone when the interpreter ends.
    def __del__(self, _call: Any = _Release, _address: Any = addressof) -> None:
        if self.filled is not None and self.filled.release:
            _call(self.filled.release)(_address(self.filled))


def read(data: object, column: str | None) -> Rows:
    """The texts of a column of a table, or of an array."""
    buffers: list[memoryview] = []
    sizes = array("Q")
    marks: list[str] = []
    (schema, _owner), arrays = _opened(data)
    child, text_type = _column_of(schema, column)
    for rows, owner in arrays:
        chunk = _Chunk(rows, owner, child)
        marks.append(chunk.marks())
        some_buffers, some_sizes = chunk.texts(text_type, marks[-1])
        buffers += some_buffers
        sizes += some_sizes
    present = "".join(marks)
    return Rows(Utf8Texts(buffers, sizes), present if "0" in present else None)


# A structure, and what keeps it in memory.
_Kept = tuple[Any, object]


def _opened(data: Any) -> tuple[_Kept, Iterator[_Kept]]:
    """The schema, and the arrays."""
    if hasattr(data, "__arrow_c_array__"):
        schema, rows = data.__arrow_c_array__()
        found = _unread(ArrowSchema, schema, SCHEMA)
        return (found, schema), iter([(_unread(ArrowArray, rows, ARRAY), rows)])
    if hasattr(data, "__arrow_c_stream__"):
        capsule = data.__arrow_c_stream__()
        stream = _unread(ArrowArrayStream, capsule, STREAM)
        owned = _Owned(ArrowSchema)
        _checked(stream, _Get(stream.get_schema)(addressof(stream), addressof(owned.filled)))
        return (owned.filled, owned), _arrays_of(stream, capsule)
    raise InvalidArgument(
        f"{type(data).__name__} is no Arrow array or table: it has neither __arrow_c_array__ nor "
        "__arrow_c_stream__",
        hint="encode_batch takes a list of str",
    )


def _unread(kind: Any, capsule: object, name: bytes) -> Any:
    """The structure in a capsule. What has read it before has released it."""
    try:
        found = kind.from_address(address_in(capsule, name))
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"this is no Arrow capsule: {error}") from error
    if not found.release:
        raise InvalidArgument(
            f"this {name.decode()} was read before, and has been released",
            hint="A stream is read once: ask for a new one, or keep a table of it",
        )
    return found


def _arrays_of(stream: Any, capsule: object) -> Iterator[_Kept]:
    get_next = _Get(stream.get_next)
    while True:
        owned = _Owned(ArrowArray)
        _checked(stream, get_next(addressof(stream), addressof(owned.filled)))
        if not owned.filled.release:
            # The capsule owns the stream: it is needed until here.
            del capsule
            return
        yield owned.filled, owned


def _checked(stream: Any, status: int) -> None:
    if status:
        said = _Error(stream.get_last_error)(addressof(stream)) or b""
        detail = said.decode(errors="replace").strip() or f"error {status}"
        raise BackendFailure(f"the Arrow stream failed: {detail}")


def _column_of(schema: Any, column: str | None) -> tuple[int | None, str]:
    """The number of the column in its table, if it is in one, and its type."""
    if schema.format.decode() != _STRUCT:
        if column is not None:
            raise InvalidArgument(
                f"column={column!r}, but this is an array without columns", hint="Leave column out"
            )
        return None, _text_type(schema, "the array")
    fields = [ArrowSchema.from_address(schema.children[n]) for n in range(schema.n_children)]
    names = [(field.name or b"").decode(errors="replace") for field in fields]
    places = [n for n, name in enumerate(names) if column in (None, name)]
    if len(places) != 1:
        found = "no" if not places else "more than one"
        named = "column" if column is None else f"column {column!r}"
        raise InvalidArgument(
            f"the table has {found} {named}; its columns are {names}",
            hint="column='...' names one",
        )
    return places[0], _text_type(fields[places[0]], f"column {names[places[0]]!r}")


def _text_type(schema: Any, what: str) -> str:
    found: str = schema.format.decode()
    if schema.dictionary or not (found in _OFFSETS or found in _VIEWS or found == _NULLS):
        form = "a dictionary" if schema.dictionary else f"the Arrow format {found!r}"
        raise InvalidArgument(f"{what} is of {form}, not of {_TYPES}", hint="Cast it to string")
    return found


class _Chunk:
    """The rows of one array."""

    def __init__(self, rows: Any, owner: object, child: int | None) -> None:
        self._owner = owner
        self._parents = []
        self._length, self._start = rows.length, rows.offset
        if child is not None:
            # Rows that are null in the table are null in its column.
            self._parents.append((rows, rows.offset))
            rows = ArrowArray.from_address(rows.children[child])
            self._start += rows.offset
        self._rows = rows

    def marks(self) -> str:
        """`1` for a row that is not null, else `0`."""
        length = self._length
        bits = mask = (1 << length) - 1
        for rows, start in (*self._parents, (self._rows, self._start)):
            if length and rows.n_buffers and rows.null_count and rows.buffers[0]:
                first, end = start // 8, (start + length + 7) // 8
                data = self._view(rows.buffers[0] + first, end - first)
                bits &= int.from_bytes(data, "little") >> start % 8
        if not self._rows.n_buffers:
            bits = 0
        return format(bits & mask, f"0{length}b")[::-1] if length else ""

    def texts(self, text_type: str, marks: str) -> tuple[list[memoryview], array[int]]:
        """The bytes of all rows that are not null, and how many each has."""
        if "1" not in marks:
            return [], array("Q")
        if text_type in _VIEWS:
            return self._of_views(marks)
        return self._of_offsets(_OFFSETS[text_type], marks)

    def _of_offsets(
        self, code: Literal["i", "q"], marks: str
    ) -> tuple[list[memoryview], array[int]]:
        width = array(code).itemsize
        place = self._rows.buffers[1] + width * self._start
        offsets = self._view(place, width * (self._length + 1)).cast(code).tolist()
        first, last = offsets[0], offsets[-1]
        try:
            # A negative size is too large for the array.
            sizes = array("Q", map(sub, offsets[1:], offsets))
        except OverflowError:
            first = -1
        if first < 0:
            raise InvalidArgument("the Arrow array has offsets that decrease: it is damaged")
        data = self._view((self._rows.buffers[2] or 0) + first, last - first)
        if "0" not in marks:
            return [data], sizes
        kept = array("Q", compress(sizes, map(int, marks)))
        if sum(kept) == len(data):
            return [data], kept
        # Bytes that belong to null rows lie in between.
        spans = compress(pairwise(offsets), map(int, marks))
        flat = b"".join([data[start - first : end - first] for start, end in spans])
        return [memoryview(flat)], kept

    def _of_views(self, marks: str) -> tuple[list[memoryview], array[int]]:
        views = self._view(self._rows.buffers[1] + _VIEW * self._start, _VIEW * self._length)
        # The last buffer has the sizes of those with the texts.
        count = self._rows.n_buffers - 3
        held = self._rows.buffers
        known = (c_int64 * count).from_address(held[count + 2])[:] if count > 0 else []
        data = [self._view(held[2 + n] or 0, size) for n, size in enumerate(known)]
        fields = views.cast("i")
        lengths, numbers, starts = (fields[n::4].tolist() for n in (0, 2, 3))
        if min(lengths) > _IN_VIEW and "0" not in marks:
            runs = _runs(lengths, numbers, starts)
            # Libraries write long texts one behind the other, into buffers of some size.
            if len(runs) <= max(count, 0) and all(
                0 <= number < count and start >= 0 and end <= known[number]
                for number, start, end in runs
            ):
                buffers = [data[number][start:end] for number, start, end in runs]
                return buffers, array("Q", lengths)
        # A copy: a view of Python for each row would take more memory than most texts do.
        flat, sizes = bytearray(), array("Q")
        rows = zip(lengths, numbers, starts, marks, strict=True)
        for row, (size, number, start, mark) in enumerate(rows):
            if mark == "0":
                continue
            if 0 <= size <= _IN_VIEW:
                place = _VIEW * row + 4
                flat += views[place : place + size]
            elif size < 0 or not 0 <= number < count or not 0 <= start <= known[number] - size:
                raise InvalidArgument(
                    f"row {row} of the Arrow array has a view outside of its buffers: it is damaged"
                )
            else:
                flat += data[number][start : start + size]
            sizes.append(size)
        return [memoryview(flat).toreadonly()], sizes

    def _view(self, address: int, size: int) -> memoryview:
        """The memory of the array, which stays as long as a view of it."""
        if not size:
            return memoryview(b"")
        block: Any = (c_ubyte * size).from_address(address)
        block.owner = self._owner
        return memoryview(block).cast("B").toreadonly()


def _runs(lengths: list[int], numbers: list[int], starts: list[int]) -> list[tuple[int, int, int]]:
    """Where texts lie one behind the other: the number of the buffer, the start and the end."""
    ends = list(map(add, starts, lengths))
    pairs = zip(ends, starts[1:], numbers, numbers[1:], strict=False)
    firsts = [
        row
        for row, (end, start, number, next_number) in enumerate(pairs, 1)
        if end != start or number != next_number
    ]
    rows = pairwise([0, *firsts, len(lengths)])
    return [(numbers[first], starts[first], ends[last - 1]) for first, last in rows]
