"""Reads as much of a WebAssembly module as our artifacts are judged by, and adds custom sections.

python -m tools.build.wasm_sections FILE    show imports, exports, features and custom sections
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HEADER = b"\0asm\1\0\0\0"
VALUE_TYPES = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64", 0x7B: "v128"}
KINDS = ("function", "table", "memory", "global")


@dataclass(frozen=True)
class Signature:
    params: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    minimum: int
    maximum: int | None
    shared: bool


Item = Signature | Limits | str


@dataclass
class Module:
    imports: dict[tuple[str, str], Item] = field(default_factory=dict)
    exports: dict[str, Item] = field(default_factory=dict)
    memories: list[Limits] = field(default_factory=list)
    features: frozenset[str] = frozenset()
    custom: dict[str, bytes] = field(default_factory=dict)


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def more(self) -> bool:
        return self.at < len(self.data)

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError("the module ends in the middle of something")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def name(self) -> str:
        return self.take(self.number()).decode()

    def limits(self) -> Limits:
        flags = self.byte()
        minimum = self.number()
        return Limits(minimum, self.number() if flags & 1 else None, bool(flags & 2))

    def types(self) -> tuple[str, ...]:
        return tuple(VALUE_TYPES.get(self.byte(), "other") for _ in range(self.number()))


def sections(data: bytes) -> Iterator[tuple[int, Reader]]:
    if not data.startswith(HEADER):
        raise ValueError("not a WebAssembly module")
    reader = Reader(data)
    reader.take(len(HEADER))
    while reader.more:
        number = reader.byte()
        yield number, Reader(reader.take(reader.number()))


def read(data: bytes) -> Module:
    module = Module()
    types: list[Signature] = []
    functions: list[Signature] = []
    for number, section in sections(data):
        if number == 0:
            name = section.name()
            module.custom[name] = section.take(len(section.data) - section.at)
        elif number == 1:
            types = [_function_type(section) for _ in range(section.number())]
        elif number == 2:
            for _ in range(section.number()):
                _import(section, module, types, functions)
        elif number == 3:
            functions += [types[section.number()] for _ in range(section.number())]
        elif number == 5:
            module.memories += [section.limits() for _ in range(section.number())]
        elif number == 7:
            for _ in range(section.number()):
                name, kind, index = section.name(), section.byte(), section.number()
                spaces: dict[int, Sequence[Item]] = {0: functions, 2: module.memories}
                module.exports[name] = spaces[kind][index] if kind in spaces else KINDS[kind]
    features = Reader(module.custom.get("target_features", b"\0"))
    names = [(features.byte(), features.name()) for _ in range(features.number())]
    module.features = frozenset(name for sign, name in names if sign == ord("+"))
    return module


def _function_type(section: Reader) -> Signature:
    if section.byte() != 0x60:
        raise ValueError("a type that is no function")
    return Signature(section.types(), section.types())


def _import(
    section: Reader, module: Module, types: list[Signature], functions: list[Signature]
) -> None:
    key = (section.name(), section.name())
    kind = section.byte()
    item: Item = KINDS[kind]
    if kind == 0:
        item = types[section.number()]
        functions.append(item)
    elif kind == 1:
        section.byte()
        section.limits()
    elif kind == 2:
        item = section.limits()
        module.memories.append(item)
    else:
        section.take(2)
    module.imports[key] = item


def leb128(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def custom_section(name: str, payload: bytes) -> bytes:
    """The bytes to append to a module."""
    content = leb128(len(name.encode())) + name.encode() + payload
    return b"\0" + leb128(len(content)) + content


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print(__doc__)
        return 2
    module = read(Path(argv[0]).read_bytes())
    for key, what in module.imports.items():
        print("import", ".".join(key), what)
    for name, what in module.exports.items():
        print("export", name, what)
    print("memories", module.memories)
    print("features", " ".join(sorted(module.features)))
    for name, payload in module.custom.items():
        print("custom", name, len(payload), "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
