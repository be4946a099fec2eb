"""Builds the WebAssembly core and locks what it was built from.

python -m tools.build_core             build portable, threads and baseline into pywasmtok/core
python -m tools.build_core --check     compare the lock with the sources and the artifacts (fast)
python -m tools.build_core --verify    rebuild elsewhere; with the locked toolchain the bytes must
                                       be the same, with another one --out keeps them for tests
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import toolchain, wasm_sections
from tools.toolchain import Toolchain

ROOT = Path(__file__).resolve().parent.parent
WORKSPACE = ROOT / "wasm-core"
CORE = ROOT / "pywasmtok/core"
LOCK = CORE / "core.lock.toml"
REBUILD = "python -m tools.build_core"

CARGO = (
    *("rustc", "--release", "--locked", "-p", "pywasmtok-abi", "--lib", "--crate-type", "cdylib"),
    *("-Z", "build-std=std,panic_abort", "--target", "wasm32-unknown-unknown"),
)
# Small: 1 GiB, because hosts without lazy memory reserve the maximum, and browsers count it.
THREADS_MAX_MEMORY = 1 << 30


@dataclass(frozen=True)
class Variant:
    name: str
    features: tuple[str, ...]
    link_args: tuple[str, ...] = ()

    def flags(self) -> list[str]:
        """For rustc; the same on every machine."""
        flags = ["-C", "target-feature=" + ",".join(f"+{name}" for name in self.features)]
        if not self.features:
            flags.clear()
        for arg in self.link_args:
            flags += ["-C", f"link-arg={arg}"]
        return flags


VARIANTS = (
    Variant("portable", ("simd128",)),
    Variant(
        "threads",
        ("atomics", "bulk-memory", "simd128"),
        (
            "--shared-memory",
            "--import-memory",
            "--export-memory",
            f"--max-memory={THREADS_MAX_MEMORY}",
            "--export=__stack_pointer",
            "--export=__wasm_init_tls",
            "--export=__tls_size",
            "--export=__tls_align",
        ),
    ),
    Variant("baseline", ()),
)


def source_files() -> list[Path]:
    """What the artifacts depend on: the crates that the abi is made of, and the manifests."""
    crates: list[Path] = []
    waiting = [WORKSPACE / "abi"]
    while waiting:
        crate = waiting.pop()
        if crate in crates:
            continue
        crates.append(crate)
        manifest = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
        dependencies = manifest.get("dependencies", {}).values()
        paths = (item["path"] for item in dependencies if isinstance(item, dict) and "path" in item)
        waiting += [(crate / path).resolve() for path in paths]
    files = [WORKSPACE / "Cargo.toml", WORKSPACE / "Cargo.lock"]
    for crate in crates:
        files += [path for path in crate.rglob("*") if path.is_file() and _is_source(path, crate)]
    return sorted(files)


def _is_source(path: Path, crate: Path) -> bool:
    parts = path.relative_to(crate).parts
    return parts[0] != "target" and not any(part.startswith(".") for part in parts)


def source_hash() -> str:
    """Over names and contents of the sources, and over the flags."""
    digest = hashlib.sha256()
    recipe = {"cargo": CARGO, "flags": {variant.name: variant.flags() for variant in VARIANTS}}
    digest.update(json.dumps(recipe, sort_keys=True).encode())
    for path in source_files():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"\n{path.relative_to(WORKSPACE).as_posix()} {content}".encode())
    return digest.hexdigest()


def abi_number() -> int:
    table = tomllib.loads((WORKSPACE / "abi/abi.toml").read_text(encoding="utf-8"))
    return int(table["version"])


def version() -> str:
    manifest = tomllib.loads((WORKSPACE / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def remaps(chain: Toolchain) -> Iterator[str]:
    """Takes every path of this machine out of the bytes; the last that fits wins."""
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    yield f"--remap-path-prefix={cargo_home}=/cargo"
    registry = cargo_home / "registry/src"
    for index in sorted(registry.iterdir()) if registry.is_dir() else ():
        yield f"--remap-path-prefix={index}=/crates"
    yield f"--remap-path-prefix={chain.library}=/rust"
    yield f"--remap-path-prefix={WORKSPACE}=/pywasmtok"


def build(variant: Variant, chain: Toolchain, target_dir: Path) -> bytes:
    flags = [*variant.flags(), *remaps(chain)]
    if chain.linker is not None:
        flags += ["-C", f"linker={chain.linker}"]
    environment = chain.environment()
    environment.pop("RUSTFLAGS", None)
    environment["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    environment["SOURCE_DATE_EPOCH"] = "0"
    started = time.monotonic()
    command = [chain.cargo, *CARGO, "--target-dir", str(target_dir)]
    subprocess.run(command, cwd=WORKSPACE, env=environment, check=True)
    linked = target_dir / "wasm32-unknown-unknown/release/pywasmtok_abi.wasm"
    artifact = with_identity(linked.read_bytes(), variant)
    seconds = time.monotonic() - started
    print(f"{variant.name}: {len(artifact):,} bytes in {seconds:.0f} s", flush=True)
    return artifact


def with_identity(module: bytes, variant: Variant) -> bytes:
    """Adds the sections that a host reads first."""
    identity = {
        "abi": abi_number(),
        "features": sorted(variant.features),
        "variant": variant.name,
        "version": version(),
    }
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return (
        module
        + wasm_sections.custom_section("pywasmtok.abi", text.encode())
        + wasm_sections.custom_section("build_id", bytes.fromhex(source_hash()))
    )


def fetch(chain: Toolchain) -> None:
    """Before the first build: the folders whose paths are remapped must be there."""
    command = [chain.cargo, "fetch", "--locked"]
    subprocess.run(command, cwd=WORKSPACE, env=chain.environment(), check=True)


def build_all(chain: Toolchain, variants: list[Variant], targets: Path | None) -> dict[str, bytes]:
    details = ", ".join(chain.versions.values())
    print(f"toolchain: {chain.kind} ({details})", flush=True)
    fetch(chain)
    base = targets or Path(os.environ.get("CARGO_TARGET_DIR", WORKSPACE / "target"))
    return {
        variant.name: build(variant, chain, base.absolute() / f"wasm-{variant.name}")
        for variant in variants
    }


def lock_text(chain: Toolchain, artifacts: dict[str, bytes]) -> str:
    # JSON's strings, numbers and flat lists are TOML's too.
    lines = [
        "# What the modules beside this file were built from. Written by tools/build_core.py.",
        "",
        f"abi = {abi_number()}",
        f"version = {json.dumps(version())}",
        f"source = {json.dumps(source_hash())}",
        "",
        "[toolchain]",
        f"kind = {json.dumps(chain.kind)}",
        *(f"{name} = {json.dumps(value)}" for name, value in chain.versions.items()),
    ]
    for variant in VARIANTS:
        data = artifacts[variant.name]
        lines += [
            "",
            f"[builds.{variant.name}]",
            f"sha256 = {json.dumps(hashlib.sha256(data).hexdigest())}",
            f"size = {len(data)}",
            f"features = {json.dumps(sorted(variant.features))}",
            f"flags = {json.dumps(variant.flags())}",
        ]
    return "\n".join(lines) + "\n"


def problems() -> list[str]:
    """What in the lock, the sources and the artifacts does not fit together."""
    if not LOCK.exists():
        return [f"{LOCK.relative_to(ROOT)} is missing"]
    lock: dict[str, Any] = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    found = []
    if lock["source"] != source_hash():
        found.append("the sources of the core have changed since it was built")
    for name, entry in lock["builds"].items():
        path = CORE / f"{name}.wasm"
        if not path.exists():
            found.append(f"{path.relative_to(ROOT)} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            found.append(f"{path.relative_to(ROOT)} is not the file that was locked")
    if set(lock["builds"]) != {variant.name for variant in VARIANTS}:
        found.append("the lock names other builds than the tool makes")
    return found


def check() -> int:
    found = problems()
    for problem in found:
        print(problem)
    if found:
        print(f"run: {REBUILD}")
    return 1 if found else 0


def verify(chain: Toolchain, out: Path | None) -> int:
    """Rebuilds from nothing and compares."""
    if check() != 0:
        return 1
    lock = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        artifacts = build_all(chain, list(VARIANTS), Path(scratch))
    if out is not None:
        write(artifacts, out)
    locked = lock["toolchain"]
    if {"kind": chain.kind, **chain.versions} != locked:
        print(f"built, not compared: the lock's toolchain is another one ({locked['rustc']})")
        return 0
    different = [
        name
        for name, data in artifacts.items()
        if hashlib.sha256(data).hexdigest() != lock["builds"][name]["sha256"]
    ]
    for name in different:
        print(f"{name}: a rebuild gives other bytes than the committed artifact")
    if not different:
        print("the committed artifacts are what these sources build to")
    return 1 if different else 0


def write(artifacts: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in artifacts.items():
        (folder / f"{name}.wasm").write_bytes(data)


def main(argv: list[str] | None = None) -> int:
    names = [variant.name for variant in VARIANTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare hashes, build nothing")
    parser.add_argument("--verify", action="store_true", help="rebuild and compare bytes")
    parser.add_argument("--out", type=Path, help="write the artifacts here, and no lock")
    parser.add_argument("--only", choices=names, action="append", help="with --out: just this one")
    parser.add_argument("--target-dir", type=Path, help="where cargo works (CARGO_TARGET_DIR)")
    parser.add_argument("--toolchain", choices=["debian", "rustup"])
    options = parser.parse_args(argv)
    if options.only and not options.out:
        parser.error("--only needs --out: a lock covers all builds")
    if options.check:
        return check()
    try:
        chain = toolchain.find(options.toolchain)
    except toolchain.ToolchainError as missing:
        print(missing, file=sys.stderr)
        return 1
    try:
        if options.verify:
            return verify(chain, options.out)
        chosen = [variant for variant in VARIANTS if variant.name in (options.only or names)]
        artifacts = build_all(chain, chosen, options.target_dir)
    except subprocess.CalledProcessError as failure:
        print(f"cargo failed with exit code {failure.returncode}", file=sys.stderr)
        return 1
    write(artifacts, options.out or CORE)
    if not options.out:
        LOCK.write_text(lock_text(chain, artifacts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
