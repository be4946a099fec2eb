"""Ids as Arrow arrays, without copying them.

Where pyarrow is loaded, it makes the structures. Elsewhere this file does. Its callbacks run Python
code at any time and in any thread that lets go of an array:

- A consumer may let go while an exception is raised. Then the first call in a callback raises that
  exception. The callback does its work all the same, since a structure that stays unreleased ends
  the process in some consumers. CPython then prints the exception, and the caller gets
  a SystemError.
- A consumer may let go while the interpreter ends. So callbacks use no global name, and they are
  never freed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from ctypes import (
    CFUNCTYPE,
    PYFUNCTYPE,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from ...errors import LimitExceeded
from .structures import (
    ARRAY,
    SCHEMA,
    STREAM,
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    new_capsule,
)

if TYPE_CHECKING:
    from ..ids import Buffers

__all__ = ["array_capsules", "schema_capsule", "stream_capsule"]

_NULLABLE: Final = 2
_MOST_IDS: Final = 2**31 - 1
_ID_BYTES: Final = 4

# What structures point to, by their `private_data`, and the structures in capsules, by address.
_kept: Final[dict[int, object]] = {}
_in_capsules: Final[dict[int, Structure]] = {}
_numbers: Final = count(1)


def schema_capsule(ids: Buffers) -> object:
    made = _by_pyarrow(ids)
    return _schema_capsule(ids) if made is None else made.type.__arrow_c_schema__()


def array_capsules(ids: Buffers, requested: object) -> tuple[object, object]:
    """A schema and an array. A request for another type is served by pyarrow, where it is loaded;
    else the consumer casts, as the interface allows."""
    made = _by_pyarrow(ids)
    if made is not None:
        capsules: tuple[object, object] = made.__arrow_c_array__(requested)
        return capsules
    _require_offsets(ids)
    array = ArrowArray()
    _fill_array(array, ids)
    return _schema_capsule(ids), _capsule(array, ARRAY)


def stream_capsule(ids: Buffers, requested: object) -> object:
    """A stream of one array."""
    made = _by_pyarrow(ids)
    if made is not None:
        return sys.modules["pyarrow"].chunked_array([made]).__arrow_c_stream__(requested)
    _require_offsets(ids)
    stream = ArrowArrayStream()
    stream.get_schema, stream.get_next, stream.get_last_error = _STREAM_CALLS
    _keep(stream, [ids])
    return _capsule(stream, STREAM)


def _by_pyarrow(ids: Buffers) -> Any:
    """The array as an object of pyarrow, if that is loaded."""
    pa: Any = sys.modules.get("pyarrow")
    # Not while another thread is importing it, and not a version without the interface.
    if not hasattr(getattr(pa, "ChunkedArray", None), "__arrow_c_stream__"):
        return None
    _require_offsets(ids)
    flat = pa.Array.from_buffers(
        pa.uint32(), len(ids.ids) // _ID_BYTES, [None, pa.py_buffer(ids.ids)]
    )
    if ids.bounds is None:
        return flat
    validity = None if ids.validity is None else pa.py_buffer(ids.validity)
    return pa.Array.from_buffers(
        pa.list_(pa.uint32()),
        _lists(ids.bounds),
        [validity, pa.py_buffer(ids.bounds)],
        ids.null_count,
        children=[flat],
    )


def _lists(bounds: bytes) -> int:
    return len(bounds) // _ID_BYTES - 1


def _require_offsets(ids: Buffers) -> None:
    """Bounds are u32, and offsets of Arrow are int32."""
    if ids.bounds is None:
        return
    asked = int.from_bytes(ids.bounds[-_ID_BYTES:], "little")
    if asked > _MOST_IDS:
        raise LimitExceeded.of(
            f"{asked} ids in one batch; an Arrow array of lists holds {_MOST_IDS}",
            _MOST_IDS,
            asked,
            hint="Encode fewer texts in a call",
        )


def _schema_capsule(ids: Buffers) -> object:
    schema = ArrowSchema()
    _fill_schema(schema, is_list=ids.bounds is not None)
    return _capsule(schema, SCHEMA)


def _fill_schema(schema: Any, *, is_list: bool, name: bytes = b"") -> None:
    children = []
    if is_list:
        children.append(ArrowSchema())
        _fill_schema(children[0], is_list=False, name=b"item")
    schema.format, schema.name = b"+l" if is_list else b"I", name
    schema.metadata, schema.flags = None, _NULLABLE
    _finish(schema, children, schema.format, name)


def _fill_array(array: Any, ids: Buffers) -> None:
    children = []
    if ids.bounds is None:
        array.length = len(ids.ids) // _ID_BYTES
        parts = [None, ids.ids]
    else:
        children.append(ArrowArray())
        _fill_array(children[0], ids._replace(bounds=None, validity=None, null_count=0))
        array.length = _lists(ids.bounds)
        parts = [ids.validity, ids.bounds]
    array.null_count, array.offset, array.n_buffers = ids.null_count, 0, len(parts)
    pointers = (c_void_p * len(parts))(*map(_address, parts))
    array.buffers = pointers
    _finish(array, children, parts, pointers)


def _finish(structure: Any, children: Sequence[Structure], *kept: object) -> None:
    pointers = (c_void_p * len(children))(*map(addressof, children))
    structure.n_children, structure.children = len(children), pointers
    structure.dictionary = None
    _keep(structure, (children, pointers, kept))


def _address(data: bytes | None) -> int | None:
    return None if data is None else cast(c_char_p(data), c_void_p).value


def _keep(structure: Any, what: object) -> None:
    """Until the structure is released, wherever the consumer has moved it to."""
    number = next(_numbers)
    _kept[number] = what
    structure.private_data = number
    structure.release = _RELEASE[type(structure)]


def _capsule(structure: Structure, name: bytes) -> object:
    address = addressof(structure)
    _in_capsules[address] = structure
    return new_capsule(address, name, _DESTROY[name])


# The callbacks. What they use is bound to them: see the text of the module.


def _tried(call: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
    """The result, and the exception that was raised before this was called."""
    try:
        return call(*arguments), None
    except BaseException as pending:
        return call(*arguments), pending


def _releasing(kind: Any, tried: Any, kept: dict[int, object]) -> Callable[[int], None]:
    has_children = hasattr(kind, "children")

    def release(address: int) -> None:
        found, pending = tried(kind.from_address, address)
        # A child that the consumer has moved elsewhere is marked as released here.
        for number in range(found.n_children if has_children else 0):
            place = found.children[number]
            if kind.from_address(place).release:
                release(place)
        found.release = None
        kept.pop(found.private_data, None)
        if pending is not None:
            raise pending

    return release


def _destroying(  # noqa: PLR0917
    kind: Any, name: bytes, release: Any, tried: Any, address_of: Any, held: dict[int, Structure]
) -> Callable[[int], None]:
    def destroy(capsule: int) -> None:
        address, pending = tried(address_of, capsule, name)
        if kind.from_address(address).release:
            # Nothing took what is inside.
            release(address)
        held.pop(address, None)
        if pending is not None:
            raise pending

    return destroy


def _get_schema(_stream: int, out: int) -> int:
    _fill_schema(ArrowSchema.from_address(out), is_list=True)
    return 0


def _get_next(stream: int, out: int) -> int:
    array = ArrowArray.from_address(out)
    left: Any = _kept[ArrowArrayStream.from_address(stream).private_data]
    if left:
        _fill_array(array, left.pop())
    else:
        array.release = None
    return 0


def _get_last_error(_stream: int) -> None:
    return None


_Release = CFUNCTYPE(None, c_void_p)
_Get = CFUNCTYPE(c_int, c_void_p, c_void_p)
_Error = CFUNCTYPE(c_void_p, c_void_p)
# The capsule is being freed: it is an address here, since a reference to it must not be counted.
_Destroy = PYFUNCTYPE(None, c_void_p)
_address_of = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))

_releases: Final[dict[type[Structure], Any]] = {
    kind: _releasing(kind, _tried, _kept) for kind in (ArrowSchema, ArrowArray, ArrowArrayStream)
}
_thunks: Final[tuple[Any, ...]] = (
    *(_Release(release) for release in _releases.values()),
    *(
        _Destroy(_destroying(kind, name, _releases[kind], _tried, _address_of, _in_capsules))
        for kind, name in ((ArrowSchema, SCHEMA), (ArrowArray, ARRAY), (ArrowArrayStream, STREAM))
    ),
    *(_Get(_get_schema), _Get(_get_next), _Error(_get_last_error)),
)
# One reference too many, for good: consumers call these when the module is gone.
PYFUNCTYPE(None, py_object)(("Py_IncRef", pythonapi))((_thunks, _releases, ARRAY, SCHEMA, STREAM))

_code = [cast(thunk, c_void_p).value for thunk in _thunks]
_RELEASE: Final = dict(zip(_releases, _code[:3], strict=True))
_DESTROY: Final = dict(zip((SCHEMA, ARRAY, STREAM), _code[3:6], strict=True))
_STREAM_CALLS: Final = tuple(_code[6:])
