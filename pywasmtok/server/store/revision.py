"""The number of the last change, in a file that all processes with the store map.

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

_BYTES: Final = 8
_log = logging.getLogger("pywasmtok")


class Revision:
    def __init__(self, path: Path) -> None:
        self._file: int | None = None
        self._number: memoryview | None = None
        if not hasattr(os, "pwrite"):
            return
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if os.fstat(self._file).st_size < _BYTES:
                # Appended: another process may do the same, and have written a number already.
                with path.open("ab", buffering=0) as new:
                    new.write(bytes(_BYTES))
            self._number = memoryview(mmap.mmap(self._file, _BYTES, access=mmap.ACCESS_READ))
            self._number = self._number.cast("Q")
        except (OSError, ValueError) as error:
            _log.warning(
                "store: without a file of revisions each request reads the database: %s", error
            )
            self.close()

    @property
    def read(self) -> Callable[[], int] | None:
        """Gives the number. None: there is no file, such as on a full disk."""
        return None if self._number is None else partial(itemgetter(0), self._number)

    def change(self, number: int) -> None:
        """`number` was never written before, so one that is late overwrites no newer change
        unseen."""
        if self._file is None:
            return
        try:
            # Not through the map: where a file system has no room for it, that would be a signal.
            os.pwrite(self._file, number.to_bytes(_BYTES, sys.byteorder), 0)
        except OSError as error:
            _log.warning("store: other processes see a change late: %s", error)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
