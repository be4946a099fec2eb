"""How much memory the system lets this process have, beside all others of its control group."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from . import ON
from .control_groups import folders, lines

__all__ = ["limit"]

# By version. Version 1 says "no limit" as a number that is larger than any memory.
_FILES: Final = {True: "memory.max", False: "memory.limit_in_bytes"}


def limit(root: Path = Path("/")) -> int | None:
    """Bytes: the least of the limits of its control groups and the memory of the machine. None
    where the system does not say."""
    if not ON:
        return None
    found = [
        int(word)
        for folder, is_second in folders(root, "memory")
        for word in lines(folder / _FILES[is_second])
        if word.isdecimal()
    ]
    return min([*found, *_of_the_machine(root)], default=None)


def _of_the_machine(root: Path) -> list[int]:
    return [
        int(line.split()[1]) * 1024
        for line in lines(root / "proc/meminfo")
        if line.startswith("MemTotal:") and line.split()[1].isdecimal()
    ]
