"""Reads all records and files of a store, and sets aside what is damaged.

Damaged records are written to `damaged/records.*.json` and taken out of the database; damaged files
are moved to `damaged/`. Nothing is deleted. What cannot be set aside is only named: damage of the
database as a whole, a lost file, a record of a revoked key.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Final

from ...errors import TokenizerError
from ...tenants.options import digest_of
from ..contract import Checked
from ..errors import DamagedRecord
from .database import Database
from .failures import typed_errors
from .files import Files
from .reserve import Reserve
from .rows import (
    COLUMNS,
    STAY,
    checked,
    damaged,
    expect,
    files_in,
    name_of,
    paced,
    selected,
    take_out,
)

__all__ = ["Verification"]

# Of all problems; a disk that fails has thousands.
_MOST_NAMED: Final = 1000

_log = logging.getLogger("pywasmtok")


class Verification:
    def __init__(self, database: Database, files: Files, reserve: Reserve) -> None:
        self._database = database
        self._files = files
        self._reserve = reserve

    def check(self, *, with_files: bool, pace: Callable[[int], object]) -> Checked:
        """`pace` is called after each part of the records or of a file, with its length."""
        with typed_errors():
            connection = self._database.connection()
            problems = [*self._database.problems()]
            wrong = damaged(connection, pace)
            problems += [f"the record {name_of(table, row)} is damaged" for table, row in wrong]
            problems += self._wrong_options(pace)
            aside = self.set_records_aside() if wrong else 0
            sizes: list[int] = []
            if with_files:
                before = self._files.names()
                for file in sorted(files_in(connection, "tokenizers")):
                    problem, is_aside, size = self._check_file(file, pace)
                    problems += [problem] if problem else []
                    aside += is_aside
                    sizes += [] if size is None else [size]
                problems += [f"{file} has no record" for file in self._nameless(before)]
        if len(problems) > _MOST_NAMED:
            problems[_MOST_NAMED:] = [f"{len(problems) - _MOST_NAMED} more problems"]
        return Checked(problems, aside, len(sizes), sum(sizes))

    def set_records_aside(self) -> int:
        """How many records were taken out: damaged ones, and keys and names that go with them. 0
        where the disk does not allow it, and within a transaction."""
        connection = self._database.connection()
        if connection.in_transaction or not _to_take_out(connection):
            return 0
        try:
            return self._reserve.spend(self._take_out)
        except TokenizerError as error:
            _log.error("store: damaged records could not be set aside: %s", error)
            return 0

    def set_file_aside(self, file: str) -> bool:
        """False: it has just been stored anew, or is gone."""
        with self._database.change(counts=False):
            try:
                is_damaged = self._files.is_damaged(file)
            except FileNotFoundError:
                return False
            if is_damaged:
                self._files.put_aside(file)
            return is_damaged

    def _take_out(self) -> int:
        with self._database.change() as connection:
            gone = take_out(connection, _to_take_out(connection))
            if any(table == "tokenizers" for table, _ in gone):
                # Their files are kept, and the store is still recognised.
                known = files_in(connection, "tokenizers") | files_in(connection, "pending")
                expect(connection, set(self._files.names()) - known, leaving=False)
            rows = [{"table": table, **_plain(table, row)} for table, row in gone]
            if rows:
                place = self._files.keep_aside("records", json.dumps(rows, indent=1).encode())
                tables = ", ".join(sorted({table for table, _ in gone}))
                # No names: those of tenants are in no log.
                _log.error("store: %d damaged records (%s) are now in %s", len(rows), tables, place)
            return len(rows)

    def _check_file(
        self, file: str, pace: Callable[[int], object]
    ) -> tuple[str | None, bool, int | None]:
        """The problem, whether the file was set aside, and how many bytes an existing one has."""
        parts: list[int] = []

        def part(length: int) -> None:
            parts.append(length)
            pace(length)

        try:
            is_damaged = self._files.is_damaged(file, part)
        except FileNotFoundError:
            still = self._database.rows("SELECT 1 FROM tokenizers WHERE file = ? LIMIT 1", (file,))
            return (f"{file} is missing" if still else None), False, None
        if not is_damaged:
            return None, False, sum(parts)
        try:
            return f"{file} is damaged", self.set_file_aside(file), sum(parts)
        except TokenizerError as error:
            problem = f"{file} is damaged, and could not be set aside: {error}"
            return problem, False, sum(parts)

    def _nameless(self, before: list[str]) -> list[str]:
        """Files that were there before and are there now, and have no record."""
        connection = self._database.connection()
        known = files_in(connection, "tokenizers") | files_in(connection, "pending")
        return sorted(set(before).intersection(self._files.names()) - known)

    def _wrong_options(self, pace: Callable[[int], object]) -> list[str]:
        """A digest is one of the file and of how it is read."""
        found = []
        for row in paced(self._database.rows(selected("tokenizers")), pace):
            try:
                record = dict(zip(COLUMNS["tokenizers"], checked("tokenizers", row), strict=True))
                digest = digest_of(record["file"], json.loads(record["options"]))
            except DamagedRecord:
                continue
            except (TokenizerError, ValueError) as error:
                digest = str(error)
            if digest != record["digest"]:
                found.append(
                    f"the record tokenizers {record['tenant']!a}, {record['digest']!a} has other"
                    " options than its digest"
                )
        return found


def _to_take_out(connection: Any) -> list[tuple[str, tuple[Any, ...]]]:
    return [(table, row) for table, row in damaged(connection) if table not in STAY]


def _plain(table: str, row: tuple[Any, ...]) -> dict[str, Any]:
    """As JSON has it: bytes in hexadecimal."""
    return {
        name: {"hex": value.hex()} if isinstance(value, bytes) else value
        for name, value in zip(COLUMNS[table], row, strict=True)
    }
