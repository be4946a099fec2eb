"""The structures of the Arrow C data interface, and the capsules that carry them.

https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    PYFUNCTYPE,
    Structure,
    c_char_p,
    c_int64,
    c_void_p,
    py_object,
    pythonapi,
)
from typing import Final

__all__ = [
    "ARRAY",
    "SCHEMA",
    "STREAM",
    "ArrowArray",
    "ArrowArrayStream",
    "ArrowSchema",
    "address_in",
    "new_capsule",
]

# The names of capsules.
ARRAY: Final = b"arrow_array"
SCHEMA: Final = b"arrow_schema"
STREAM: Final = b"arrow_array_stream"

# Prototypes of this module: those at `pythonapi` are shared with the whole process.
new_capsule: Final = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", pythonapi)
)
address_in: Final = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))


class ArrowSchema(Structure):
    _fields_ = (
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_void_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", POINTER(c_void_p)),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    )


class ArrowArray(Structure):
    _fields_ = (
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", POINTER(c_void_p)),
        ("children", POINTER(c_void_p)),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    )


class ArrowArrayStream(Structure):
    _fields_ = (
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    )
