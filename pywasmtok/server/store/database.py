"""The records: one SQLite file in WAL mode, a connection a thread, any number of processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ..._locks import ForkSafeLock
from ..errors import StoreFailed
from .failures import damaged_database, typed_errors
from .revision import Revision
from .rows import COLUMNS, seal_all, selected

__all__ = ["Database", "not_a_store"]

# How long a writer waits for other writers. Transactions take milliseconds.
_BUSY_SECONDS: Final = 10.0

# Each script leads from the version of its place to the next one. They are never changed.
_MIGRATIONS: Final = (
    """
    CREATE TABLE generation (number INTEGER NOT NULL);
    INSERT INTO generation VALUES (1);
    CREATE TABLE tenants (
        name TEXT PRIMARY KEY,
        limits TEXT NOT NULL,
        created REAL NOT NULL,
        disabled INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        tenant TEXT REFERENCES tenants ON DELETE CASCADE,
        created REAL NOT NULL,
        expires REAL
    ) WITHOUT ROWID;
    CREATE INDEX keys_of ON keys (tenant);
    -- `public` owns tokenizers too, and is no tenant: whoever inserts looks for the tenant.
    CREATE TABLE tokenizers (
        tenant TEXT NOT NULL,
        digest TEXT NOT NULL,
        file TEXT NOT NULL,
        format TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        chat_template INTEGER NOT NULL,
        options TEXT NOT NULL,
        created REAL NOT NULL,
        PRIMARY KEY (tenant, digest)
    ) WITHOUT ROWID;
    CREATE INDEX tokenizers_by_digest ON tokenizers (digest);
    CREATE INDEX tokenizers_by_file ON tokenizers (file);
    CREATE TABLE aliases (
        tenant TEXT NOT NULL,
        alias TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (tenant, alias),
        FOREIGN KEY (tenant, digest) REFERENCES tokenizers ON DELETE CASCADE
    ) WITHOUT ROWID;
    CREATE INDEX aliases_of ON aliases (tenant, digest);
    CREATE TABLE usage (
        tenant TEXT PRIMARY KEY,
        requests INTEGER NOT NULL,
        refused INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        text_bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        seconds REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    """,
    # An admin's key that was removed stays known: a file may hold it still.
    """
    CREATE TABLE revoked (hash TEXT PRIMARY KEY) WITHOUT ROWID
    """,
    # Checksums, which `seal_all` makes; the backend of a tokenizer; files on their way in or out.
    """
    ALTER TABLE tenants ADD COLUMN sum BLOB;
    ALTER TABLE keys ADD COLUMN sum BLOB;
    ALTER TABLE tokenizers ADD COLUMN sum BLOB;
    ALTER TABLE tokenizers ADD COLUMN backend TEXT NOT NULL DEFAULT 'core';
    ALTER TABLE aliases ADD COLUMN sum BLOB;
    ALTER TABLE usage ADD COLUMN sum BLOB;
    ALTER TABLE secrets ADD COLUMN sum BLOB;
    ALTER TABLE revoked ADD COLUMN sum BLOB;
    CREATE TABLE pending (file TEXT PRIMARY KEY, leaving INTEGER NOT NULL) WITHOUT ROWID
    """,
)
_WITH_CHECKSUMS: Final = 3
_FIRST_TABLES: Final = {"generation"} | (set(COLUMNS) - {"revoked"})

# Connections of a parent process: to close one in its child would be to give up the parent's locks.
_of_parents: list[Any] = []


class _Connections(threading.local):
    process = 0
    connection: sqlite3.Connection | None = None


class Database:
    def __init__(self, path: Path, *, may_be_new: bool = True) -> None:
        """`may_be_new`: tables are made where there are none."""
        self.path = path
        self._local = _Connections()
        self._lock = ForkSafeLock()
        self._open: dict[int, tuple[threading.Thread, sqlite3.Connection]] = {}
        self._process = os.getpid()
        self._closed = False
        self.revision: Revision | None = None
        with typed_errors():
            _create(path)
            try:
                self._recognize(may_be_new=may_be_new)
                self._prepare()
                self.revision = Revision(path.with_name("revision"))
            except BaseException:
                self.close()
                raise

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with typed_errors():
            return self.connection().execute(statement, values).fetchall()

    @contextmanager
    def change(
        self, owner: str | None = None, *, counts: bool = True, durable: bool = True
    ) -> Iterator[sqlite3.Connection]:
        """A transaction; only one writes at a time. `owner`: whose records it changes; None: any.
        `counts`: all processes see that something changed, from the return on. `durable`: it
        survives a power failure once this has returned; if the process is killed, nothing is lost
        in any case."""
        number = None
        with typed_errors():
            connection = self.connection()
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                if counts:
                    statement = "UPDATE generation SET number = number + 1 RETURNING number"
                    ((number,),) = connection.execute(statement).fetchall()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        if number is not None and self.revision is not None:
            self.revision.change(number, owner)

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        found = [str(row[0]) for row in self.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connections, self._open = self._open, {}
        if self._process == os.getpid():
            for _, connection in connections.values():
                connection.close()
            if self.revision is not None:
                self.revision.close()

    def _recognize(self, *, may_be_new: bool) -> None:
        """Before anything is written: a file of another program stays as it is."""
        connection = self.connection()
        # One moment: another process may make the tables meanwhile.
        connection.execute("BEGIN")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        finally:
            # Some errors end it, as that of a full disk.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if version > len(_MIGRATIONS):
            raise StoreFailed(
                f"the store has version {version}; this program knows {len(_MIGRATIONS)}",
                hint="A newer pywasmtok made it: install that one",
            )
        if not tables >= _FIRST_TABLES if version else tables or not may_be_new:
            raise not_a_store()
        found = self.problems()
        if found:
            raise damaged_database(found[0])

    def _prepare(self) -> None:
        connection = self.connection()
        _into_wal_mode(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            try:
                for script in _MIGRATIONS[version:]:
                    for statement in script.split(";"):
                        connection.execute(statement)
                _require_columns(connection)
                if version < _WITH_CHECKSUMS:
                    seal_all(connection)
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
                    raise
                raise not_a_store() from error
            if version < len(_MIGRATIONS):
                # Written only if it changes: a full disk does not stop a store from being opened.
                connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def connection(self) -> sqlite3.Connection:
        """Of this thread."""
        local = self._local
        if local.connection is not None and local.process == os.getpid():
            if self._closed:
                raise StoreFailed("the store is closed")
            return local.connection
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreFailed("the store is closed")
            if self._process != os.getpid():
                _of_parents.append(self._open)
                self._open, self._process = {}, os.getpid()
            self._forget_ended_threads()
            # Other threads only close it.
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA foreign_keys = ON")
            connection.text_factory = _text
            self._open[id(connection)] = threading.current_thread(), connection
        self._local.connection, self._local.process = connection, os.getpid()
        return connection

    def _forget_ended_threads(self) -> None:
        for key, (thread, connection) in list(self._open.items()):
            if not thread.is_alive():
                connection.close()
                del self._open[key]


def _text(data: bytes) -> str:
    """Text of a damaged record need not be UTF-8, and is compared all the same."""
    return data.decode("utf-8", "surrogateescape")


def not_a_store() -> StoreFailed:
    return StoreFailed(
        "records.sqlite does not have the tables and records of a store",
        hint="Restore records.sqlite from a backup (docs/store.md); to begin anew, use another"
        " folder",
    )


def _require_columns(connection: sqlite3.Connection) -> None:
    """OperationalError: a table or a column is missing."""
    for table in COLUMNS:
        connection.execute(f"{selected(table)} LIMIT 0")
    connection.execute("SELECT file, leaving FROM pending LIMIT 0")
    if len(connection.execute("SELECT number FROM generation").fetchall()) != 1:
        raise not_a_store()


def _create(path: Path) -> None:
    """Creates the file, readable by its owner only: it holds secrets, and all users may be able to
    read the folder. SQLite gives the files beside it the same mode. An existing file is not opened:
    closing it would release the locks that this process may have on it."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _into_wal_mode(connection: sqlite3.Connection) -> None:
    """Done once for the file. Two processes that do it at the same time would not wait for each
    other."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreFailed(
                "the disk of the store does not allow SQLite's WAL mode",
                hint="It needs a file system of this machine, not one of the network",
            )
        return
