"""A build of the core, compiled: made once a process, shared by all tokenizers that use it."""

from __future__ import annotations

import ctypes
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import wasmtime
from wasmtime import _ffi as ffi

from ..errors import ArtifactError
from . import abi, artifacts, config, fork
from .artifacts import Artifact
from .cache import Cache, key_of
from .raw import epoch_of
from .ticker import ticker
from .timer import EngineTimer

# Only there for a better message after a trap.
_OPTIONAL: Final = {"pwt_panic_ptr", "pwt_panic_len"}
# Only there for the workers of a shared memory; the last one comes from the linker.
INIT_TLS: Final = "__wasm_init_tls"
_FOR_WORKERS: Final = {"pwt_memory_new", "pwt_memory_free", INIT_TLS}

# Name of each function that may be called: how many i32 it takes, how many it answers.
FUNCTIONS: Final = {**abi.FUNCTIONS, INIT_TLS: (1, 0)}


class Core:
    """The engine and the module of one build; its exports are what the ABI says."""

    def __init__(self, artifact: Artifact, cache: Cache) -> None:
        self.artifact = artifact
        self.name = artifact.name
        self.threads = artifact.threads
        self._cache = cache
        self._timed: Core | None = None
        with fork.creation:
            self.engine = config.new_engine(artifact.threads)
            settings = config.fingerprint(artifact.threads)
            self.module, self.from_cache = compiled(self.engine, artifact, cache, settings)
        self._tick = epoch_of(self.engine)
        self.shared_memory_type = check_imports(self.module, artifact)
        self.exports = check_exports(self.module, artifact)

    def interrupt(self, ticks: int = 1) -> None:
        """Ends the calls of this engine whose deadline is not further away: those that may be
        interrupted."""
        for _ in range(ticks):
            self._tick()

    @property
    def has_clock(self) -> bool:
        """Whether its epoch moves with the time while calls with a deadline run."""
        return self._timed is self

    def with_clock(self) -> Core:
        """The same build on an engine of its own, whose epoch moves with the time. It moves for all
        calls of an engine, and those without a deadline are interruptible by its not moving."""
        if self._timed is None:
            with fork.creation:
                if self._timed is None:
                    timed = Core(self.artifact, self._cache)
                    timed._timed = timed
                    ticker.watch(timed._tick, EngineTimer(timed.engine))
                    self._timed = timed
        return self._timed


def compiled(
    engine: wasmtime.Engine, artifact: Artifact, cache: Cache, settings: str
) -> tuple[wasmtime.Module, bool]:
    """The module, and whether the cache had it; `settings` names what compiled code depends on."""
    key = key_of(artifact.sha256, version("wasmtime"), settings, processor())
    ready = cache.load(key)
    if ready is not None:
        try:
            return deserialize(engine, ready), True
        except wasmtime.WasmtimeError:
            # Of another engine than the key tells apart: as good as none.
            pass
    module = wasmtime.Module(engine, artifact.wasm)
    cache.store(key, module.serialize())
    return module, False


def deserialize(engine: wasmtime.Engine, native: memoryview) -> wasmtime.Module:
    """`Module.deserialize` without its copy of the code; `native` must be writable memory."""
    result = ctypes.POINTER(ffi.wasmtime_module_t)()
    data = (ctypes.c_uint8 * len(native)).from_buffer(native)
    error = ffi.wasmtime_module_deserialize(engine.ptr(), data, len(native), ctypes.byref(result))
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)
    return wasmtime.Module._from_ptr(result)


def check_imports(module: wasmtime.Module, artifact: Artifact) -> wasmtime.MemoryType | None:
    """Nothing may be imported, but for the one memory that the workers share: its type."""
    imports = module.imports
    if not artifact.threads and not imports:
        return None
    if artifact.threads and len(imports) == 1:
        (only,) = imports
        kind = only.type
        if (only.module, only.name) == ("env", "memory") and isinstance(kind, wasmtime.MemoryType):
            return kind
    names = ", ".join(f"{entry.module}.{entry.name}" for entry in imports) or "nothing"
    wanted = "one shared memory, env.memory" if artifact.threads else "nothing"
    raise ArtifactError(f"the core build {artifact.name!r} imports {names} instead of {wanted}")


def check_exports(module: wasmtime.Module, artifact: Artifact) -> frozenset[str]:
    """Names of the functions that may be called. The calls themselves are unchecked."""
    types: dict[str, Any] = {entry.name: entry.type for entry in module.exports}
    required = FUNCTIONS.keys() - _OPTIONAL - (set() if artifact.threads else _FOR_WORKERS)
    usable = set()
    for name, (parameters, results) in FUNCTIONS.items():
        kind = types.get(name)
        if isinstance(kind, wasmtime.FuncType):
            if _shape(kind) != (["i32"] * parameters, ["i32"] * results):
                raise ArtifactError(
                    f"{name} of the core build {artifact.name!r} has another type than the ABI's"
                )
            usable.add(name)
        elif name in required:
            raise ArtifactError(f"the core build {artifact.name!r} exports no function {name}")
    if not artifact.threads and not isinstance(types.get("memory"), wasmtime.MemoryType):
        raise ArtifactError(f"the core build {artifact.name!r} exports no memory")
    return frozenset(usable)


def _shape(kind: wasmtime.FuncType) -> tuple[list[str], list[str]]:
    return [str(one) for one in kind.params], [str(one) for one in kind.results]


def processor() -> str:
    """What compiled code may depend on: the architecture and the features of the CPU."""
    return f"{platform.system()} {platform.machine()} {_features()}"


def _features() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(value.split()))
    return platform.processor()


_opened: dict[str, Core] = {}
_refused: dict[str, str] = {}


def open_core(build: str | None) -> Core:
    """The compiled core of a build, or of the one that the environment or the default names."""
    name = artifacts.named(build)
    if name is not None:
        return _open(name)
    try:
        return _open(artifacts.DEFAULT)
    except ArtifactError:
        # A CPU without SIMD is the one known reason why wasmtime would not take it.
        if artifacts.DEFAULT not in _refused:
            raise
    return _open(artifacts.WITHOUT_SIMD)


def opened() -> dict[str, Core]:
    """The cores that this process has compiled so far."""
    return dict(_opened)


def _open(name: str) -> Core:
    core = _opened.get(name)
    if core is not None:
        return core
    with fork.creation:
        core = _opened.get(name)
        if core is None:
            core = _opened[name] = _compile(name)
        return core


def _compile(name: str) -> Core:
    if name not in _refused:
        artifact = artifacts.read(name)
        try:
            return Core(artifact, Cache.for_user())
        except wasmtime.WasmtimeError as error:
            _refused[name] = str(error)
    raise ArtifactError(f"wasmtime refuses the core build {name!r}: {_refused[name]}")
