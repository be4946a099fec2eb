"""Reads the custom sections of a wasm file, before anything of it is compiled or run."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import ArtifactError

_MAGIC = b"\0asm\x01\0\0\0"
_CUSTOM = 0


def custom_sections(wasm: bytes) -> dict[str, bytes]:
    """Content by name; of sections with the same name the first counts."""
    if not wasm.startswith(_MAGIC):
        raise ArtifactError("not a WebAssembly module", offset=0)
    found: dict[str, bytes] = {}
    for identity, start, end in _sections(wasm):
        if identity == _CUSTOM:
            length, name_start = _number(wasm, start)
            name_end = name_start + length
            if name_end > end:
                raise ArtifactError("the name of a custom section ends behind it", offset=start)
            name = wasm[name_start:name_end].decode("utf-8", "replace")
            found.setdefault(name, wasm[name_end:end])
    return found


def _sections(wasm: bytes) -> Iterator[tuple[int, int, int]]:
    """(id, first byte of the content, byte behind the content) of each section."""
    place = len(_MAGIC)
    while place < len(wasm):
        size, start = _number(wasm, place + 1)
        end = start + size
        if end > len(wasm):
            raise ArtifactError("the module is cut off inside a section", offset=place)
        yield wasm[place], start, end
        place = end


def _number(wasm: bytes, place: int) -> tuple[int, int]:
    """A u32 in LEB128 and the place behind it."""
    value = 0
    for shift in range(0, 35, 7):
        if place >= len(wasm):
            break
        byte = wasm[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ArtifactError("the module is cut off or holds a malformed length", offset=place)
