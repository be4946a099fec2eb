"""The file of a snapshot: a description, and behind it the runs of an instance's memory.

    magic, length of the description, the description (JSON), its SHA-256; zeros up to 64 KiB
    the runs, each at a multiple of 64 KiB, with holes where the memory has zeros

A file is written once, under another name, and never changed: it is mapped into processes that may
live for weeks. So it is read-only, too.

The checksum of each run is a CRC-32. It finds flipped bits and truncated files. Against an attacker
the owner and the mode of the file protect: an attacker who may write the file can write a matching
checksum as well. A cryptographic checksum would take more than twice as long.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..wasm import config
from ..wasm.instance import Handles
from .image import ALIGNMENT, Layout, Part, Run, write_all, write_run

_MAGIC: Final = b"pywasmtok snapshot 1\n"
_LENGTH: Final = struct.Struct("<I")
_DIGEST: Final = hashlib.sha256().digest_size
# The description has a room of its own, so that the runs begin where they can be mapped.
HEADER: Final = ALIGNMENT

# What is read at a time to verify a file.
_BLOCK: Final = 1 << 20


class Damaged(Exception):  # noqa: N818
    """This is not the file that was written; the text says what is wrong."""


class Header(NamedTuple):
    """What a file says of itself."""

    about: Mapping[str, Any]
    """What it was made from; compared with what is looked for."""
    layout: Layout
    """Places are places in the file."""
    checksums: tuple[int, ...]
    """Of each run."""

    @property
    def length(self) -> int:
        """Bytes of the file."""
        return HEADER + sum(run.length for run in self.layout.runs)


def write(file: int, about: Mapping[str, Any], layout: Layout, parts: Sequence[Part]) -> Header:
    """Into a new, empty file."""
    runs = [run._replace(place=run.place + HEADER) for run in layout.runs]
    checksums = tuple(zlib.crc32(part.content) for part in parts)
    header = Header(about, layout._replace(runs=runs), checksums)
    os.ftruncate(file, header.length)
    for run, part in zip(runs, parts, strict=True):
        write_run(file, part, run.place)
    write_all(file, memoryview(_described(header)), 0)
    return header


def read_header(file: int, length: int) -> Header:
    """`length` is that of the file. What is answered can be mapped; its runs may be damaged."""
    content = os.pread(file, HEADER, 0)
    if not content.startswith(_MAGIC):
        raise Damaged("it does not begin like a snapshot")
    start = len(_MAGIC) + _LENGTH.size
    end = start + _LENGTH.unpack_from(content.ljust(start, b"\0"), len(_MAGIC))[0]
    if hashlib.sha256(content[:end]).digest() != content[end : end + _DIGEST]:
        raise Damaged("its description is not the one that was written")
    try:
        value = json.loads(content[start:end])
        handles, size, first = Handles(*value["handles"]), value["size"], value["first"]
        runs = [Run(*run) for run in value["runs"]]
        header = Header(
            value["about"], Layout(handles, size, first, runs), tuple(value["checksums"])
        )
    except (ValueError, KeyError, TypeError) as problem:
        raise Damaged(f"its description cannot be read: {problem!r}") from None
    _require_mappable(header.layout)
    if length != header.length or len(header.checksums) != len(runs):
        raise Damaged(f"it has {length} bytes where it should have {header.length}")
    return header


def verify(file: int, header: Header, read: Callable[[int], object] = lambda length: None) -> None:
    """`read` is called after each part, with its length."""
    for run, checksum in zip(header.layout.runs, header.checksums, strict=True):
        found = 0
        for block in _blocks(file, run):
            found = zlib.crc32(block, found)
            read(len(block))
        _require(found == checksum, run)


def read_parts(file: int, header: Header) -> list[Part]:
    """The contents of the runs, verified: for where the file itself cannot be mapped."""
    parts = [memoryview(b"".join(_blocks(file, run))) for run in header.layout.runs]
    for part, run, checksum in zip(parts, header.layout.runs, header.checksums, strict=True):
        _require(zlib.crc32(part) == checksum, run)
    return [Part.of(part) for part in parts]


def _blocks(file: int, run: Run) -> Iterator[bytes]:
    place, end = run.place, run.place + run.length
    while place < end:
        block = os.pread(file, min(_BLOCK, end - place), place)
        if not block:
            raise Damaged("it is cut off")
        yield block
        place += len(block)


def _require(equal: bool, run: Run) -> None:
    if not equal:
        raise Damaged(f"its bytes from {run.place} on are not those that were written")


def _require_mappable(layout: Layout) -> None:
    """Runs are mapped over the memory of an instance: outside of it they would destroy other
    memory."""
    end, place = 0, HEADER
    for run in layout.runs:
        if run.start % ALIGNMENT or run.length % ALIGNMENT or run.start < end or run.length <= 0:
            raise Damaged(f"it has a run at {run.start} of {run.length} bytes")
        end = run.start + run.length
        if run.place != place:
            raise Damaged(f"it has a run at {run.place} of the file, not at {place}")
        place += run.length
    if not end <= layout.size <= config.MEMORY_CAP:
        raise Damaged(f"its memory of {layout.size} bytes does not hold its runs")


def _described(header: Header) -> bytes:
    layout = header.layout
    handles = layout.handles
    text = json.dumps({
        "about": header.about,
        "handles": [handles.session, handles.tokenizer, handles.input, handles.room],
        "size": layout.size,
        "first": layout.first,
        "runs": layout.runs,
        "checksums": header.checksums,
    }).encode()  # fmt: skip
    start = _MAGIC + _LENGTH.pack(len(text)) + text
    content = start + hashlib.sha256(start).digest()
    if len(content) > HEADER:
        raise ValueError("the description of a snapshot is too long")
    return content
