"""The control groups of this process: where the files of a controller are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["folders", "lines"]


def folders(root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The process's own group and all above it, and whether each is one of version 2."""
    for line in lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            names, is_second = [""], True
        elif controller in controllers.split(","):
            names, is_second = [controllers, controller], False
        else:
            continue
        for name in dict.fromkeys(names):
            folder = root / "sys/fs/cgroup" / name / path.strip("/")
            for above in (folder, *folder.parents):
                if above.is_relative_to(root / "sys"):
                    yield above, is_second


def lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
