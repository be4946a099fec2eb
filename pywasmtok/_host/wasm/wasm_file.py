"""Reads imports, exports and custom sections of a wasm file. Nothing is compiled or run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...errors import ArtifactError

_MAGIC: Final = b"\0asm\x01\0\0\0"
_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _EXPORTS = 0, 1, 2, 3, 7
_FUNCTION, _TABLE, _MEMORY, _GLOBAL = range(4)
_HAS_MAXIMUM, _IS_SHARED = 1, 2
_FUNCTION_TYPE: Final = 0x60
_VALUES: Final = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64", 0x7B: "v128"}


class FunctionType(NamedTuple):
    parameters: list[str]
    results: list[str]


class MemoryLimits(NamedTuple):
    """In pages."""

    minimum: int
    maximum: int | None
    is_shared: bool


class Shape(NamedTuple):
    """Imports and exports of a module, by name."""

    imports: dict[str, FunctionType | MemoryLimits | None]
    """Names are such as `env.memory`. None: a table or a global."""
    exports: dict[str, FunctionType | str]
    """What is no function is `table`, `memory` or `global`."""


def shape_of(wasm: bytes) -> Shape:
    types: list[FunctionType] = []
    # The type of each function, imported ones first.
    functions: list[FunctionType] = []
    shape = Shape({}, {})
    try:
        for identity, start, end in _sections(wasm):
            reader = _Reader(wasm, start, end)
            if identity == _TYPES:
                types += [reader.function_type() for _ in range(reader.number())]
            elif identity == _IMPORTS:
                for _ in range(reader.number()):
                    name = f"{reader.name()}.{reader.name()}"
                    shape.imports[name] = found = reader.imported(types)
                    if isinstance(found, FunctionType):
                        functions.append(found)
            elif identity == _FUNCTIONS:
                functions += [types[reader.number()] for _ in range(reader.number())]
            elif identity == _EXPORTS:
                for _ in range(reader.number()):
                    name, kind, place = reader.name(), reader.byte(), reader.number()
                    others = {_TABLE: "table", _MEMORY: "memory", _GLOBAL: "global"}
                    shape.exports[name] = functions[place] if kind == _FUNCTION else others[kind]
    except (IndexError, KeyError, UnicodeDecodeError):
        raise ArtifactError(
            "a section of the module is cut off, or names what is not there"
        ) from None
    return shape


class _Reader:
    """Reads a section from its start to its end."""

    def __init__(self, wasm: bytes, start: int, end: int) -> None:
        self._wasm = memoryview(wasm)[:end]
        self._place = start

    def byte(self) -> int:
        self._place += 1
        return self._wasm[self._place - 1]

    def number(self) -> int:
        value, self._place = _number(self._wasm, self._place)
        return value

    def name(self) -> str:
        length = self.number()
        start, self._place = self._place, self._place + length
        return bytes(self._wasm[start : self._place]).decode()

    def function_type(self) -> FunctionType:
        if self.byte() != _FUNCTION_TYPE:
            raise ArtifactError("the module has a type that is not a function type")
        return FunctionType(self._values(), self._values())

    def imported(self, types: list[FunctionType]) -> FunctionType | MemoryLimits | None:
        """None: a table or a global."""
        kind = self.byte()
        if kind == _FUNCTION:
            return types[self.number()]
        if kind == _MEMORY:
            return self._limits()
        self.byte()
        if kind == _TABLE:
            self._limits()
        else:
            self.byte()
        return None

    def _values(self) -> list[str]:
        kinds = [self.byte() for _ in range(self.number())]
        return [_VALUES.get(kind, hex(kind)) for kind in kinds]

    def _limits(self) -> MemoryLimits:
        flags, minimum = self.byte(), self.number()
        maximum = self.number() if flags & _HAS_MAXIMUM else None
        return MemoryLimits(minimum, maximum, bool(flags & _IS_SHARED))


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


def _number(wasm: bytes | memoryview, place: int) -> tuple[int, int]:
    """A u32 in LEB128, and the position after it."""
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
