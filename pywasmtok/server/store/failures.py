"""What the disk and the database refuse, as errors that say what to do."""

from __future__ import annotations

import errno
import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import TokenizerError
from ...tenants.errors import Overloaded, StorageFull
from ..errors import StoreFailed

__all__ = ["damaged_database", "typed_errors"]

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_ROOM_HERE: Final = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}

# Between two lines of the same kind of error.
_SAY_SECONDS: Final = 1.0

_log = logging.getLogger("pywasmtok")
_clock = time.monotonic
# By kind, of which there are few: when it was said.
_said: dict[object, float] = {}


@contextmanager
def typed_errors() -> Iterator[None]:
    """The errors do not name the folder of the store: the log of the operator does."""
    try:
        yield
    except OSError as error:
        if isinstance(error, TokenizerError):
            raise
        _say(error.errno, "store: %s", error)
        raise _of_system(error) from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "no code")
        _say(name, "store: %s (%s)", error, name)
        raise _of_sqlite(error) from error
    except UnicodeDecodeError as error:
        # Of a message of SQLite that quotes the file.
        raise damaged_database("its schema is no text") from error
    except MemoryError as error:
        raise Overloaded("no memory is left for the store") from error


def _say(kind: object, text: str, *values: object) -> None:
    """A disk that fails makes an error for each request that needs it."""
    now = _clock()
    if kind not in _said or now - _said[kind] >= _SAY_SECONDS:
        _said[kind] = now
        _log.error(text, *values)


def _of_system(error: OSError) -> TokenizerError:
    if error.errno in _FULL:
        return _full()
    if error.errno in _NO_ROOM_HERE:
        return Overloaded(f"the store cannot open its files now: {error.strerror}")
    return StoreFailed(f"the store cannot be used: {error.strerror or type(error).__name__}")


def _of_sqlite(error: sqlite3.Error) -> TokenizerError:
    # Extended codes say more in their upper bits.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    extended = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return _full()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Overloaded("others are writing to the store all the time")
    if code in (sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CANTOPEN):
        return Overloaded("the store cannot open its files now")
    if code == sqlite3.SQLITE_READONLY:
        return StoreFailed("the store may only be read: its disk or its files are read-only")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged_database(str(error))
    return StoreFailed(f"the store refused: {getattr(error, 'sqlite_errorname', error)}")


def damaged_database(what: str) -> StoreFailed:
    """Of the file as a whole; a single record is a `DamagedRecord`."""
    return StoreFailed(
        f"records.sqlite of the store is damaged: {what}",
        hint="Stop the server and restore records.sqlite from a backup (docs/store.md)",
    )


def _full() -> StorageFull:
    return StorageFull("the disk of the store is full")
