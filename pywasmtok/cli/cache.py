"""What lies in the cache folder of this user: for `pywasmtok cache`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._host.snapshots.store import FOLDER, SnapshotStore
from .._host.wasm.cache import Cache
from ..errors import HostError

__all__ = ["clear", "report"]


def report(*, verify: bool) -> tuple[dict[str, Any], bool]:
    """What there is, and whether all of it is usable. With `verify` checksums are compared."""
    cache = Cache.for_user()
    store = None if cache.directory is None else SnapshotStore(cache.directory / FOLDER)
    in_use = SnapshotStore.for_user()
    cores: list[dict[str, Any]] = []
    for path in cache.files():
        # One may have been removed meanwhile.
        with suppress(OSError):
            state = path.lstat()
            found = {"file": path.name, "bytes": state.st_size, "last_use": state.st_mtime}
            cores.append(found | ({"problem": cache.problem(path)} if verify else {}))
    entries, problem = [], None
    try:
        entries = [] if store is None else store.entries(verify=verify)
    except HostError as error:
        problem = str(error)
    snapshots: list[dict[str, Any]] = [
        {
            "key": entry.key,
            "bytes": entry.bytes,
            "last_use": entry.last_use,
            "problem": entry.problem,
            "about": dict(entry.about),
        }
        for entry in entries
    ]
    about = {
        "directory": None if cache.directory is None else str(cache.directory),
        "off_because": cache.reason,
        "snapshots_off": in_use is None,
        "max_bytes": None if in_use is None else in_use.max_bytes,
        "problem": problem,
        "bytes": sum(one["bytes"] for one in (*cores, *snapshots)),
        "cores": cores,
        "snapshots": snapshots,
    }
    return about, not problem and not any(one.get("problem") for one in (*cores, *snapshots))


def clear() -> tuple[dict[str, Any], bool]:
    """Removes all of it; the second value: whether all of it is gone. Processes that use it keep
    what they have."""
    cache = Cache.for_user()
    store = None if cache.directory is None else SnapshotStore(cache.directory / FOLDER)
    before, _ = report(verify=False)
    snapshots = 0
    with suppress(HostError):
        snapshots = 0 if store is None else store.clear()
    cores = cache.clear()
    after, _ = report(verify=False)
    left = _names(before) & _names(after)
    answer = {
        "directory": before["directory"],
        "problem": before["problem"],
        "cores": cores,
        "snapshots": snapshots,
        "bytes": max(0, before["bytes"] - after["bytes"]),
        "left": len(left),
    }
    return answer, not answer["problem"] and not left


def _names(found: dict[str, Any]) -> set[str]:
    return {one["file"] for one in found["cores"]} | {one["key"] for one in found["snapshots"]}
