"""How the engine is set up: every knob of wasmtime that this package turns, and why."""

from __future__ import annotations

import json
from typing import Final

from .wasmtime_objects import Engine

KIB: Final = 1024
GIB: Final = 1024**3

# Native stack that the core may use before it traps. Nothing in wasmtime compares it with the real
# stack of the thread; `thread_stack` does, once a thread.
MAX_WASM_STACK: Final = 256 * KIB

# How far the memory of one instance may grow.
MEMORY_CAP: Final = 2 * GIB

# Largest input of one call: results need about five times as much beside it.
MAX_INPUT: Final = GIB

# Each is a proposal that the core does not use: whatever is off cannot be attacked.
UNUSED_FEATURES: Final = (
    "wasm_component_model",
    "wasm_custom_page_sizes",
    "wasm_exceptions",
    "wasm_function_references",
    "wasm_gc",
    "wasm_memory64",
    "wasm_multi_memory",
    "wasm_relaxed_simd",
    "wasm_stack_switching",
    "wasm_tail_call",
    "wasm_wide_arithmetic",
)

_SETTINGS: Final[dict[str, bool | int]] = {
    # The compiler's thread pool does not survive a fork: a child would wait for it for ever.
    "parallel_compilation": False,
    "max_wasm_stack": MAX_WASM_STACK,
    # Addresses of guest memory are kept between calls, so it must never move. 4 GiB of address
    # space (not of memory) hold all that a 32-bit guest can ask for.
    "memory_may_move": False,
    "memory_reservation": 4 * GIB,
    "wasm_simd": True,
    "wasm_bulk_memory": True,
    "wasm_reference_types": True,
    "wasm_multi_value": True,
    **dict.fromkeys(UNUSED_FEATURES, False),
}


def settings(threads: bool, by_handlers: bool, deadlines: bool = False) -> dict[str, bool | int]:
    """All settings of an engine. `threads` is for builds that share one memory among workers;
    `by_handlers`: faults are signals, see `trap_handlers`, and not found by checks in the code.
    Code with checks can be ended from outside; the other kind only where it has `deadlines`, since
    looking for that in each loop costs time."""
    return {
        **_SETTINGS,
        "epoch_interruption": deadlines or not by_handlers,
        "wasm_threads": threads,
        "shared_memory": threads,
        "signals_based_traps": by_handlers,
    }


def new_engine(
    threads: bool,
    by_handlers: bool,
    max_wasm_stack: int | None = None,
    *,
    deadlines: bool = False,
) -> Engine:
    stack = MAX_WASM_STACK if max_wasm_stack is None else max_wasm_stack
    # Beyond the asynchronous stack of 2 MiB wasmtime aborts the process instead of refusing.
    if not 64 * KIB <= stack <= 1024 * KIB:
        raise ValueError(f"MAX_WASM_STACK of {stack} bytes is outside 64 KiB..1 MiB")
    return Engine({**settings(threads, by_handlers, deadlines), "max_wasm_stack": stack})


def fingerprint(threads: bool, by_handlers: bool, deadlines: bool = False) -> str:
    """Names the settings in the key of the cache: compiled code depends on them."""
    return json.dumps(settings(threads, by_handlers, deadlines), sort_keys=True)
