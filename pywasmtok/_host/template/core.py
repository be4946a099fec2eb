"""The renderer of chat templates, compiled: one engine for each size of stack, in code that checks
its accesses and in code that leaves faults to handlers.

wasmtime compares the guest's stack with a bound of the engine, never with the thread's real stack.
So threads with a small stack get an engine with a smaller bound; the compiled code is the same.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Final

from ...errors import ArtifactError, HostUnsupported
from ..calls.ticker import ticker
from ..linux import thread_stack, trap_handlers
from ..linux.timer import EngineTimer
from ..wasm import artifacts, config, fork
from ..wasm.artifacts import Artifact
from ..wasm.cache import Cache
from ..wasm.config import KIB
from ..wasm.core import compiled
from ..wasm.wasm_file import FunctionType, Shape
from ..wasm.wasmtime_machine import WasmtimeMachine, epoch_of
from ..wasm.wasmtime_objects import WasmtimeError
from . import abi as template_abi

# Half of a thread's stack at most: the rest is for Python and wasmtime, below and above.
STACKS: Final = (config.MAX_WASM_STACK, 128 * KIB, 64 * KIB)

# Only there for a better message after a trap.
_OPTIONAL: Final = {"tpl_out_of_memory", "tpl_panic_ptr", "tpl_panic_len"}


class TemplateCore:
    def __init__(
        self, artifact: Artifact, cache: Cache, max_wasm_stack: int, *, checked: bool
    ) -> None:
        self.artifact = artifact
        self.by_handlers = not checked
        with fork.creation():
            self.engine = config.new_engine(False, self.by_handlers, max_wasm_stack, deadlines=True)
            # The bound of the stack is a number of each instance, not of the compiled code.
            settings = config.fingerprint(False, self.by_handlers, deadlines=True)
            self.module, self.from_cache = compiled(self.engine, artifact, cache, settings, check)

    def new_machine(self) -> WasmtimeMachine:
        return WasmtimeMachine(self.engine, self.module, "the template renderer")

    @cached_property
    def about(self) -> dict[str, object]:
        return {"sha256": self.artifact.sha256, **self.artifact.described()}


def check(shape: Shape) -> None:
    """Nothing is imported, and the functions are those of the ABI: calls of them are unchecked."""
    if shape.imports:
        raise ArtifactError("the template renderer imports something")
    for name, (parameters, result) in template_abi.FUNCTIONS.items():
        kind = shape.exports.get(name)
        if not isinstance(kind, FunctionType):
            if name in _OPTIONAL:
                continue
            raise ArtifactError(f"the template renderer exports no function {name}")
        if kind != (["i32"] * parameters, [result] if result else []):
            raise ArtifactError(f"{name} of the template renderer has another type than the ABI's")
    if shape.exports.get("memory") != "memory":
        raise ArtifactError("the template renderer exports no memory")


# By the bound of the stack, and whether the code is checked.
_opened: dict[tuple[int, bool], TemplateCore] = {}


# What 2000 levels of recursion in C take at most, and as much again.
_DEEP_STACK: Final = 1024 * KIB


class _Local(threading.local):
    """Has its attributes in threads that were looked at."""

    stack: int
    deep: bool


_local: Final = _Local()


def stack_of_thread() -> int:
    """Which engine this thread may use: the bound of its guest's stack."""
    try:
        return _local.stack
    except AttributeError:
        _look()
        return _local.stack


def has_deep_stack() -> bool:
    """Whether C code that recurses deeply is safe in this thread."""
    try:
        return _local.deep
    except AttributeError:
        _look()
        return _local.deep


def _look() -> None:
    size = thread_stack.stack_size()
    _local.stack = _bound(size)
    _local.deep = size is None or size >= _DEEP_STACK


def _bound(size: int | None) -> int:
    for bound in STACKS:
        if size is None or size >= 2 * bound:
            return bound
    raise HostUnsupported(
        f"this thread has a stack of {size // KIB if size else 0} KiB; rendering a chat template"
        f" needs {2 * STACKS[-1] // KIB} KiB",
        hint="Start the thread with a larger threading.stack_size()",
    )


def open_template_core(stack: int, *, checked: bool) -> TemplateCore:
    key = stack, checked or not trap_handlers.wanted()
    core = _opened.get(key)
    if core is not None:
        return core
    with fork.creation():
        core = _opened.get(key)
        if core is None:
            artifact = artifacts.read_template()
            try:
                core = TemplateCore(artifact, Cache.for_user(), stack, checked=key[1])
            except WasmtimeError as error:
                raise ArtifactError(f"wasmtime refuses the template renderer: {error}") from None
            ticker.watch(epoch_of(core.engine), EngineTimer(core.engine))
            _opened[key] = core
        return core


def opened() -> list[tuple[int, TemplateCore]]:
    """The engines that this process has made so far, with the stack that each may use."""
    return [(stack, core) for (stack, _), core in _opened.items()]
