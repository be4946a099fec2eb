"""Paths of any encoding, and reading files without trusting them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from ...errors import InputTooLarge, InvalidArgument, LoadError, SourceNotFound
from ...tokenizer.limits import Limits
from .lazy import LazyFile, worth_it

__all__ = [
    "Content",
    "as_path",
    "beside",
    "exists",
    "list_folder",
    "printable",
    "read",
    "read_lazily",
    "write",
]

# Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Content(NamedTuple):
    data: bytes
    size: int
    """Of the whole file: of a GGUF file, `data` is only the beginning."""


class LazyContent(NamedTuple):
    data: bytes | LazyFile
    size: int


def as_path(source: object) -> bytes:
    try:
        path = os.fsencode(source)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidArgument(
            f"a path is str, bytes or os.PathLike, not {type(source).__name__}"
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"no path on this system: {error}") from error
    if b"\0" in path:
        raise InvalidArgument("a path cannot hold a NUL byte")
    if not path:
        raise InvalidArgument("an empty path")
    return path


def printable(path: bytes) -> str:
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def exists(path: bytes) -> bool:
    """True for a broken link, too: it is meant as a file, not as a name to look up."""
    return os.path.lexists(path)


def beside(path: bytes, name: str) -> bytes:
    """The path of another file in the folder of this one."""
    return os.path.join(os.path.dirname(path), os.fsencode(name))


def list_folder(folder: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise LoadError(
            f"cannot be listed: {error.strerror or error}", source=printable(folder)
        ) from error


def read(path: bytes, limits: Limits) -> Content:
    """The bytes of a file; of a GGUF file, those before the tensors."""
    found = _read(path, limits, lazily=False)
    return Content(bytes(found.data), found.size)


def read_lazily(path: bytes, limits: Limits) -> LazyContent:
    """The same, and maybe not now."""
    return _read(path, limits, lazily=True)


def _read(path: bytes, limits: Limits, lazily: bool) -> LazyContent:
    name = printable(path)
    try:
        with open(path, "rb", opener=lambda path, _: os.open(path, _OPEN_FLAGS)) as stream:
            state = os.fstat(stream.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise LoadError("this is no regular file", source=name)
            if stream.peek(4)[:4] == b"GGUF":
                from .prefix import read_metadata

                return LazyContent(read_metadata(stream, limits, name), state.st_size)
            if lazily and state.st_size <= limits.file_bytes and worth_it(stream.fileno(), state):
                return LazyContent(LazyFile(os.dup(stream.fileno()), state, name), state.st_size)
            return LazyContent(_whole(stream, state.st_size, limits, name), state.st_size)
    except FileNotFoundError as error:
        raise SourceNotFound(
            "no such file or folder",
            source=name,
            hint="Give the path of a tokenizer file or of its folder, the name of a model such as "
            "gpt-4o, a repository of the hub such as org/name, or builtin:demo",
        ) from error
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=name) from error


def _whole(stream: BinaryIO, size: int, limits: Limits, name: str) -> bytes:
    if size > limits.file_bytes:
        raise InputTooLarge.of(
            f"{size} bytes; at most {limits.file_bytes} are read",
            limits.file_bytes,
            size,
            source=name,
            hint="A tokenizer is rarely larger than 50 MB; Limits(file_bytes=...) moves the bound",
        )
    return stream.read(limits.file_bytes)


def write(path: bytes, data: bytes) -> None:
    """Complete or not at all: a file that was there stays until the new one is whole, which gets
    its mode. Pipes and devices are written to."""
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as there:
            there.write(data)
        return
    if mode is not None:
        # Raises for a file that may not be written.
        open(path, "r+b").close()
    # The file that a link leads to.
    path = os.path.realpath(path)
    temporary = beside(path, f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as made:
            made.write(data)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
