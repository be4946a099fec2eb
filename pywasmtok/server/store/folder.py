"""The store that survives: records in SQLite, files beside them.

    records.sqlite   what is known (`database`)
    files/           the bytes of tokenizers (`files`)
    reserve          room for removing something when the disk is full
    revision         the number of the last change (`revision`)

A file is published and removed only within a writing transaction of the records. So every record
has its file, even when processes add and remove at the same time. The table `pending` lists files
that are being added or removed. If a process is killed while it removes a file, the next process
removes it. Any other file without a record stays: the end of the write-ahead log may be lost, and
with it the record.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from ...errors import LoadError, TokenizerError
from ...loading.sources.lazy import LazyFile
from ...tenants.contract import FileInfo, Usage
from ...tenants.errors import StorageFull
from ...tenants.limits import TenantLimits
from ..contract import PUBLIC, AliasRecord, Checked, KeyRecord, TenantRecord, TokenizerRecord
from ..errors import Conflict, DamagedRecord, StoreFailed
from ..limits import limits_from, limits_of
from .database import Database, not_a_store
from .failures import typed_errors
from .files import Files
from .reserve import Reserve
from .rows import COLUMNS, checked, expect, files_in, put, selected
from .rules import (
    Changes,
    added,
    check_keys,
    check_names,
    check_record,
    check_room,
    no_such_file,
    no_such_tenant,
    no_such_tokenizer,
    rotated,
)
from .verification import Verification

__all__ = ["FolderStore"]

_log = logging.getLogger("pywasmtok")

# Of a row of `tokenizers`.
_NAMELESS: Final = (
    "NOT EXISTS (SELECT 1 FROM aliases WHERE aliases.tenant = tokenizers.tenant"
    " AND aliases.digest = tokenizers.digest)"
)


class FolderStore(Changes):
    def __init__(self, folder: Path, *, to_verify: bool = False) -> None:
        """`to_verify`: nothing is removed or set aside until it is asked for."""
        super().__init__()
        self.folder = folder
        records = folder / "records.sqlite"
        with typed_errors():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._files = Files(folder)
            has_files = bool(self._files.names())
            if has_files and not (records.exists() and records.stat().st_size):
                raise StoreFailed(
                    "records.sqlite of the store is missing or empty, and files of tokenizers are"
                    " there",
                    hint="Restore records.sqlite from a backup; to begin anew, use another folder",
                )
        self._reserve = Reserve(folder / "reserve")
        # The database has a file of working memory, which may have to be made first.
        self._database = self._reserve.spend(partial(Database, records, may_be_new=not has_files))
        self._verification = Verification(self._database, self._files, self._reserve)
        self._to_verify = to_verify
        if not to_verify:
            try:
                self._require_sound()
                self._sweep_if_there_is_room()
            except BaseException:
                self.close()
                raise
        read = None if self._database.revision is None else self._database.revision.read
        self.revision: Callable[[], int] = read or self.generation

    def generation(self) -> int:
        found = self._database.rows("SELECT number FROM generation")
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise not_a_store()
        return int(found[0][0])

    def owners(self, since: int, until: int) -> set[str] | None:
        revision = self._database.revision
        return None if revision is None else revision.owners(since, until)

    def tenants(self, owner: str | None = None) -> list[TenantRecord]:
        one = ("ORDER BY name",) if owner is None else ("WHERE name = ?", (owner,))
        return [
            TenantRecord(name, _limits(limits), created, bool(disabled))
            for name, limits, created, disabled in self._rows("tenants", *one)
        ]

    def change_tenant(
        self, name: str, made_from: Callable[[TenantRecord | None], TenantRecord]
    ) -> None:
        # A damaged record is set aside here, which cannot be done within a transaction.
        self.tenants(name)
        with self._database.change(name) as connection:
            record = made_from(next(iter(self.tenants(name)), None))
            check_record(record)
            limits = json.dumps(limits_of(record.limits))
            put(connection, "tenants", (name, limits, record.created, record.disabled))
        self._changed()

    def remove_tenant(self, name: str) -> None:
        def remove() -> list[str]:
            with self._database.change(name) as connection:
                if not connection.execute("DELETE FROM tenants WHERE name = ?", (name,)).rowcount:
                    raise no_such_tenant(name)
                connection.execute("DELETE FROM usage WHERE tenant = ?", (name,))
                return _take_out(connection, "tenant = ?", (name,))

        self._remove_unused(self._reserve.spend(remove))
        self._changed()

    def keys(self, owner: str | None = None) -> list[KeyRecord]:
        rest: tuple[Any, ...] = ("ORDER BY id",)
        if owner is not None:
            rest = ("WHERE tenant IS ? ORDER BY id", (owner or None,))
        return [KeyRecord(*row) for row in self._rows("keys", *rest)]

    def put_key(self, record: KeyRecord, *, keep_others: float | None = None) -> None:
        owner = record.tenant or ""
        # A damaged record is set aside here, which cannot be done within a transaction.
        self.keys(owner)
        with self._database.change(owner) as connection:
            if record.tenant is not None:
                _require_tenant(connection, record.tenant)
            mine = self.keys(owner)
            shorter, ended = ([], []) if keep_others is None else rotated(mine, record, keep_others)
            for one in ended:
                _revoke(connection, one.id)
            ids = {one.id for one in mine} - {one.id for one in ended}
            if record.id not in ids:
                check_keys(len(ids))
            try:
                for one in (*shorter, record):
                    put(connection, "keys", astuple(one))
            except sqlite3.IntegrityError:
                raise Conflict("this key is known under another id") from None
        self._changed()

    def remove_key(self, id: str) -> None:
        def remove() -> None:
            known = self._database.rows("SELECT tenant FROM keys WHERE id = ?", (id,))
            with self._database.change(known[0][0] or "" if known else None) as connection:
                _revoke(connection, id)

        self._reserve.spend(remove)
        self._changed()

    def was_revoked(self, hash: str) -> bool:
        return bool(self._rows("revoked", "WHERE hash = ?", (hash,)))

    def tokenizers(self, tenant: str | None = None) -> list[TokenizerRecord]:
        return [_tokenizer(row) for row in self._of(tenant, "tokenizers", "digest")]

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
            if written is not None:
                stack.enter_context(self._expected(written.digest))
            connection = stack.enter_context(self._database.change(record.tenant))
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
            connection.execute("DELETE FROM pending WHERE file = ?", (file,))
            if alias is not None:
                _point(connection, record.tenant, alias, record.info.digest)
        self._changed()

    def remove_tokenizer(self, tenant: str, digest: str, *, nameless: bool = False) -> None:
        def remove() -> list[str]:
            with self._database.change(tenant) as connection:
                where = f"tenant = ? AND digest = ?{' AND ' + _NAMELESS if nameless else ''}"
                return _take_out(connection, where, (tenant, digest))

        files = self._reserve.spend(remove)
        if not files:
            raise no_such_tokenizer(digest)
        self._remove_unused(files)
        self._changed()

    def remove_name(self, tenant: str, alias: str) -> None:
        def remove() -> list[str]:
            with self._database.change(tenant) as connection:
                digest = _remove_alias(connection, tenant, alias)
                where = f"tenant = ? AND digest = ? AND {_NAMELESS}"
                return _take_out(connection, where, (tenant, digest))

        self._remove_unused(self._reserve.spend(remove))
        self._changed()

    def open_file(self, digest: str) -> bytes | LazyFile:
        while True:
            found = self._rows("tokenizers", "WHERE digest = ? LIMIT 1", (digest,))
            if not found:
                raise KeyError(digest)
            file = found[0][COLUMNS["tokenizers"].index("file")]
            with typed_errors():
                try:
                    return self._files.open(file, partial(self._put_aside, file))
                except FileNotFoundError:
                    self._require_gone(digest)

    def aliases(self, tenant: str | None = None) -> list[AliasRecord]:
        return [AliasRecord(*row) for row in self._of(tenant, "aliases", "alias")]

    def put_alias(self, record: AliasRecord) -> None:
        check_record(record)
        with self._database.change(record.tenant) as connection:
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
        def remove() -> None:
            with self._database.change(tenant) as connection:
                _remove_alias(connection, tenant, alias)

        self._reserve.spend(remove)
        self._changed()

    def add_usage(self, tenant: str, usage: Usage) -> None:
        with self._database.change(counts=False, durable=False) as connection:
            # The usage of a tenant that was removed meanwhile is dropped.
            if tenant == PUBLIC or _has_tenant(connection, tenant):
                one = added(self.usage(tenant), usage)
                sums = one.requests, one.refused, one.failed, one.text_bytes, one.tokens
                put(connection, "usage", (tenant, *sums, one.seconds))

    def usage(self, tenant: str) -> Usage:
        found = self._rows("usage", "WHERE tenant = ?", (tenant,))
        return Usage(*found[0][1:]) if found else Usage()

    def secret(self, name: str) -> bytes:
        known = self._rows("secrets", "WHERE name = ?", (name,))
        if known:
            return bytes(known[0][1])
        with self._database.change(counts=False) as connection:
            # Another process may have been first: its one stays.
            known = self._rows("secrets", "WHERE name = ?", (name,))
            value = bytes(known[0][1]) if known else os.urandom(32)
            if not known:
                put(connection, "secrets", (name, value))
        return value

    def close(self) -> None:
        self._database.close()

    # Housekeeping.

    def sweep(self) -> int:
        """Removes what processes that were killed had begun to remove; how many files it was."""
        with self._database.change(counts=False, durable=False) as connection:
            leaving = files_in(connection, "pending WHERE leaving")
            removed = self._files.sweep(leaving - files_in(connection, "tokenizers"))
            if leaving:
                connection.execute("DELETE FROM pending WHERE leaving")
            return removed

    def _sweep_if_there_is_room(self) -> None:
        try:
            self._reserve.spend(self.sweep)
        except StorageFull:
            _log.warning("store: the disk is full; what is stored is served, and nothing is added")

    def check(
        self, *, with_files: bool = True, pace: Callable[[int], object] = lambda length: None
    ) -> Checked:
        found = self._verification.check(with_files=with_files, pace=pace)
        if found.set_aside:
            self._changed()
        return found

    def aside(self) -> int:
        with typed_errors():
            return self._files.aside()

    def remove_nameless(self) -> int:
        """Removes files without a record; how many there were."""
        with self._database.change(counts=False) as connection:
            used = files_in(connection, "tokenizers")
            expect(connection, set(self._files.names()) - used, leaving=True)
        return self.sweep()

    def put_aside_if_damaged(self, file: str) -> bool:
        return self._verification.set_file_aside(file)

    def _require_sound(self) -> None:
        with typed_errors():
            connection = self._database.connection()
            for table in COLUMNS:
                self._rows(table, "")
            nameless = set(self._files.names()) - files_in(connection, "pending")
            if nameless and not files_in(connection, "tokenizers"):
                raise StoreFailed(
                    f"records.sqlite names none of the {len(nameless)} files of tokenizers that"
                    " are there",
                    hint="Restore records.sqlite from a backup; if these files are not needed,"
                    " `pywasmtok tokenizers verify --remove` removes them",
                )
            nameless -= files_in(connection, "tokenizers")
            if nameless:
                _log.warning(
                    "store: %d files have no record, and are kept; `pywasmtok tokenizers verify`"
                    " names them",
                    len(nameless),
                )

    def _rows(self, table: str, rest: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        statement = f"{selected(table)} {rest}"
        try:
            return [checked(table, row) for row in self._database.rows(statement, values)]
        except DamagedRecord:
            # The others are served.
            if self._to_verify or not self._verification.set_records_aside():
                raise
            return [checked(table, row) for row in self._database.rows(statement, values)]

    def _of(self, tenant: str | None, table: str, order: str) -> list[tuple[Any, ...]]:
        if tenant is None:
            return self._rows(table, f"ORDER BY tenant, {order}")
        return self._rows(table, f"WHERE tenant = ? ORDER BY {order}", (tenant,))

    def _put_aside(self, file: str) -> None:
        """If the disk allows it."""
        with contextlib.suppress(TokenizerError):
            self._verification.set_file_aside(file)

    def _require_gone(self, digest: str) -> None:
        """A file without a record was removed just now; a record without a file is a loss."""
        with self._database.change(counts=False) as connection:
            file = _file_of(connection, digest)
            if file is not None and file not in self._files.names():
                raise LoadError(
                    f"the file of {digest} is missing in the store", hint="Store it once more"
                )

    @contextlib.contextmanager
    def _expected(self, file: str) -> Iterator[None]:
        """A file that comes, or does not."""
        with self._database.change(counts=False, durable=False) as connection:
            expect(connection, [file], leaving=False)
        try:
            yield
        except BaseException:
            with contextlib.suppress(TokenizerError):
                self._remove_unused([file])
            raise

    def _remove_unused(self, files: Iterable[str]) -> None:
        """In a transaction of its own: the records have to be gone first, for good. On a full
        disk the files go, and the next process forgets them."""
        with (
            contextlib.suppress(StorageFull),
            self._database.change(counts=False, durable=False) as connection,
        ):
            for file in set(files):
                used = connection.execute(
                    "SELECT 1 FROM tokenizers WHERE file = ? LIMIT 1", (file,)
                ).fetchone()
                if used is None:
                    self._files.remove(file)
                connection.execute("DELETE FROM pending WHERE file = ?", (file,))


def _revoke(connection: sqlite3.Connection, id: str) -> None:
    found = connection.execute("SELECT hash FROM keys WHERE id = ? AND tenant IS NULL", (id,))
    for row in found.fetchall():
        put(connection, "revoked", row)
    connection.execute("DELETE FROM keys WHERE id = ?", (id,))


def _remove_alias(connection: sqlite3.Connection, tenant: str, alias: str) -> str:
    """The digest that it stood for."""
    statement = "DELETE FROM aliases WHERE tenant = ? AND alias = ? RETURNING digest"
    found = connection.execute(statement, (tenant, alias)).fetchall()
    if not found:
        raise no_such_tokenizer(alias)
    return str(found[0][0])


def _has_tenant(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM tenants WHERE name = ?", (name,))
    return found.fetchone() is not None


def _take_out(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[str]:
    """Removes records; the files that they named."""
    statement = f"DELETE FROM tokenizers WHERE {where} RETURNING file"
    files = [file for (file,) in connection.execute(statement, values).fetchall()]
    expect(connection, files, leaving=True)
    return files


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
    known = connection.execute(
        "SELECT created FROM tokenizers WHERE tenant = ? AND digest = ?",
        (record.tenant, info.digest),
    ).fetchone()
    row = (
        record.tenant,
        info.digest,
        file,
        info.format,
        info.bytes,
        info.tokens,
        info.chat_template,
        record.options,
        record.created if known is None else known[0],
        info.backend,
    )
    put(connection, "tokenizers", row)


def _point(connection: sqlite3.Connection, tenant: str, alias: str, digest: str) -> None:
    put(connection, "aliases", (tenant, alias, digest))


def _tokenizer(row: tuple[Any, ...]) -> TokenizerRecord:
    tenant, digest, _, form, size, tokens, chat_template, options, created, backend = row
    info = FileInfo(digest, form, size, tokens, bool(chat_template), backend)
    return TokenizerRecord(tenant, info, options, created)
