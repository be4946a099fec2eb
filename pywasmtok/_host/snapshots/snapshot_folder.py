"""The directory of snapshots: its permissions, its files, and which of them are removed.

KEY.snapshot   the memory (`snapshot_file`); written once, then only read, mapped and deleted
KEY.verified   of which file the checksums were compared; its own time is that of the last use
*.digest       the SHA-256 of a file elsewhere, by its inode, size and times
.new-*         being written, locked by the writer
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ..wasm.cache import Refused, is_key, require_private
from .new_file import TO_READ, new_file, sweep

_SNAPSHOT: Final = ".snapshot"
_VERIFIED: Final = ".verified"
_KNOWN: Final = ".digest"

# Hashing a file once a month is no burden.
_KNOWN_SECONDS: Final = 30 * 24 * 3600

# The last use is noted this often, at most.
_USE_SECONDS: Final = 60


class Found(NamedTuple):
    key: str
    bytes: int
    """What it takes on the disk: holes take nothing."""
    last_use: float
    """Seconds since 1970."""


class Folder:
    """Raises OSError and `Refused`; the store decides which errors its callers see."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def require(self) -> None:
        require_private(os.stat(self.path), self.path)

    def make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.require()

    def snapshot(self, key: str) -> Path:
        return self.path / f"{key}{_SNAPSHOT}"

    def open(self, key: str) -> int:
        """The snapshot, to be read. What it is has to be asked of the open file."""
        return os.open(self.snapshot(key), TO_READ)

    def new_file(self) -> tuple[int, str]:
        """A file of mode 0600, and its name. Locked, for as long as it is open."""
        return new_file(self.path)

    def publish(self, file: int, name: str, key: str) -> None:
        """Published in one step, so that no reader sees a part of it. Of several writers, the last
        one wins."""
        # Read-only, against changes by mistake: other processes map it.
        os.chmod(name, 0o400)
        os.replace(name, self.snapshot(key))
        self.note_verified(key, os.fstat(file))

    # What was verified, and when it was used.

    def was_verified(self, key: str, state: os.stat_result) -> bool:
        path = self._verified(key)
        try:
            with open(path, "rb") as stream:
                noted = os.fstat(stream.fileno())
                require_private(noted, path)
                if stream.read() != _identity(state):
                    return False
        except OSError:
            return False
        if time.time() - noted.st_mtime > _USE_SECONDS:
            # A directory that may only be read has no last use.
            with contextlib.suppress(OSError):
                os.utime(path)
        return True

    def note_verified(self, key: str, state: os.stat_result) -> None:
        # If this fails, the next process compares the checksums once more.
        with contextlib.suppress(OSError):
            self._put(self._verified(key), _identity(state))

    # The hashes of files elsewhere.

    def known_digest(self, identity: str) -> str | None:
        path = self._known(identity)
        try:
            with open(path, "rb") as stream:
                require_private(os.fstat(stream.fileno()), path)
                digest = stream.read().decode("ascii")
            self.require()
        except (OSError, ValueError, Refused):
            return None
        return digest if is_key(digest) else None

    def note_digest(self, identity: str, digest: str) -> None:
        """Only beside snapshots: a program that stores none leaves no trace of files."""
        with contextlib.suppress(OSError, Refused):
            self.make()
            self._put(self._known(identity), digest.encode())

    # Housekeeping.

    def found(self) -> list[Found]:
        """What there is, the last used first."""
        found = []
        for entry in self._entries(_SNAPSHOT):
            with contextlib.suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                key = entry.name.removesuffix(_SNAPSHOT)
                try:
                    last_use = os.stat(self._verified(key)).st_mtime
                except OSError:
                    last_use = state.st_mtime
                taken = 512 * getattr(state, "st_blocks", -(-state.st_size // 512))
                found.append(Found(key, taken, last_use))
        return sorted(found, key=lambda one: -one.last_use)

    def evict(self, bound: int, kept: str) -> None:
        """Removes what was not used for longest until the rest fits; never `kept`."""
        taken = 0
        for one in sorted(self.found(), key=lambda one: one.key != kept):
            taken += one.bytes
            if taken > bound and one.key != kept:
                with contextlib.suppress(OSError):
                    self.remove(one.key)

    def remove(self, key: str) -> None:
        """Processes that have mapped it keep what they have."""
        for path in (self.snapshot(key), self._verified(key)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def sweep(self) -> None:
        """Removes what writers that were killed have left."""
        with contextlib.suppress(FileNotFoundError):
            sweep(self.path)
        for entry in self._entries(_KNOWN):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _KNOWN_SECONDS:
                    os.unlink(entry.path)

    def forget_digests(self) -> None:
        for entry in self._entries(_KNOWN):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)

    def _put(self, path: Path, content: bytes) -> None:
        file, name = new_file(self.path)
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        os.replace(name, path)

    def _known(self, identity: str) -> Path:
        # Valid until the next boot: device numbers may mean other devices afterwards.
        name = hashlib.sha256(f"{identity} {_boot()}".encode()).hexdigest()
        return self.path / f"{name}{_KNOWN}"

    def _verified(self, key: str) -> Path:
        return self.path / f"{key}{_VERIFIED}"

    def _entries(self, suffix: str) -> Iterator[os.DirEntry[str]]:
        """The folder may hold other files: the names of these are a digest and the suffix."""
        try:
            with os.scandir(self.path) as entries:
                yield from [
                    entry
                    for entry in entries
                    if entry.name.endswith(suffix) and is_key(entry.name.removesuffix(suffix))
                ]
        except FileNotFoundError:
            return


def _identity(state: os.stat_result) -> bytes:
    """What identifies a file and its content. A write changes its times. A boot changes `_boot()`:
    so a file is checked again after a crash."""
    return json.dumps([
        state.st_dev,
        state.st_ino,
        state.st_size,
        state.st_mtime_ns,
        state.st_ctime_ns,
        _boot(),
    ]).encode()  # fmt: skip


@cache
def _boot() -> str:
    try:
        # Not as ASCII, whose codec would have to be imported.
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
