"""Records as rows with a checksum, so that a damaged one is named and never used.

The checksum finds disk errors and edits by hand. It is no protection against an attacker who can
write to the file, and so a matching checksum as well.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from ..errors import DamagedRecord
from ..names import is_digest

__all__ = [
    "COLUMNS",
    "STAY",
    "checked",
    "damaged",
    "expect",
    "files_in",
    "name_of",
    "paced",
    "put",
    "seal_all",
    "selected",
    "take_out",
]

COLUMNS: Final = {
    "tenants": ("name", "limits", "created", "disabled"),
    "keys": ("id", "hash", "tenant", "created", "expires"),
    "tokenizers": (
        "tenant",
        "digest",
        "file",
        "format",
        "bytes",
        "tokens",
        "chat_template",
        "options",
        "created",
        "backend",
    ),
    "aliases": ("tenant", "alias", "digest"),
    "usage": ("tenant", "requests", "refused", "failed", "text_bytes", "tokens", "seconds"),
    "secrets": ("name", "value"),
    "revoked": ("hash",),
}
# The columns that a row is found by come first.
_KEYS: Final = {"tokenizers": 2, "aliases": 2}
# Rows that SQLite removes together with a row, and the columns that name it.
_GO_ALONG: Final = {
    "tenants": ("keys", ("tenant",)),
    "tokenizers": ("aliases", ("tenant", "digest")),
}
STAY: Final = frozenset({"revoked"})
"""A damaged record of a revoked key is never taken out: the key could be good again."""
# Rows of a part, and the bytes of a row, about.
_PART: Final = 256
_ROW_BYTES: Final = 256
# Of a name in a message.
_SHOWN: Final = 80


def selected(table: str) -> str:
    """A statement for rows that `checked` takes."""
    return f"SELECT {', '.join(COLUMNS[table])}, sum FROM {table}"


def checked(table: str, row: Sequence[Any]) -> tuple[Any, ...]:
    """The columns of a row; `DamagedRecord` where they are not those that were written."""
    columns = tuple(row[:-1])
    if row[-1] != _checksum(table, columns):
        raise DamagedRecord(
            f"the record {name_of(table, columns)} in records.sqlite is damaged",
            hint="Restore records.sqlite from a backup; `pywasmtok tokenizers verify` lists all"
            " damage",
        )
    return columns


def put(connection: sqlite3.Connection, table: str, row: Sequence[Any]) -> None:
    """A new row, or new columns of the one that has its key."""
    columns = (*COLUMNS[table], "sum")
    keys = columns[: _KEYS.get(table, 1)]
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns[len(keys) :])
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}",
        (*row, _checksum(table, row)),
    )


def damaged(
    connection: sqlite3.Connection, pace: Callable[[int], object] = lambda length: None
) -> list[tuple[str, tuple[Any, ...]]]:
    """All damaged records: the table and the columns of each. `pace` is called after each part,
    with its length in bytes, about."""
    return [
        (table, tuple(row[:-1]))
        for table, rows in _all(connection)
        for row in paced(rows, pace)
        if row[-1] != _checksum(table, row[:-1])
    ]


def paced(rows: Iterable[Any], pace: Callable[[int], object]) -> Iterator[Any]:
    for number, row in enumerate(rows, 1):
        yield row
        if number % _PART == 0:
            pace(_PART * _ROW_BYTES)


def take_out(
    connection: sqlite3.Connection, found: Iterable[tuple[str, tuple[Any, ...]]]
) -> list[tuple[str, tuple[Any, ...]]]:
    """Deletes these rows. All that are gone: with a tenant its keys, with a tokenizer its names."""
    gone = []
    for table, row in found:
        keys = COLUMNS[table][: _KEYS.get(table, 1)]
        # As bytes: damaged keys need not be text any more.
        values = [
            value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
            for value in row[: len(keys)]
        ]
        gone.append((table, row))
        if table in _GO_ALONG:
            other, names = _GO_ALONG[table]
            rows = connection.execute(f"{selected(other)} WHERE {_same(names)}", values)
            gone += [(other, tuple(one[:-1])) for one in rows]
        connection.execute(f"DELETE FROM {table} WHERE {_same(keys)}", values)
    return gone


def files_in(connection: sqlite3.Connection, rows: str) -> set[str]:
    """Of a damaged record only what can be the name of a file."""
    found = connection.execute(f"SELECT DISTINCT file FROM {rows}")
    return {file for (file,) in found if isinstance(file, str) and is_digest(file)}


def expect(connection: sqlite3.Connection, files: Iterable[str], *, leaving: bool) -> None:
    """They are on their way in or out, and may be without a record."""
    rows = [(file, leaving) for file in files]
    connection.executemany(
        "INSERT INTO pending VALUES (?, ?) ON CONFLICT DO UPDATE SET leaving = excluded.leaving",
        rows,
    )


def seal_all(connection: sqlite3.Connection) -> None:
    """Gives the rows of an older version their checksums."""
    for table, rows in _all(connection):
        for row in rows:
            put(connection, table, row[:-1])


def _same(names: Sequence[str]) -> str:
    return " AND ".join(f"CAST({name} AS BLOB) IS CAST(? AS BLOB)" for name in names)


def _all(connection: sqlite3.Connection) -> Iterator[tuple[str, list[Any]]]:
    for table in COLUMNS:
        yield table, connection.execute(selected(table)).fetchall()


def _checksum(table: str, row: Sequence[Any]) -> bytes:
    # SQLite gives numbers back as its columns have them: 1 may be 1.0 then, and True 1.
    plain = [
        float(value) if isinstance(value, int) and float(value) == value else value for value in row
    ]
    return hashlib.sha256(ascii((table, *plain)).encode()).digest()


def name_of(table: str, row: Sequence[Any]) -> str:
    return f"{table} {', '.join(ascii(key)[:_SHOWN] for key in row[: _KEYS.get(table, 1)])}"
