"""The same engine without WebAssembly around it, built from the sources beside the package.

Users have no such build, so it takes part only where it is asked for: `--only portable,native`. The
difference between the two is the cost of the sandbox.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["NAME", "Native", "NoNativeBuildError", "build"]

NAME = "native"
WORKSPACE = Path(__file__).resolve().parents[3] / "wasm-core"
LIBRARY = "libpywasmtok_in_process.so"

_FAILED = ctypes.c_size_t(-1).value


class NoNativeBuildError(Exception):
    """Why there is none."""


def build(flags: str = "") -> Path:
    """The library, made by cargo where it is not up to date; `flags` are of rustc."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise NoNativeBuildError("there is no cargo here")
    if not (WORKSPACE / "native" / "Cargo.toml").is_file():
        raise NoNativeBuildError("the sources of the engine are not beside the package")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or Path(tempfile.gettempdir()) / "pywasmtok")
    # Other flags make other files: in a folder of their own both stay up to date.
    target = target / ("native " + flags).strip().replace(" ", "-").replace("=", "-")
    command = [cargo, "build", "--release", "--locked", "-p", "pywasmtok-native", "--lib"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "RUSTFLAGS": flags}
    done = subprocess.run(
        command, cwd=WORKSPACE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise NoNativeBuildError(f"cargo could not build it: {last[0]}")
    path = target / "release" / LIBRARY
    if not path.is_file():
        raise NoNativeBuildError(f"cargo made no {LIBRARY}: this is for Linux")
    return path


class Native:
    """One tokenizer of a native build, for one thread."""

    def __init__(self, library: Path, file: bytes) -> None:
        self._library = ctypes.CDLL(str(library))
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        for name, result, arguments in (
            ("pwn_open", pointer, (ctypes.c_char_p, size)),
            ("pwn_close", None, (pointer,)),
            ("pwn_encode", size, (pointer, ctypes.c_char_p, size)),
            ("pwn_ids", pointer, (pointer,)),
        ):
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._encode, self._ids = self._library.pwn_encode, self._library.pwn_ids
        self._session = self._library.pwn_open(file, len(file))
        if not self._session:
            raise NoNativeBuildError("the engine does not take this file")
        self._session = pointer(self._session)

    def encode(self, text: str) -> memoryview:
        """The ids, copied, as the host of the sandbox does it."""
        data = text.encode()
        count = self._encode(self._session, data, len(data))
        if count == _FAILED:
            raise ValueError("the engine does not encode this text")
        return memoryview(ctypes.string_at(self._ids(self._session), 4 * count)).cast("I")

    def close(self) -> None:
        session, self._session = self._session, None
        self._library.pwn_close(session)
