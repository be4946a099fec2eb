"""A consumer and a producer of Arrow's C data interface, of `ctypes` alone and after its text.

The layouts are stated here once more, so that an error in those of the package shows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, addressof, c_int, c_int64, c_void_p, memmove
from itertools import accumulate, count, pairwise
from struct import pack
from typing import Any

Release = CFUNCTYPE(None, c_void_p)
Get = CFUNCTYPE(c_int, c_void_p, c_void_p)
Error = CFUNCTYPE(c_void_p, c_void_p)

_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_address = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Schema(Structure):
    _fields_ = (
        *(("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", c_void_p)),
        *(("flags", c_int64), ("n_children", c_int64), ("children", POINTER(c_void_p))),
        *(("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)),
    )


class Array(Structure):
    _fields_ = (
        *(("length", c_int64), ("null_count", c_int64), ("offset", c_int64)),
        *(("n_buffers", c_int64), ("n_children", c_int64), ("buffers", POINTER(c_void_p))),
        *(("children", POINTER(c_void_p)), ("dictionary", c_void_p)),
        *(("release", c_void_p), ("private_data", c_void_p)),
    )


class Stream(Structure):
    _fields_ = (
        *(("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p)),
        *(("release", c_void_p), ("private_data", c_void_p)),
    )


# The consumer.


def moved(kind: Any, address: int) -> Any:
    """The structure at another address; the first one counts as released."""
    source, target = kind.from_address(address), kind()
    assert source.release
    memmove(addressof(target), address, ctypes.sizeof(kind))
    source.release = None
    return target


def taken(capsule: object, kind: Any) -> Any:
    return moved(kind, _address(capsule, _NAMES[kind]))


def release(structure: Any) -> None:
    Release(structure.release)(addressof(structure))
    assert not structure.release


def numbers(array: Any) -> list[int]:
    """The values of an array of uint32."""
    assert (array.n_buffers, array.n_children, array.null_count) == (2, 0, 0)
    assert not array.buffers[0]
    found: list[int] = (ctypes.c_uint32 * array.length).from_address(array.buffers[1])[:]
    return found


def lists(array: Any) -> list[list[int] | None]:
    """The values of an array of lists of uint32."""
    assert (array.n_buffers, array.n_children, array.offset) == (2, 1, 0)
    offsets = (ctypes.c_int32 * (array.length + 1)).from_address(array.buffers[1])[:]
    flat = numbers(Array.from_address(array.children[0]))
    assert offsets[-1] == len(flat)
    found: list[list[int] | None] = [flat[start:end] for start, end in pairwise(offsets)]
    if array.null_count:
        bits = ctypes.string_at(array.buffers[0], (array.length + 7) // 8)
        for row in range(array.length):
            if not bits[row // 8] >> row % 8 & 1:
                assert found[row] == []
                found[row] = None
    assert found.count(None) == array.null_count
    return found


def lists_of(source: Any) -> list[list[int] | None]:
    array = taken(source.__arrow_c_array__()[1], Array)
    found = lists(array)
    release(array)
    return found


# The producer. What a structure points to is in `kept` until it is released, and the structures in
# capsules are until these are gone.

kept: dict[int, object] = {}
_in_capsules: dict[int, object] = {}
_count = count(1)


def _released(kind: Any) -> Any:
    def callback(address: int) -> None:
        structure = kind.from_address(address)
        structure.release = None
        del kept[structure.private_data]

    return Release(callback)


_RELEASED = {kind: _released(kind) for kind in (Schema, Array, Stream)}


def _filled(structure: Any, *parts: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(structure, name, value)
    structure.release = ctypes.cast(_RELEASED[type(structure)], c_void_p).value
    structure.private_data = next(_count)
    kept[structure.private_data] = parts, fields
    return structure


def _destroyed(kind: Any, name: bytes) -> Any:
    def callback(capsule: int) -> None:
        get = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)
        structure = kind.from_address(
            get(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, name)
        )
        if structure.release:
            release(structure)
        del _in_capsules[addressof(structure)]

    return ctypes.PYFUNCTYPE(None, c_void_p)(callback)


_NAMES = {Schema: b"arrow_schema", Array: b"arrow_array", Stream: b"arrow_array_stream"}
_DESTROYED = {kind: _destroyed(kind, name) for kind, name in _NAMES.items()}


def _capsule(structure: Any) -> object:
    kind = type(structure)
    destroyed = ctypes.cast(_DESTROYED[kind], c_void_p).value
    _in_capsules[addressof(structure)] = structure
    return _new(addressof(structure), _NAMES[kind], destroyed)


Rows = Sequence[bytes | None]


class Column:
    """An array of texts. `form` is the type as Arrow writes it; `skip` are rows in front of it."""

    def __init__(self, rows: Rows, form: str = "u", *, skip: int = 0, name: str = "") -> None:
        self.form, self.name, self.length, self.skip = form, name, len(rows), skip
        self.has_nulls = None in rows
        stored = [b"row in front"] * skip + list(rows)
        valid = sum(1 << n for n, row in enumerate(stored) if row is not None)
        bits = valid.to_bytes(len(stored) // 8 + 1, "little")
        # A null may have bytes, too.
        data = [b"null" if row is None else row for row in stored]
        self.buffers = [bits if self.has_nulls else None, *self._of(data)]

    def _of(self, data: list[bytes]) -> list[bytes | None]:
        if self.form in ("vu", "vz"):
            long = dict.fromkeys(row for row in data if len(row) > 12)
            places = dict(zip(long, accumulate(map(len, long), initial=0), strict=False))
            views = b"".join(
                pack("<i12s", len(row), row)
                if len(row) <= 12
                else pack("<i4sii", len(row), row[:4], 0, places[row])
                for row in data
            )
            flat = b"".join(long)
            return [views, flat, pack("<q", len(flat))]
        width = "q" if self.form in ("U", "Z") else "i"
        offsets = list(accumulate(map(len, data), initial=0))
        return [pack(f"<{len(offsets)}{width}", *offsets), b"".join(data)]

    def schema(self) -> Any:
        form, name = self.form.encode(), self.name.encode()
        return _filled(Schema(), form, name, format=form, name=name, flags=2)

    def array(self) -> Any:
        blocks = [
            ctypes.create_string_buffer(data, len(data)) if data else None for data in self.buffers
        ]
        pointers = (c_void_p * len(blocks))(
            *(None if block is None else addressof(block) for block in blocks)
        )
        return _filled(
            Array(),
            blocks,
            length=self.length,
            null_count=-1 if self.has_nulls else 0,
            offset=self.skip,
            n_buffers=len(blocks),
            buffers=pointers,
        )

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _capsule(self.schema()), _capsule(self.array())


class Table:
    """Columns of one length, as a stream of such tables."""

    def __init__(self, *chunks: Sequence[Column], null_rows: int = 0, fails: bool = False) -> None:
        """`null_rows`: the bits of rows that are null in the table itself."""
        self.chunks, self.null_rows, self.fails = chunks, null_rows, fails

    def _schema(self) -> Any:
        made = [column.schema() for column in self.chunks[0]]
        return _filled(Schema(), _Children(made), format=b"+s", **_as_children(made))

    def _array(self, columns: Sequence[Column]) -> Any:
        made = [column.array() for column in columns]
        length = columns[0].length
        bits = ((1 << length) - 1 & ~self.null_rows).to_bytes(length // 8 + 1, "little")
        block = ctypes.create_string_buffer(bits, len(bits))
        buffers = (c_void_p * 1)(addressof(block) if self.null_rows else None)
        return _filled(
            Array(),
            block,
            _Children(made),
            length=length,
            null_count=-1 if self.null_rows else 0,
            n_buffers=1,
            buffers=buffers,
            **_as_children(made),
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        left = list(self.chunks)
        message = ctypes.create_string_buffer(b"the disk is gone")

        def get_schema(_stream: int, out: int) -> int:
            schema = self._schema()
            memmove(out, addressof(schema), ctypes.sizeof(Schema))
            return 0

        def get_next(_stream: int, out: int) -> int:
            if self.fails:
                return 5
            array = self._array(left.pop(0)) if left else Array()
            memmove(out, addressof(array), ctypes.sizeof(Array))
            return 0

        calls = (Get(get_schema), Get(get_next), Error(lambda _stream: addressof(message)))
        codes = [ctypes.cast(call, c_void_p).value for call in calls]
        names = ("get_schema", "get_next", "get_last_error")
        return _capsule(_filled(Stream(), calls, message, **dict(zip(names, codes, strict=True))))


class _Children:
    """Releases them with their parent."""

    def __init__(self, made: Sequence[Any]) -> None:
        self.made = made

    def __del__(self) -> None:
        for child in self.made:
            release(child)


def _as_children(made: Sequence[Any]) -> dict[str, Any]:
    pointers = (c_void_p * len(made))(*map(addressof, made))
    return {"n_children": len(made), "children": pointers}
