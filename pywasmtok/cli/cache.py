"""What lies in the cache folder of this user: for `pywasmtok cache`."""

from __future__ import annotations

from typing import Any

from .._host.snapshots.store import FOLDER, SnapshotStore
from .._host.wasm.cache import Cache

__all__ = ["clear", "report"]


def report(*, verify: bool) -> tuple[dict[str, Any], bool]:
    """What there is, and whether all of it is usable. With `verify` checksums are compared."""
    cache = Cache.for_user()
    store = None if cache.directory is None else SnapshotStore(cache.directory / FOLDER)
    in_use = SnapshotStore.for_user()
    cores: list[dict[str, Any]] = [
        {"file": path.name, "bytes": path.stat().st_size, "last_use": path.stat().st_mtime}
        | ({"problem": cache.problem(path)} if verify else {})
        for path in cache.files()
    ]
    entries = [] if store is None else store.entries(verify=verify)
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
    found = {
        "directory": None if cache.directory is None else str(cache.directory),
        "off_because": cache.reason,
        "snapshots_off": in_use is None,
        "max_bytes": None if in_use is None else in_use.max_bytes,
        "bytes": sum(one["bytes"] for one in (*cores, *snapshots)),
        "cores": cores,
        "snapshots": snapshots,
    }
    return found, not any(one.get("problem") for one in (*cores, *snapshots))


def clear() -> dict[str, Any]:
    """Removes all of it. Processes that use it keep what they have."""
    cache = Cache.for_user()
    store = None if cache.directory is None else SnapshotStore(cache.directory / FOLDER)
    before, _ = report(verify=False)
    removed = 0 if store is None else store.clear()
    return {
        "directory": before["directory"],
        "cores": cache.clear(),
        "snapshots": removed,
        "bytes": before["bytes"],
    }
