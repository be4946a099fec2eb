"""A writer of GGUF containers, as small as tokenizers need it."""

from __future__ import annotations

import struct
from typing import Any

_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def container(pairs: dict[str, Any]) -> bytes:
    body = b"".join(_string(key) + _value(value) for key, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", _BOOL, value)
        case int():
            return struct.pack("<II", _U32, value)
        case str():
            return struct.pack("<I", _STRING) + _string(value)
        case [str(), *_]:
            head = struct.pack("<IIQ", _ARRAY, _STRING, len(value))
            return head + b"".join(map(_string, value))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", _ARRAY, _F32, len(value), *value)
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _I32, len(value), *value)
    raise TypeError(f"no value of GGUF: {value!r:.40}")
