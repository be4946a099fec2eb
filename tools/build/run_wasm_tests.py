"""Runs the test module of a crate, built for wasm32-unknown-unknown, under wasmtime.

Cargo calls it (see wasm-core/.cargo/config.toml). The module has no output and no arguments: its
`main` answers 0 when all tests passed, and a failing test is a trap whose backtrace names it. So a
run ends at the first failure, and tests that should panic are left out by the harness.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import wasmtime

TEST = re.compile(r"[\w:]+::tests::\w+")


def failing_test(trap: wasmtime.Trap) -> str:
    """The innermost function of a test module in the backtrace, without the compiler's hashes."""
    frames = re.sub(r"\[[0-9a-f]{16}\]", "", str(trap))
    found = TEST.search(frames)
    return found.group() if found else "a test that the backtrace does not name"


def main(argv: list[str]) -> int:
    data = Path(argv[0]).read_bytes()
    config = wasmtime.Config()
    config.max_wasm_stack = 1 << 20
    engine = wasmtime.Engine(config)
    module = wasmtime.Module(engine, data)
    if module.imports:
        print(f"the test module imports {[item.name for item in module.imports]}")
        return 1
    if b"::tests::" not in data:
        print("the module holds no test: nothing was tested")
        return 1
    store = wasmtime.Store(engine)
    run = wasmtime.Instance(store, module, []).exports(store)["main"]
    assert isinstance(run, wasmtime.Func)
    try:
        failed = run(store, 0, 0)
    except wasmtime.Trap as trap:
        print(f"test in wasm FAILED: {failing_test(trap)}\n{trap}")
        return 1
    print(f"tests in wasm: {'FAILED' if failed else 'ok'} ({Path(argv[0]).name})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
