"""Runs the engine's unit tests inside WebAssembly: the code that ships, not its native twin.

python -m tools.build.test_core_in_wasm [--variant portable|baseline]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tools.build import toolchain
from tools.build.core import (VARIANTS, WORKSPACE)

RUNNER = Path(__file__).with_name("run_wasm_tests.py")
CARGO = (
    *("test", "--locked", "-p", "pywasmtok-engine", "--lib"),
    *("-Z", "build-std=std,panic_abort,test", "--target", "wasm32-unknown-unknown"),
)


def main(argv: list[str] | None = None) -> int:
    # The tests of `threads` would need its memory and workers; the engine starts no thread.
    variants = {variant.name: variant for variant in VARIANTS if not variant.link_args}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variant", choices=variants, default="portable")
    parser.add_argument("--toolchain", choices=["debian", "rustup"])
    options = parser.parse_args(argv)
    try:
        chain = toolchain.find(options.toolchain)
    except toolchain.ToolchainError as missing:
        print(missing, file=sys.stderr)
        return 1
    flags = variants[options.variant].flags()
    if chain.linker is not None:
        flags += ["-C", f"linker={chain.linker}"]
    environment = chain.environment()
    environment.pop("RUSTFLAGS", None)
    environment["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    environment["CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER"] = f"{sys.executable} {RUNNER}"
    base = Path(os.environ.get("CARGO_TARGET_DIR", WORKSPACE / "target")).absolute()
    target_dir = base / f"wasm-tests-{options.variant}"
    command = [chain.cargo, *CARGO, "--target-dir", str(target_dir)]
    return subprocess.run(command, cwd=WORKSPACE, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
