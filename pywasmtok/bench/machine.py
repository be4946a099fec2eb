"""The machine that a record is of: what its figures depend on, but not whose it is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import __version__

__all__ = ["describe", "one_core", "versions"]

LIBRARIES = (
    "wasmtime",
    "tokenizers",
    "tiktoken",
    "fastokens",
    "gigatoken",
    "numpy",
    "transformers",
    "jinja2",
    "minijinja",
)


def describe() -> dict[str, Any]:
    """Everything that can be had; what a system does not tell is null."""
    return {
        "cpu": _cpu(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "cores_for_this_process": (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "caches": _caches(),
        "memory_bytes": _memory(),
        "os": _os(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str]:
    found = {"pywasmtok": __version__}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def one_core() -> Iterator[str | None]:
    """Everything that starts in here runs on one core; if that cannot be, says so."""
    if not hasattr(os, "sched_setaffinity"):
        yield "this system has no way to pin a process to a core"
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield None
    finally:
        os.sched_setaffinity(0, cores)


def _cpu() -> str | None:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.processor() or None


def _caches() -> dict[str, str] | None:
    """Of the first core, such as {"L1 Data": "32K", "L2 Unified": "1024K"}."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (next(_lines(folder / name), "") for name in ("level", "type", "size"))
        if size:
            found[f"L{level} {kind}"] = size
    return found or None


def _memory() -> int | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PAGE_SIZE" not in names or "SC_PHYS_PAGES" not in names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _os() -> str:
    system = f"{platform.system()} {platform.release()}"
    for line in _lines("/etc/os-release"):
        if line.startswith("PRETTY_NAME="):
            system += ", " + line.partition("=")[2].strip('"')
    return system


def _lines(path: str | Path) -> Iterator[str]:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from text.splitlines()
