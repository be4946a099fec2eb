"""What an artifact is built from: the crates behind it, and their share of the lock of cargo."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORKSPACE = Path(__file__).resolve().parents[2] / "wasm-core"


def crates(first: Path) -> list[Path]:
    """The crate in this folder, and those of the workspace that it is made of."""
    found: list[Path] = []
    waiting = [first]
    while waiting:
        crate = waiting.pop()
        if crate in found:
            continue
        found.append(crate)
        manifest = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
        dependencies = manifest.get("dependencies", {}).values()
        paths = (item["path"] for item in dependencies if isinstance(item, dict) and "path" in item)
        waiting += [(crate / path).resolve() for path in paths]
    return found


def files(first: Path) -> list[Path]:
    found = []
    for crate in crates(first):
        found += [path for path in crate.rglob("*") if path.is_file() and _is_source(path, crate)]
    return sorted(found)


def _is_source(path: Path, crate: Path) -> bool:
    parts = path.relative_to(crate).parts
    return parts[0] != "target" and not any(part.startswith(".") for part in parts)


def locked_packages(package: str) -> list[dict[str, Any]]:
    """The entries of Cargo.lock that a package needs: a change elsewhere changes nothing here."""
    lock = tomllib.loads((WORKSPACE / "Cargo.lock").read_text(encoding="utf-8"))
    entries: list[dict[str, Any]] = lock["package"]
    needed: list[dict[str, Any]] = []
    waiting = [package]
    while waiting:
        # "name", or "name version" where the lock has several of that name.
        name, _, version = waiting.pop().partition(" ")
        for entry in entries:
            if entry["name"] != name or (version and entry["version"] != version.split()[0]):
                continue
            if entry not in needed:
                needed.append(entry)
                waiting += entry.get("dependencies", [])
    return sorted(needed, key=lambda entry: (entry["name"], entry["version"]))


def manifest() -> str:
    """The part of the workspace's manifest that concerns every crate: all but its members."""
    content = tomllib.loads((WORKSPACE / "Cargo.toml").read_text(encoding="utf-8"))
    content["workspace"].pop("members")
    return json.dumps(content, sort_keys=True)


def source_hash(folder: Path, package: str, recipe: object) -> str:
    """Over names and contents of the sources, and over how they are built."""
    digest = hashlib.sha256()
    for line in _lines(folder, package, recipe):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _lines(folder: Path, package: str, recipe: object) -> Iterator[str]:
    yield json.dumps(recipe, sort_keys=True)
    yield manifest()
    yield json.dumps(locked_packages(package), sort_keys=True)
    for path in files(folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        yield f"{path.relative_to(WORKSPACE).as_posix()} {content}"
