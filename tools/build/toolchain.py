"""Finds a Rust toolchain that can build the core, with std from source.

There is no prebuilt std for all three builds (SIMD, atomics), so the toolchain's own sources are
needed: Debian's packages have them, and rustup's as a component.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

DEBIAN_LINKER = "wasm-ld-19"
MISSING = """\
no toolchain that can build WebAssembly with std from source. One of these gives it:
  Debian 12:  apt-get install rustc-web cargo-web rust-web-src lld-19
  rustup:     rustup target add wasm32-unknown-unknown && rustup component add rust-src"""


class ToolchainError(Exception):
    """Nothing here can build the core; the text says what to install."""


@dataclass(frozen=True)
class Toolchain:
    kind: str
    rustc: str
    cargo: str
    sysroot: Path
    linker: str | None
    versions: dict[str, str]

    @property
    def library(self) -> Path:
        return self.sysroot / "lib/rustlib/src/rust"

    def environment(self) -> dict[str, str]:
        """Of a build: RUSTC_BOOTSTRAP allows -Z build-std on a stable compiler."""
        return {**os.environ, "RUSTC": self.rustc, "RUSTC_BOOTSTRAP": "1"}


def find(kind: str | None = None) -> Toolchain:
    """The toolchain of a kind (`debian`, `rustup`), or the first of them that is complete."""
    finders = {"debian": _debian, "rustup": _rustup}
    found = [finders[kind]()] if kind else (finder() for finder in finders.values())
    for toolchain in found:
        if toolchain is not None:
            return toolchain
    raise ToolchainError(MISSING)


def _debian() -> Toolchain | None:
    rustc, cargo = Path("/usr/bin/rustc"), Path("/usr/bin/cargo")
    linker = shutil.which(DEBIAN_LINKER)
    if not (rustc.exists() and cargo.exists() and linker):
        return None
    return _toolchain("debian", str(rustc), str(cargo), linker)


def _rustup() -> Toolchain | None:
    if shutil.which("rustup") is None:
        return None
    paths = [_output(["rustup", "which", tool]) for tool in ("rustc", "cargo")]
    if not all(paths):
        return None
    return _toolchain("rustup", paths[0], paths[1], None)


def _toolchain(kind: str, rustc: str, cargo: str, linker: str | None) -> Toolchain | None:
    sysroot = _output([rustc, "--print", "sysroot"])
    versions = {"rustc": _output([rustc, "--version"]), "cargo": _output([cargo, "--version"])}
    if linker is not None:
        versions["linker"] = _output([linker, "--version"])
    toolchain = Toolchain(kind, rustc, cargo, Path(sysroot), linker, versions)
    return toolchain if (toolchain.library / "library/std").is_dir() else None


def _output(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else ""
