"""Compiled cores on disk, so that a process compiles nothing that an earlier one has compiled.

Such a file holds native code: loading it is executing it. So the directory belongs to this user
alone, and a file ends with a checksum of its content. What wasmtime gets is a copy of the checked
bytes, in memory that nothing else writes to. A file that is damaged, of another owner or of another
version is built anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import sys
import zlib
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Final

from ..linux.sealed import Sealed, sealed_copy
from ..snapshots.new_file import new_file, sweep
from ..switches import OFF

ENVIRONMENT: Final = "PYWASMTOK_CACHE_DIR"

# Behind the content, because that has to begin where a page of memory begins.
_MAGIC: Final = b"pywasmtok compiled core 2\n"
_SUFFIX: Final = ".cwasm"
_KEY: Final = re.compile("[0-9a-f]{64}")
_TRAILER: Final = len(_MAGIC) + 4
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_POSIX: Final = sys.platform != "win32"

_log = logging.getLogger("pywasmtok")


@cache
def _warn_of(problem: str) -> None:
    """Once a process: the core and the renderer of templates both look for the folder."""
    _log.warning("compiled cores are not cached: %s", problem)


class Refused(Exception):  # noqa: N818
    """This directory or file must not be trusted; the text says why."""


class Cache:
    """Files by key; every failure is a miss, and none reaches the caller."""

    def __init__(self, directory: Path | None, reason: str | None = None) -> None:
        self.directory = directory
        # Why there is none, for people who look for it.
        self.reason = reason

    @classmethod
    def for_user(cls, warn: bool = True) -> Cache:
        """The directory that the environment names, else the one of the user's platform."""
        named = os.environ.get(ENVIRONMENT)
        if named is not None and named.strip().lower() == OFF:
            return cls(None, f"{ENVIRONMENT}={OFF}")
        try:
            directory = Path(named) if named else _user_directory()
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_private(directory.stat(), directory)
        except (OSError, RuntimeError, Refused) as problem:
            if warn:
                _warn_of(str(problem))
            return cls(None, str(problem))
        return cls(directory)

    def load(self, key: str) -> Sealed | None:
        """The content, checked; None if there is none or none that may be used. To be closed."""
        if self.directory is None:
            return None
        path = self._path(key)
        try:
            return _read_checked(path)
        except FileNotFoundError:
            return None
        except (OSError, Refused) as problem:
            _log.warning("a compiled core in the cache is not used: %s", problem)
            return None

    def has(self, key: str) -> bool:
        """Whether there is such a file; `load` says whether it may be used."""
        return self.directory is not None and os.path.exists(self._path(key))

    def files(self) -> list[Path]:
        """All compiled cores, of any version. The folder may hold other files."""
        if self.directory is None:
            return []
        return sorted(path for path in self.directory.glob(f"*{_SUFFIX}") if is_key(path.stem))

    def problem(self, path: Path) -> str | None:
        """Why one of them would not be used."""
        try:
            _read_checked(path).close()
        except FileNotFoundError:
            raise
        except (OSError, Refused) as problem:
            return str(problem)
        return None

    def clear(self) -> int:
        """Removes all of them; answers how many are gone."""
        gone = 0
        for path in self.files():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                gone += 1
        if self.directory is not None:
            with contextlib.suppress(OSError):
                sweep(self.directory)
        return gone

    def store(self, key: str, payload: bytes | bytearray) -> None:
        """Puts the content there in one step, so that no reader ever sees half of it."""
        if self.directory is None:
            return
        try:
            sweep(self.directory)
            descriptor, temporary = new_file(self.directory)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(payload)
                    file.write(_trailer(zlib.crc32(payload)))
                os.replace(temporary, self._path(key))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as problem:
            _log.warning("a compiled core could not be cached: %s", problem)

    def _path(self, key: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{key}{_SUFFIX}"


def key_of(*parts: str) -> str:
    """A file name for everything that the content depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def is_key(name: str) -> bool:
    return _KEY.fullmatch(name) is not None


def _user_directory() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "pywasmtok" / "cache"
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification says that relative paths are to be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "pywasmtok"
    return Path.home() / ".cache" / "pywasmtok"


def require_private(status: os.stat_result, path: Path) -> None:
    if not _POSIX:
        return
    if status.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise Refused(f"{path} may be written by others (mode {stat.S_IMODE(status.st_mode):04o})")


def _trailer(checksum: int) -> bytes:
    return _MAGIC + checksum.to_bytes(4, "little")


def _read_checked(path: Path) -> Sealed:
    damaged = Refused(f"{path} is damaged")
    with _opened(path) as file:
        try:
            content = sealed_copy(file, os.fstat(file.fileno()).st_size - _TRAILER)
        except EOFError:
            raise damaged from None
        # The copy ends where the trailer begins.
        if file.read() == _trailer(content.checksum):
            return content
    content.close()
    raise damaged


def _opened(path: Path) -> FileIO:
    # Checked through the open file: a path could mean another one a moment later.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(FileIO(os.open(path, flags)))
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is no regular file")
        require_private(status, path)
        if status.st_size <= _TRAILER:
            raise Refused(f"{path} is damaged")
        stack.pop_all()
        return file
