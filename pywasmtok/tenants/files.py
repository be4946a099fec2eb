"""The bytes of a tenant's files, which are rarely needed once there is a snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from .._locks import ForkSafeLock
from ..errors import LoadError
from ..loading.sources.lazy import LazyFile
from .options import joined

__all__ = ["KeptFile", "MemoryFiles"]


class MemoryFiles:
    """Files of a tenant that are kept in memory only."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes | LazyFile, Mapping[str, Any]]] = {}

    def put(self, digest: str, data: bytes | LazyFile, options: Mapping[str, Any]) -> None:
        self._files[digest] = data, options

    def open(self, digest: str) -> tuple[bytes | LazyFile, Mapping[str, Any]]:
        return self._files[digest]

    def remove(self, digest: str) -> None:
        self._files.pop(digest, None)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, digest: str) -> bool:
        return digest in self._files

    @property
    def stored(self) -> int:
        """Bytes of all of them."""
        return sum(len(data) for data, _ in list(self._files.values()))


class KeptFile(LazyFile):
    """A file known by its digest. Its bytes are opened when needed, compared with the digest, and
    not kept."""

    settled = False
    identity = ""

    def __init__(  # nothing of the base class is used but its type
        self, digest: str, options: str, length: int, opened: Callable[[], bytes | LazyFile]
    ) -> None:
        self._digest = digest
        self._options = options
        self._length = length
        self._opened = opened
        self._lock = ForkSafeLock()

    def lies(self, opened: Callable[[], bytes | LazyFile]) -> None:
        """Sets where its bytes are from now on."""
        self._opened = opened

    def sha256(self) -> str:
        """Identifies the bytes as well as their own hash would: the digest is derived from it."""
        return self._digest or ""

    def __bytes__(self) -> bytes:
        data = bytes(self._opened())
        if joined(hashlib.sha256(data).hexdigest(), self._options) != self._digest:
            raise LoadError(
                "the file has other bytes than when it was added",
                hint="Add it again",
            )
        return data

    def start(self, length: int) -> bytes:
        data = self._opened()
        return data[:length] if isinstance(data, bytes) else data.start(length)

    def believe(self, digest: str) -> None:
        """Ignored: this file has its own digest."""
