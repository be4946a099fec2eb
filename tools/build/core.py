"""Builds the WebAssembly core and the template renderer, and locks what they were built from.

python -m tools.build.core             build portable, threads, baseline and template
python -m tools.build.core --only template
                                       just the renderer: the core is another crate
python -m tools.build.core --check     compare the lock with the sources and the artifacts (fast)
python -m tools.build.core --verify    rebuild elsewhere; with the locked toolchain the bytes must
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

from tools.build import (crate_sources, toolchain, wasm_sections)
from tools.build.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = ROOT / "wasm-core"
CORE = ROOT / "pywasmtok/core"
LOCK = CORE / "core.lock.toml"
REBUILD = "python -m tools.build.core"

CARGO = (
    *("rustc", "--release", "--locked", "--lib", "--crate-type", "cdylib"),
    *("-Z", "build-std=std,panic_abort", "--target", "wasm32-unknown-unknown"),
)
# Small: 1 GiB, because hosts without lazy memory reserve the maximum, and browsers count it.
THREADS_MAX_MEMORY = 1 << 30


@dataclass(frozen=True)
class Crate:
    """What artifacts are built from; each has a table of its ABI."""

    folder: str

    @property
    def package(self) -> str:
        return f"pywasmtok-{self.folder}"

    def abi(self) -> int:
        text = (WORKSPACE / self.folder / "abi.toml").read_text(encoding="utf-8")
        return int(tomllib.loads(text)["version"])


ENGINE = Crate("abi")
RENDERER = Crate("template")


@dataclass(frozen=True)
class Variant:
    name: str
    features: tuple[str, ...]
    link_args: tuple[str, ...] = ()
    crate: Crate = ENGINE
    # Of cargo: what is other than the profile of the workspace says, which is for all crates.
    config: tuple[str, ...] = ()

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


# Deep recursion of a hostile template must meet the bound of the native stack first.
RENDERER_STACK = 1 << 20
# A size that never changes is a constant in the compiled code, where a host checks addresses there.
# Only what was touched takes room; `tpl_limit_memory` says how much that may be.
RENDERER_MEMORY = 128 << 20
TEMPLATE = Variant(
    "template",
    ("simd128",),
    (
        f"-zstack-size={RENDERER_STACK}",
        f"--initial-memory={RENDERER_MEMORY}",
        f"--max-memory={RENDERER_MEMORY}",
    ),
    RENDERER,
)
ARTIFACTS = (*VARIANTS, TEMPLATE)


def source_hash(crate: Crate = ENGINE) -> str:
    """Over what the artifacts of a crate depend on, so that one crate's change is not another's."""
    flags = {one.name: one.flags() for one in ARTIFACTS if one.crate is crate}
    recipe: dict[str, Any] = {"cargo": CARGO, "package": crate.package, "flags": flags}
    config = {one.name: one.config for one in ARTIFACTS if one.crate is crate and one.config}
    if config:
        recipe["config"] = config
    return crate_sources.source_hash(WORKSPACE / crate.folder, crate.package, recipe)


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
    command = [chain.cargo, *CARGO, "-p", variant.crate.package, "--target-dir", str(target_dir)]
    for setting in variant.config:
        command += ["--config", setting]
    subprocess.run(command, cwd=WORKSPACE, env=environment, check=True)
    library = variant.crate.package.replace("-", "_")
    linked = target_dir / f"wasm32-unknown-unknown/release/{library}.wasm"
    artifact = with_identity(linked.read_bytes(), variant)
    seconds = time.monotonic() - started
    print(f"{variant.name}: {len(artifact):,} bytes in {seconds:.0f} s", flush=True)
    return artifact


def with_identity(module: bytes, variant: Variant) -> bytes:
    """Adds the sections that a host reads first."""
    identity = {
        "abi": variant.crate.abi(),
        "features": sorted(variant.features),
        "variant": variant.name,
        "version": version(),
    }
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return (
        module
        + wasm_sections.custom_section("pywasmtok.abi", text.encode())
        + wasm_sections.custom_section("build_id", bytes.fromhex(source_hash(variant.crate)))
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


def lock_text(chain: Toolchain, artifacts: dict[str, bytes], before: dict[str, Any]) -> str:
    """For what was built now; of the rest, what the lock said before."""
    # JSON's strings, numbers and flat lists are TOML's too.
    core = before if TEMPLATE.name in artifacts and len(artifacts) == 1 else None
    lines = [
        "# What the modules beside this file were built from. Written by tools/build/core.py.",
        "",
        f"abi = {ENGINE.abi() if core is None else core['abi']}",
        f"version = {json.dumps(version())}",
        f"source = {json.dumps(source_hash() if core is None else core['source'])}",
        "",
        "[toolchain]",
        *_assignments({"kind": chain.kind, **chain.versions}),
    ]
    for variant in VARIANTS:
        entry = before["builds"][variant.name] if core else _entry(variant, artifacts)
        lines += ["", f"[builds.{variant.name}]", *_assignments(entry)]
    renderer = {
        "abi": RENDERER.abi(),
        "source": source_hash(RENDERER),
        **_entry(TEMPLATE, artifacts),
    }
    lines += ["", f"[{TEMPLATE.name}]", *_assignments(renderer)]
    return "\n".join(lines) + "\n"


def _assignments(table: dict[str, Any]) -> list[str]:
    return [f"{name} = {json.dumps(value)}" for name, value in table.items()]


def _entry(variant: Variant, artifacts: dict[str, bytes]) -> dict[str, Any]:
    data = artifacts[variant.name]
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "features": sorted(variant.features),
        "flags": variant.flags(),
    }


def read_lock() -> dict[str, Any]:
    return tomllib.loads(LOCK.read_text(encoding="utf-8"))


def locked_entries(lock: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the lock says of each artifact."""
    entries = dict(lock["builds"])
    if TEMPLATE.name in lock:
        entries[TEMPLATE.name] = lock[TEMPLATE.name]
    return entries


def problems() -> list[str]:
    """What in the lock, the sources and the artifacts does not fit together."""
    if not LOCK.exists():
        return [f"{LOCK.relative_to(ROOT)} is missing"]
    lock = read_lock()
    found = []
    if lock["source"] != source_hash():
        found.append("the sources of the core have changed since it was built")
    if lock.get(TEMPLATE.name, {}).get("source") != source_hash(RENDERER):
        found.append("the sources of the template renderer have changed since it was built")
    entries = locked_entries(lock)
    for name, entry in entries.items():
        path = CORE / f"{name}.wasm"
        if not path.exists():
            found.append(f"{path.relative_to(ROOT)} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
            found.append(f"{path.relative_to(ROOT)} is not the file that was locked")
    if set(entries) != {variant.name for variant in ARTIFACTS}:
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
    lock = read_lock()
    with tempfile.TemporaryDirectory() as scratch:
        artifacts = build_all(chain, list(ARTIFACTS), Path(scratch))
    if out is not None:
        write(artifacts, out)
    if not _same_toolchain(chain, lock):
        rustc = lock["toolchain"]["rustc"]
        print(f"built, not compared: the lock's toolchain is another one ({rustc})")
        return 0
    entries = locked_entries(lock)
    different = [
        name
        for name, data in artifacts.items()
        if hashlib.sha256(data).hexdigest() != entries[name]["sha256"]
    ]
    for name in different:
        print(f"{name}: a rebuild gives other bytes than the committed artifact")
    if not different:
        print("the committed artifacts are what these sources build to")
    return 1 if different else 0


def _same_toolchain(chain: Toolchain, lock: dict[str, Any]) -> bool:
    return bool({"kind": chain.kind, **chain.versions} == lock.get("toolchain"))


def write(artifacts: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in artifacts.items():
        (folder / f"{name}.wasm").write_bytes(data)


def main(argv: list[str] | None = None) -> int:
    names = [variant.name for variant in ARTIFACTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare hashes, build nothing")
    parser.add_argument("--verify", action="store_true", help="rebuild and compare bytes")
    parser.add_argument("--out", type=Path, help="write the artifacts here, and no lock")
    parser.add_argument("--only", choices=names, action="append", help="without --out: template")
    parser.add_argument("--target-dir", type=Path, help="where cargo works (CARGO_TARGET_DIR)")
    parser.add_argument("--toolchain", choices=["debian", "rustup"])
    options = parser.parse_args(argv)
    if options.only and not options.out and options.only != [TEMPLATE.name]:
        parser.error("--only needs --out: the lock covers all builds of the core")
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
        chosen = [variant for variant in ARTIFACTS if variant.name in (options.only or names)]
        before = read_lock() if LOCK.exists() else {}
        if options.only and not options.out and not _same_toolchain(chain, before):
            print("the core in the lock is of another toolchain: build all", file=sys.stderr)
            return 1
        artifacts = build_all(chain, chosen, options.target_dir)
    except subprocess.CalledProcessError as failure:
        print(f"cargo failed with exit code {failure.returncode}", file=sys.stderr)
        return 1
    write(artifacts, options.out or CORE)
    if not options.out:
        LOCK.write_text(lock_text(chain, artifacts, before), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
