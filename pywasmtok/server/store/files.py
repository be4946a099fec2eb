"""Files by the SHA-256 of their bytes: written once, never changed, checked before they are used.

files/DIGEST     what is stored
files/.new-*     being written, locked by the writer
damaged/*        what had other bytes than its name says, and damaged records
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from ..._host.linux.file_systems import try_to_lock
from ..._host.snapshots.new_file import is_abandoned
from ...errors import LoadError
from ...loading.sources.lazy import LazyFile
from ..names import is_digest

__all__ = ["Damaged", "Files"]

_NEW: Final = ".new-"
# A writer locks its temporary file within this time; an older file without a lock is abandoned.
_ABANDONED_SECONDS: Final = 60

_TO_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_BLOCK: Final = 1 << 20

# Smaller ones are read and compared at once.
_LARGE: Final = 1 << 20

_log = logging.getLogger("pywasmtok")


class Damaged(LoadError):  # noqa: N818
    """A stored file has other bytes than were stored."""

    kind = "damaged_file"


class StoredFile(LazyFile):
    """A file that is read only when its bytes are needed: for a snapshot of it they are not. It
    holds nothing open, since thousands of them may be known at a time."""

    def __init__(self, path: Path, length: int, told: Callable[[], object]) -> None:
        """`told`: that it is damaged."""
        self._path = path
        self._length = length
        self._told = told
        self.identity = f"stored {path.name}"
        self.settled = False

    def start(self, length: int) -> bytes:
        return bytes(self)[:length]

    def __bytes__(self) -> bytes:
        try:
            file = os.open(self._path, _TO_READ)
        except OSError as error:
            raise _unreadable(self._path.name, error) from error
        try:
            data = _whole(file, self._length)
        finally:
            os.close(file)
        if hashlib.sha256(data).hexdigest() != self._path.name:
            self._told()
            raise _damaged(self._path.name)
        return data

    def sha256(self) -> str:
        return self._path.name

    def believe(self, digest: str) -> None:
        """The name of the file is its digest already."""


class Written:
    """A file that is on the disk, without its name yet."""

    def __init__(self, path: str, digest: str) -> None:
        self.path = path
        self.digest = digest


class Files:
    """Raises OSError; the store turns that into its own errors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "files"
        self.damaged = folder / "damaged"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def written(self, data: bytes) -> Iterator[Written]:
        """`data` on the disk. It disappears again unless it is published meanwhile."""
        file, path = tempfile.mkstemp(dir=self.folder, prefix=_NEW)
        try:
            with os.fdopen(file, "wb") as stream:
                try_to_lock(stream.fileno())
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
                os.chmod(path, 0o400)
                yield Written(path, hashlib.sha256(data).hexdigest())
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def publish(self, written: Written) -> None:
        """Gives the file its name in one step, so that it survives a power failure. An existing
        file is replaced: it is the same, or damaged."""
        os.replace(written.path, self.folder / written.digest)
        _sync_folder(self.folder)

    def open(self, digest: str, told: Callable[[], object]) -> bytes | LazyFile:
        """FileNotFoundError; or `Damaged`, after a call of `told`. Large files are compared with
        their name whenever their bytes are read."""
        stored = StoredFile(self.folder / digest, os.stat(self.folder / digest).st_size, told)
        return bytes(stored) if len(stored) < _LARGE else stored

    def is_damaged(self, digest: str, read: Callable[[int], object] = lambda length: None) -> bool:
        """`read` is called after each part, with its length."""
        file = os.open(self.folder / digest, _TO_READ)
        try:
            return _sha256(file, read) != digest
        except OSError as error:
            # A part of the disk that cannot be read.
            if error.errno != errno.EIO:
                raise
            return True
        finally:
            os.close(file)

    def put_aside(self, digest: str) -> None:
        """Moves a damaged file to another folder. No other writer may publish it meanwhile."""
        self.damaged.mkdir(mode=0o700, exist_ok=True)
        aside = self.damaged / f"{digest}.{time.time_ns()}"
        os.replace(self.folder / digest, aside)
        _log.error("store: %s had other bytes than were stored; it is now %s", digest, aside)

    def keep_aside(self, what: str, data: bytes) -> Path:
        """A new file beside the damaged ones; it is on the disk when this returns."""
        self.damaged.mkdir(mode=0o700, exist_ok=True)
        path = self.damaged / f"{what}.{time.time_ns()}.json"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        except BaseException:
            os.unlink(path)
            raise
        _sync_folder(self.damaged)
        return path

    def aside(self) -> int:
        """How many files are set aside."""
        with contextlib.suppress(FileNotFoundError):
            return len(os.listdir(self.damaged))
        return 0

    def remove(self, digest: str) -> None:
        """Readers that have the file open can go on reading it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / digest)

    def names(self) -> list[str]:
        return sorted(name for name in os.listdir(self.folder) if is_digest(name))

    def sweep(self, orphans: Iterable[str]) -> int:
        """Removes these, and what writers that were killed have left; how many of these there
        were."""
        found = set(self.names()).intersection(orphans)
        for digest in found:
            self.remove(digest)
        left = [name for name in os.listdir(self.folder) if name.startswith(_NEW)]
        for name in left:
            path = os.path.join(self.folder, name)
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_mtime > _ABANDONED_SECONDS and is_abandoned(path):
                    os.unlink(path)
        return len(found)


def _damaged(digest: str) -> Damaged:
    return Damaged(
        f"the stored file {digest} is damaged, and not served", hint="Store it once more"
    )


def _unreadable(digest: str, error: OSError) -> LoadError:
    return LoadError(
        f"the stored file {digest} cannot be read: {error.strerror or type(error).__name__}"
    )


def _whole(file: int, size: int) -> bytes:
    parts = []
    while part := os.read(file, max(size, 1)):
        parts.append(part)
    return b"".join(parts)


def _sha256(file: int, read: Callable[[int], object]) -> str:
    found = hashlib.sha256()
    place = 0
    while part := os.pread(file, _BLOCK, place):
        found.update(part)
        place += len(part)
        read(len(part))
    return found.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Without this, a power failure may lose the name of a file that is on the disk."""
    if os.name == "nt":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
