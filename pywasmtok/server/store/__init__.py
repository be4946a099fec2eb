"""Where records and files are kept: in a folder (SQLite, and files beside it) or in memory."""

from __future__ import annotations

from pathlib import Path

from ..contract import Store
from .memory import MemoryStore

__all__ = ["MEMORY", "MemoryStore", "open_store"]

MEMORY = "memory"


def open_store(path: str | Path) -> Store:
    """`memory`, or a folder, which is made where there is none."""
    if path == MEMORY:
        return MemoryStore()
    from .folder import FolderStore

    return FolderStore(Path(path))
