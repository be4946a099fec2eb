"""Room on the disk that is kept free for one purpose: to remove something when the disk is full.

Without it, a full disk could not be helped: to note that a file is gone takes room, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from ...tenants.errors import StorageFull

__all__ = ["Reserve"]

T = TypeVar("T")

_BYTES: Final = 1 << 20


class Reserve:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._keep()

    def spend(self, remove: Callable[[], T]) -> T:
        """Does it; on a full disk, with the room that was kept."""
        try:
            return remove()
        except StorageFull:
            if not self._give():
                raise
        try:
            return remove()
        finally:
            self._keep()

    def _give(self) -> bool:
        try:
            os.unlink(self._path)
        except OSError:
            return False
        return True

    def _keep(self) -> None:
        """Writes real bytes, since a hole takes no space. On a full disk there is no reserve."""
        with contextlib.suppress(OSError):
            if self._path.exists() and self._path.stat().st_size == _BYTES:
                return
            try:
                self._path.write_bytes(os.urandom(_BYTES))
            except OSError:
                os.unlink(self._path)
