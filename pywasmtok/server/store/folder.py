"""The store that survives: records in SQLite, files beside them.

    records.sqlite   what is known (`database`)
    files/           the bytes of tokenizers (`files`)
    reserve          room for removing something when the disk is full

A file gets and loses its name only within a transaction of the records that writes: so it is there
for every record that names it, whoever adds and removes at the same time. Killed in between, a
process leaves at most a file that no record names; the next one removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ...errors import LoadError, TokenizerError
from ...sources.lazy import LazyFile
from ...tenants.contract import FileInfo, Usage
from ...tenants.limits import TenantLimits
from ..contract import PUBLIC, AliasRecord, KeyRecord, TenantRecord, TokenizerRecord
from ..errors import Conflict, StoreFailed
from ..limits import limits_from, limits_of
from ..names import is_digest
from .database import Database
from .failures import typed_errors
from .files import Files
from .reserve import Reserve
from .rules import (
    Changes,
    check_names,
    check_record,
    check_room,
    no_such_file,
    no_such_tenant,
    no_such_tokenizer,
)

__all__ = ["FolderStore"]

_TOKENIZER = "tenant, digest, format, bytes, tokens, chat_template, options, created"


class FolderStore(Changes):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        with typed_errors():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._files = Files(folder)
            _refuse_lost_records(folder / "records.sqlite", self._files.folder)
        self._database = Database(folder / "records.sqlite")
        self._reserve = Reserve(folder / "reserve")
        self.sweep()

    def generation(self) -> int:
        return int(self._database.rows("SELECT number FROM generation")[0][0])

    def tenants(self) -> list[TenantRecord]:
        found = self._database.rows(
            "SELECT name, limits, created, disabled FROM tenants ORDER BY name"
        )
        return [
            TenantRecord(name, _limits(limits), created, bool(disabled))
            for name, limits, created, disabled in found
        ]

    def put_tenant(self, record: TenantRecord) -> None:
        check_record(record)
        limits = json.dumps(limits_of(record.limits))
        with self._database.change() as connection:
            connection.execute(
                "INSERT INTO tenants VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " limits = excluded.limits, created = excluded.created,"
                " disabled = excluded.disabled",
                (record.name, limits, record.created, record.disabled),
            )
        self._changed()

    def remove_tenant(self, name: str) -> None:
        def remove() -> list[tuple[str]]:
            with self._database.change() as connection:
                if not connection.execute("DELETE FROM tenants WHERE name = ?", (name,)).rowcount:
                    raise no_such_tenant(name)
                connection.execute("DELETE FROM usage WHERE tenant = ?", (name,))
                return connection.execute(
                    "DELETE FROM tokenizers WHERE tenant = ? RETURNING file", (name,)
                ).fetchall()

        files = self._reserve.spend(remove)
        self._remove_unused(file for (file,) in files)
        self._changed()

    def keys(self) -> list[KeyRecord]:
        found = self._database.rows(
            "SELECT id, hash, tenant, created, expires FROM keys ORDER BY id"
        )
        return [KeyRecord(*row) for row in found]

    def put_key(self, record: KeyRecord) -> None:
        row = (record.id, record.hash, record.tenant, record.created, record.expires)
        with self._database.change() as connection:
            if record.tenant is not None:
                _require_tenant(connection, record.tenant)
            try:
                connection.execute(
                    "INSERT INTO keys VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                    " hash = excluded.hash, tenant = excluded.tenant,"
                    " created = excluded.created, expires = excluded.expires",
                    row,
                )
            except sqlite3.IntegrityError:
                raise Conflict("this key is known under another id") from None
        self._changed()

    def remove_key(self, id: str) -> None:
        self._reserve.spend(partial(self._revoke, id))
        self._changed()

    def _revoke(self, id: str) -> None:
        with self._database.change() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO revoked"
                " SELECT hash FROM keys WHERE id = ? AND tenant IS NULL",
                (id,),
            )
            connection.execute("DELETE FROM keys WHERE id = ?", (id,))

    def was_revoked(self, hash: str) -> bool:
        return bool(self._database.rows("SELECT 1 FROM revoked WHERE hash = ?", (hash,)))

    def tokenizers(self, tenant: str | None = None) -> list[TokenizerRecord]:
        statement = f"SELECT {_TOKENIZER} FROM tokenizers"
        found = (
            self._database.rows(f"{statement} ORDER BY tenant, digest")
            if tenant is None
            else self._database.rows(f"{statement} WHERE tenant = ? ORDER BY digest", (tenant,))
        )
        return [_tokenizer(row) for row in found]

    def put_tokenizer(
        self,
        record: TokenizerRecord,
        data: bytes | None,
        alias: str | None,
        *,
        most_bytes: int | None = None,
        most: int | None = None,
    ) -> None:
        check_record(record)
        if alias is not None:
            check_record(AliasRecord(record.tenant, alias, record.info.digest))
        with contextlib.ExitStack() as stack:
            stack.enter_context(typed_errors())
            # The slow part comes before other writers have to wait.
            written = None if data is None else stack.enter_context(self._files.written(data))
            connection = stack.enter_context(self._database.change())
            if record.tenant != PUBLIC:
                _require_tenant(connection, record.tenant)
            file = _file_of(connection, record.info.digest) if written is None else written.digest
            if file is None:
                raise no_such_file(record.info.digest)
            _check_room(connection, record, most_bytes, most)
            if alias is not None:
                _check_name(connection, record.tenant, alias)
            if written is not None:
                self._files.publish(written)
            _insert(connection, record, file)
            if alias is not None:
                _point(connection, record.tenant, alias, record.info.digest)
        self._changed()

    def remove_tokenizer(self, tenant: str, digest: str) -> None:
        statement = "DELETE FROM tokenizers WHERE tenant = ? AND digest = ? RETURNING file"
        files = self._reserve.spend(partial(self._change, statement, (tenant, digest)))
        if not files:
            raise no_such_tokenizer(digest)
        self._remove_unused(file for (file,) in files)
        self._changed()

    def open_file(self, digest: str) -> bytes | LazyFile:
        while True:
            found = self._database.rows(
                "SELECT file FROM tokenizers WHERE digest = ? LIMIT 1", (digest,)
            )
            if not found:
                raise KeyError(digest)
            (file,) = found[0]
            with typed_errors():
                try:
                    return self._files.open(file, partial(self._put_aside, file))
                except FileNotFoundError:
                    self._require_gone(digest)

    def aliases(self, tenant: str | None = None) -> list[AliasRecord]:
        statement = "SELECT tenant, alias, digest FROM aliases"
        found = (
            self._database.rows(f"{statement} ORDER BY tenant, alias")
            if tenant is None
            else self._database.rows(f"{statement} WHERE tenant = ? ORDER BY alias", (tenant,))
        )
        return [AliasRecord(*row) for row in found]

    def put_alias(self, record: AliasRecord) -> None:
        check_record(record)
        with self._database.change() as connection:
            known = connection.execute(
                "SELECT 1 FROM tokenizers WHERE tenant = ? AND digest = ?",
                (record.tenant, record.digest),
            ).fetchone()
            if known is None:
                raise no_such_tokenizer(record.digest)
            _check_name(connection, record.tenant, record.alias)
            _point(connection, record.tenant, record.alias, record.digest)
        self._changed()

    def remove_alias(self, tenant: str, alias: str) -> None:
        statement = "DELETE FROM aliases WHERE tenant = ? AND alias = ? RETURNING alias"
        if not self._reserve.spend(partial(self._change, statement, (tenant, alias))):
            raise no_such_tokenizer(alias)
        self._changed()

    def add_usage(self, tenant: str, usage: Usage) -> None:
        row = (
            tenant,
            usage.requests,
            usage.refused,
            usage.failed,
            usage.text_bytes,
            usage.tokens,
            usage.seconds,
        )
        with self._database.change(counts=False, durable=False) as connection:
            # Of a tenant that was removed meanwhile, nobody asks any more.
            if tenant == PUBLIC or _has_tenant(connection, tenant):
                connection.execute(
                    "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                    " requests = requests + excluded.requests,"
                    " refused = refused + excluded.refused,"
                    " failed = failed + excluded.failed,"
                    " text_bytes = text_bytes + excluded.text_bytes,"
                    " tokens = tokens + excluded.tokens, seconds = seconds + excluded.seconds",
                    row,
                )

    def usage(self, tenant: str) -> Usage:
        found = self._database.rows(
            "SELECT requests, refused, failed, text_bytes, tokens, seconds FROM usage"
            " WHERE tenant = ?",
            (tenant,),
        )
        return Usage(*found[0]) if found else Usage()

    def secret(self, name: str) -> bytes:
        known = self._database.rows("SELECT value FROM secrets WHERE name = ?", (name,))
        if not known:
            with self._database.change(counts=False) as connection:
                # Another process may have been first: its one stays.
                connection.execute(
                    "INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (name, os.urandom(32)),
                )
            known = self._database.rows("SELECT value FROM secrets WHERE name = ?", (name,))
        return bytes(known[0][0])

    def close(self) -> None:
        self._database.close()

    # Housekeeping.

    def sweep(self) -> int:
        """Removes files that no record names; how many they were."""
        with self._database.change(counts=False) as connection:
            used = {file for (file,) in connection.execute("SELECT DISTINCT file FROM tokenizers")}
            return self._files.sweep(used)

    def problems(self) -> list[str]:
        """What is wrong with records and files, each read whole. Damaged files are put aside."""
        found = self._database.problems()
        for (file,) in self._database.rows("SELECT DISTINCT file FROM tokenizers ORDER BY file"):
            with typed_errors():
                try:
                    damaged = self._files.is_damaged(file)
                except FileNotFoundError:
                    damaged = False
                    found.append(f"{file} is missing")
            if damaged and self._put_aside(file):
                found.append(f"{file} is damaged")
        return found

    def _change(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        with self._database.change() as connection:
            return connection.execute(statement, values).fetchall()

    def _put_aside(self, file: str) -> bool:
        """Unless somebody has just stored it anew, or the disk does not let us."""
        try:
            with self._database.change(counts=False), contextlib.suppress(FileNotFoundError):
                if self._files.is_damaged(file):
                    self._files.put_aside(file)
                    return True
        except TokenizerError:
            return True
        return False

    def _require_gone(self, digest: str) -> None:
        """A file without a record was removed just now; a record without a file is a loss."""
        with self._database.change(counts=False) as connection:
            file = _file_of(connection, digest)
            if file is not None and file not in self._files.names():
                raise LoadError(
                    f"the file of {digest} is missing in the store", hint="Store it once more"
                )

    def _remove_unused(self, files: Iterable[str]) -> None:
        """In a transaction of its own: the records have to be gone first, for good."""
        with self._database.change(counts=False) as connection:
            for file in set(files):
                used = connection.execute(
                    "SELECT 1 FROM tokenizers WHERE file = ? LIMIT 1", (file,)
                ).fetchone()
                if used is None:
                    self._files.remove(file)


def _has_tenant(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM tenants WHERE name = ?", (name,))
    return found.fetchone() is not None


def _refuse_lost_records(records: Path, files: Path) -> None:
    """Files without records would all be swept as unused."""
    if records.exists() and records.stat().st_size:
        return
    if any(is_digest(name) for name in os.listdir(files)):
        raise StoreFailed(
            f"{records.name} of the store is missing or empty, and files of tokenizers are there",
            hint="Restore records.sqlite from a backup; to begin anew, use another folder",
        )


@lru_cache(maxsize=256)
def _limits(said: str) -> TenantLimits:
    """Most tenants have the same. All are read at each change of the records."""
    return limits_from(json.loads(said))


def _require_tenant(connection: sqlite3.Connection, name: str) -> None:
    if not _has_tenant(connection, name):
        raise no_such_tenant(name)


def _file_of(connection: sqlite3.Connection, digest: str) -> str | None:
    found = connection.execute(
        "SELECT file FROM tokenizers WHERE digest = ? LIMIT 1", (digest,)
    ).fetchone()
    return None if found is None else str(found[0])


def _check_room(
    connection: sqlite3.Connection,
    record: TokenizerRecord,
    most_bytes: int | None,
    most: int | None,
) -> None:
    mine = connection.execute(
        "SELECT digest, bytes FROM tokenizers WHERE tenant = ?", (record.tenant,)
    ).fetchall()
    if record.info.digest not in [digest for digest, _ in mine]:
        stored = sum(size for _, size in mine)
        check_room(len(mine), stored, record.info.bytes, most_bytes, most)


def _check_name(connection: sqlite3.Connection, tenant: str, alias: str) -> None:
    found = connection.execute("SELECT alias FROM aliases WHERE tenant = ?", (tenant,))
    names = {name for (name,) in found}
    if alias not in names:
        check_names(tenant, len(names))


def _insert(connection: sqlite3.Connection, record: TokenizerRecord, file: str) -> None:
    info = record.info
    row = (
        record.tenant,
        info.digest,
        file,
        info.format,
        info.bytes,
        info.tokens,
        info.chat_template,
        record.options,
        record.created,
    )
    connection.execute(
        "INSERT INTO tokenizers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " file = excluded.file, format = excluded.format, bytes = excluded.bytes,"
        " tokens = excluded.tokens, chat_template = excluded.chat_template,"
        " options = excluded.options",
        row,
    )


def _point(connection: sqlite3.Connection, tenant: str, alias: str, digest: str) -> None:
    connection.execute(
        "INSERT INTO aliases VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET digest = excluded.digest",
        (tenant, alias, digest),
    )


def _tokenizer(row: tuple[Any, ...]) -> TokenizerRecord:
    tenant, digest, form, size, tokens, chat_template, options, created = row
    info = FileInfo(digest, form, size, tokens, bool(chat_template))
    return TokenizerRecord(tenant, info, options, created)
