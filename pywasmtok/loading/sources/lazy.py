"""A file whose bytes may never be needed.

Loading a tokenizer from a snapshot takes the hash of its file. A file that was hashed before and
has not changed since need not be read for that. Reading and hashing the largest files takes 30 ms,
the rest of such a load 2 ms.
"""

from __future__ import annotations

import os
import time
import weakref
from hashlib import sha256
from typing import Any, Final

from ..._locks import ForkSafeLock
from ..._own_file import OwnFile
from ...errors import LoadError

__all__ = ["LazyFile", "worth_it"]

# Smaller ones are read and hashed in a millisecond.
_SMALLEST: Final = 1 << 20

# Times of files move in steps of some milliseconds, on some file systems of two seconds. What was
# changed only just now could be changed once more without a trace.
_SETTLED_SECONDS: Final = 3


def worth_it(file: int, state: os.stat_result) -> bool:
    """Only where file times can be relied on: on a local file system."""
    if state.st_size < _SMALLEST:
        return False
    from ..._host.linux.file_systems import may_be_mapped

    return may_be_mapped(file)


class LazyFile:
    """Bytes of a file, read on first use. What is read is what was hashed, or an error.

    It holds the file open until it is read: that the file is deleted or replaced meanwhile does not
    matter. A pickle of it is one of its bytes.
    """

    def __init__(self, file: int, state: os.stat_result, name: str) -> None:
        """Owns `file`."""
        self._file = OwnFile(file)
        self._name = name
        self._length = state.st_size
        self._lock = ForkSafeLock()
        self._bytes: bytes | None = None
        self._digest: str | None = None
        self._close = weakref.finalize(self, self._file.close)
        self.identity = (
            f"{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"
        )
        """Another file, or the same one with other bytes, has another one."""
        self.settled = time.time() - max(state.st_mtime, state.st_ctime) > _SETTLED_SECONDS
        """Whether the above can be relied on."""

    def __len__(self) -> int:
        return self._length

    def start(self, length: int) -> bytes:
        data = self._bytes
        return self._pread(length) if data is None else data[:length]

    def __bytes__(self) -> bytes:
        data = self._bytes
        if data is None:
            with self._lock:
                data = self._bytes
                if data is None:
                    data = self._read()
                    self._bytes = data
                    self._close()
        return data

    def sha256(self) -> str:
        if self._digest is None:
            self._digest = sha256(bytes(self)).hexdigest()
        return self._digest

    def believe(self, digest: str) -> None:
        """Takes a digest of this file that was computed before. Reading checks the bytes by it."""
        self._digest = digest

    def __reduce__(self) -> Any:
        return bytes, (bytes(self),)

    def _read(self) -> bytes:
        data = self._pread(self._length)
        if self._digest is not None and sha256(data).hexdigest() != self._digest:
            raise LoadError(
                "the file was changed after the tokenizer was made of it",
                source=self._name,
                hint="Make the tokenizer again, and replace files instead of writing into them",
            )
        return data

    def _pread(self, length: int) -> bytes:
        parts, place = [], 0
        if not self._file.is_open:
            raise LoadError(
                "other code has closed the file, which is read now",
                source=self._name,
                hint="A program that closes all descriptors loads its tokenizers afterwards",
            )
        try:
            while place < length:
                part = os.pread(self._file.number, length - place, place)
                if not part:
                    break
                parts.append(part)
                place += len(part)
        except OSError as error:
            raise LoadError(
                f"cannot be read: {error.strerror or error}", source=self._name
            ) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)
