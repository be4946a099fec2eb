"""A file that this package keeps open."""

from __future__ import annotations

import os

__all__ = ["OwnFile"]


class OwnFile:
    """Other code may close its descriptor (a program that becomes a daemon closes all), and the
    number is then that of another file. So the file is recognized before each use."""

    __slots__ = ("_identity", "number")

    def __init__(self, number: int) -> None:
        """Owns the descriptor `number`."""
        state = os.fstat(number)
        self.number = number
        self._identity = state.st_dev, state.st_ino

    @property
    def is_open(self) -> bool:
        try:
            state = os.fstat(self.number)
        except OSError:
            return False
        return (state.st_dev, state.st_ino) == self._identity

    def close(self) -> None:
        if self.is_open:
            os.close(self.number)
