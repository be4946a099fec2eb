"""A new file beside others, to be given its name when it is complete.

`tempfile.mkstemp` does the same, and takes longer to import than a small tokenizer to load.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path
from typing import Final

from ..linux.file_systems import try_to_lock

TO_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_TO_MAKE: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_FOR_THIS_USER: Final = 0o600

_PREFIX: Final = ".new-"
_OWN: Final = re.compile(rf"{re.escape(_PREFIX)}[0-9a-f]{{16}}")

# A writer locks its new file within this time; an older file without a lock is abandoned.
_ABANDONED_SECONDS: Final = 60


def new_file(folder: Path) -> tuple[int, str]:
    """Open for reading and writing, of mode 0600, and locked for as long as it is open; its
    name."""
    while True:
        name = str(folder / f"{_PREFIX}{os.urandom(8).hex()}")
        with contextlib.suppress(FileExistsError):
            file = os.open(name, _TO_MAKE, _FOR_THIS_USER)
            try_to_lock(file)
            return file, name


def sweep(folder: Path) -> None:
    """Removes what writers that were killed have left."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if _OWN.fullmatch(entry.name)]
    for entry in found:
        with contextlib.suppress(OSError):
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if age > _ABANDONED_SECONDS and is_abandoned(entry.path):
                os.unlink(entry.path)


def is_abandoned(path: str) -> bool:
    file = os.open(path, TO_READ)
    try:
        return try_to_lock(file)
    finally:
        os.close(file)
