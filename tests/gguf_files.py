"""Small GGUF files for tests: a writer of the container, vocabularies for each kind of model."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

STRING, ARRAY = 8, 9
_FORMATS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
U8, U32, I32, F32, BOOL = 0, 4, 5, 6, 7

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Array:
    """An array of a given type; lists of str, float and int need no such help."""

    def __init__(self, kind: int, items: Sequence[Any]) -> None:
        self.kind = kind
        self.items = items


def gguf(pairs: dict[str, Any], *, version: int = 3, tail: bytes = b"") -> bytes:
    """A file of these pairs; `tail` stands where the tensors would."""
    body = b"".join(_string(key) + _value(value) for key, value in pairs.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs)) + body + tail


def _string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, (str, bytes)):
        return struct.pack("<I", STRING) + _string(value)
    if isinstance(value, list):
        kinds = {str: STRING, bytes: STRING, float: F32, int: I32}
        value = Array(kinds[type(value[0])] if value else STRING, value)
    head = struct.pack("<IIQ", ARRAY, value.kind, len(value.items))
    if value.kind == STRING:
        return head + b"".join(map(_string, value.items))
    return head + struct.pack(f"<{len(value.items)}{_FORMATS[value.kind]}", *value.items)


def byte_alphabet() -> list[str]:
    """The character of each byte, as GPT-2 has it."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def spelled(text: str | bytes) -> str:
    alphabet = byte_alphabet()
    raw = text.encode() if isinstance(text, str) else text
    return "".join(alphabet[byte] for byte in raw)


def joining(text: str) -> list[tuple[bytes, bytes]]:
    """Merges that make one token of the text, if nothing cuts it, from its bytes."""
    raw = text.encode()
    return [(raw[:at], raw[at : at + 1]) for at in range(1, len(raw))]


def byte_level(
    merges: Iterable[tuple[str | bytes, str | bytes]] = (),
    specials: Sequence[tuple[str, int]] = (),
    **more: Any,
) -> dict[str, Any]:
    """Model gpt2: all bytes, the products of the merges (given as text), then special tokens."""
    pairs = [(spelled(left), spelled(right)) for left, right in merges]
    tokens = list(dict.fromkeys([*byte_alphabet(), *(left + right for left, right in pairs)]))
    types = [NORMAL] * len(tokens) + [kind for _, kind in specials]
    return {
        "general.architecture": "test",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens + [text for text, _ in specials],
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in pairs],
        **_keys(more),
    }


def scored(
    pieces: Iterable[tuple[str, float]], specials: Sequence[tuple[str, int]] = (), **more: Any
) -> dict[str, Any]:
    """Model llama: unknown, BOS and EOS, all bytes, the pieces, then special tokens."""
    pieces = list(pieces)
    tokens = [
        ("<unk>", 0.0, UNKNOWN),
        ("<s>", 0.0, CONTROL),
        ("</s>", 0.0, CONTROL),
        *((f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)),
        *((text, score, NORMAL) for text, score in pieces),
        *((text, 0.0, kind) for text, kind in specials),
    ]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [text for text, _, _ in tokens],
        "tokenizer.ggml.scores": [float(score) for _, score, _ in tokens],
        "tokenizer.ggml.token_type": [kind for _, _, kind in tokens],
        **_keys(more),
    }


def plain(model: str, tokens: Sequence[tuple[str, int]], **more: Any) -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": [text for text, _ in tokens],
        "tokenizer.ggml.token_type": [kind for _, kind in tokens],
        **_keys(more),
    }


def _keys(more: dict[str, Any]) -> dict[str, Any]:
    """`pre="x"` becomes `tokenizer.ggml.pre`."""
    return {f"tokenizer.ggml.{key}": value for key, value in more.items()}
