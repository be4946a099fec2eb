"""A new file beside others, to be given its name when it is complete.

`tempfile.mkstemp` does the same, and takes longer to import than a small tokenizer to load.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

_NEW: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_FOR_THIS_USER: Final = 0o600


def new_file(folder: Path, prefix: str) -> tuple[int, str]:
    """Open for reading and writing, of mode 0600; and its name."""
    while True:
        name = str(folder / f"{prefix}{os.urandom(8).hex()}")
        with contextlib.suppress(FileExistsError):
            return os.open(name, _NEW, _FOR_THIS_USER), name
