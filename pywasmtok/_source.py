"""From what a caller names to bytes: paths, folders, the built-in tokenizer.

The core never sees a path. Files are read here, whatever the encoding of their names, and what
their bytes mean is for the core to say.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from .errors import (
    InvalidArgument,
    LimitExceeded,
    LoadError,
    NotATokenizer,
    SourceNotFound,
    Unsupported,
)

__all__ = ["MOCK", "Source", "SourceLike", "read_file", "read_source"]

SourceLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]

MOCK = "mock://"
MAX_FILE_BYTES = 512 * 1024 * 1024

# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_BUILTIN = "builtin:"
_BUILTIN_FILES = {"demo": "demo.tokenizer.json.xz"}

# What a folder may hold, best first. Only the first is read today; the others get an error that
# names their format rather than "nothing found".
_IN_FOLDER = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "tiktoken.model",
    "*.tiktoken",
    "spiece.model",
    "sentencepiece.bpe.model",
    "*.gguf",
)
_SIDECARS = ("tokenizer_config.json", "config.json", "special_tokens_map.json", "vocab.json")


class Source(NamedTuple):
    data: bytes
    name: str
    """For people: a path may not be UTF-8, this is printable."""


def read_source(source: SourceLike) -> Source:
    """The bytes of a tokenizer file. `mock://` is not a source: the caller has dealt with it."""
    if isinstance(source, str) and source.startswith(_BUILTIN):
        return _read_builtin(source)
    path = _path(source)
    if os.path.isdir(path):
        path = _find_in_folder(path)
    return _read(path)


def read_file(source: SourceLike) -> Source:
    """Like `read_source`, but only a file will do."""
    path = _path(source)
    if os.path.isdir(path):
        raise InvalidArgument(
            "this is a folder", source=_printable(path), hint="create_tokenizer() takes folders"
        )
    return _read(path)


def _path(source: SourceLike) -> bytes:
    try:
        path = os.fsencode(source)
    except TypeError as error:
        raise InvalidArgument(
            f"a source is a path (str, bytes or os.PathLike), not {type(source).__name__}"
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"no path on this system: {error}") from error
    if b"\0" in path:
        raise InvalidArgument("a path cannot hold a NUL byte")
    if not path:
        raise InvalidArgument("an empty path")
    return path


def _printable(path: bytes) -> str:
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _read(path: bytes) -> Source:
    name = _printable(path)
    try:
        with open(os.open(path, _OPEN_FLAGS), "rb") as stream:
            state = os.fstat(stream.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise LoadError("this is no regular file", source=name)
            if stream.peek(4)[:4] == b"GGUF":
                # These also hold gigabytes of weights: not even read.
                raise Unsupported("GGUF files are not read yet", feature="format:gguf", source=name)
            if state.st_size > MAX_FILE_BYTES:
                raise LimitExceeded(
                    f"{state.st_size} bytes; at most {MAX_FILE_BYTES} are read", source=name
                )
            return Source(stream.read(MAX_FILE_BYTES), name)
    except FileNotFoundError as error:
        if isinstance(error, SourceNotFound):
            raise
        raise _not_found(name) from error
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=name) from error


def _not_found(name: str) -> SourceNotFound:
    builtin = ", ".join(_BUILTIN + known for known in _BUILTIN_FILES)
    return SourceNotFound(
        "no such file or folder",
        source=name,
        hint=f"Give the path of a tokenizer.json, of a folder that holds one, or {builtin}; "
        "names of models on a hub are not looked up",
    )


def _find_in_folder(folder: bytes) -> bytes:
    name = _printable(folder)
    try:
        entries = sorted(os.listdir(folder))
    except OSError as error:
        raise LoadError(f"cannot be listed: {error.strerror or error}", source=name) from error
    for wanted in _IN_FOLDER:
        for entry in entries:
            suffix = os.fsencode(wanted.removeprefix("*"))
            if entry == suffix or (wanted.startswith("*") and entry.endswith(suffix)):
                return os.path.join(folder, entry)
    if b"vocab.json" in entries and b"merges.txt" in entries:
        raise Unsupported(
            "a vocab.json with its merges.txt is not read yet",
            feature="format:vocab+merges",
            source=name,
        )
    sidecars = [known for known in _SIDECARS if os.fsencode(known) in entries]
    if sidecars:
        raise NotATokenizer(
            f"the folder holds {', '.join(sidecars)} but no tokenizer",
            source=name,
            hint="tokenizer.json belongs beside them",
        )
    raise SourceNotFound(
        "the folder holds no tokenizer",
        source=name,
        hint=f"Looked for {', '.join(_IN_FOLDER)}",
    )


def _read_builtin(source: str) -> Source:
    import lzma
    from importlib.resources import files

    known = _BUILTIN_FILES.get(source.removeprefix(_BUILTIN))
    if known is None:
        names = ", ".join(_BUILTIN + name for name in _BUILTIN_FILES)
        raise SourceNotFound("no such built-in tokenizer", source=source, hint=f"There is {names}")
    try:
        packed = files("pywasmtok").joinpath("data", known).read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(
            "missing from this installation", source=source, hint="Reinstall pywasmtok"
        ) from error
    return Source(lzma.decompress(packed), source)
