"""The number of the last change, and whose the last records were, in a file that all processes map.

A process that changes a record writes the number after the commit and before it acknowledges the
change. Reading it takes no system call, so a server can compare it at each request with the number
of its own copy of the records.
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Final

__all__ = ["Revision"]

# Of a number. It comes first, and then, in a ring, the last changes: a number and an owner each.
_BYTES: Final = 8
_LONGEST: Final = 64
_ENTRY: Final = _BYTES + _LONGEST
_KEPT: Final = 512
_SIZE: Final = _BYTES + _KEPT * _ENTRY
_ANY: Final = b"*"
_log = logging.getLogger("pywasmtok")


class Revision:
    def __init__(self, path: Path) -> None:
        self._file: int | None = None
        self._number: memoryview | None = None
        self._all = memoryview(b"")
        if not hasattr(os, "pwrite"):
            return
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if os.fstat(self._file).st_size < _SIZE:
                # Appended: another process may do the same, and have written a number already.
                with path.open("ab", buffering=0) as new:
                    new.write(bytes(_SIZE))
            self._all = memoryview(mmap.mmap(self._file, _SIZE, access=mmap.ACCESS_READ))
            self._number = self._all[:_BYTES].cast("Q")
        except (OSError, ValueError) as error:
            _log.warning(
                "store: without a file of revisions each request reads the database: %s", error
            )
            self.close()

    @property
    def read(self) -> Callable[[], int] | None:
        """Gives the number. None: there is no file, such as on a full disk."""
        return None if self._number is None else partial(itemgetter(0), self._number)

    def change(self, number: int, owner: str | None) -> None:
        """`number` was never written before, so one that is late overwrites no newer change
        unseen. `owner`: whose records they are; None: any."""
        if self._file is None:
            return
        data = number.to_bytes(_BYTES, sys.byteorder)
        name = _ANY if owner is None else owner.encode("utf-8", "replace")
        try:
            # Not through the map: where a file system has no room for it, that would be a signal.
            entry = data + name.ljust(_LONGEST, b"\0") if len(name) <= _LONGEST else data + _ANY
            os.pwrite(self._file, entry, _BYTES + number % _KEPT * _ENTRY)
            os.pwrite(self._file, data, 0)
        except OSError as error:
            _log.warning("store: other processes see a change late: %s", error)

    def owners(self, since: int, until: int) -> set[str] | None:
        """Whose records the changes after `since` up to `until` were; None: it is not known, such
        as when a process was killed before it wrote its own."""
        if since < 0 or not 0 < until - since < _KEPT // 2 or self._number is None:
            return None
        found = set()
        for number in range(since + 1, until + 1):
            place = _BYTES + number % _KEPT * _ENTRY
            entry = bytes(self._all[place : place + _ENTRY])
            name = entry[_BYTES:].rstrip(b"\0")
            if int.from_bytes(entry[:_BYTES], sys.byteorder) != number or name == _ANY:
                return None
            found.add(name.decode("utf-8", "replace"))
        return found

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
