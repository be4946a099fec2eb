"""A build of the core, compiled: made once a process, shared by all tokenizers that use it."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from ...errors import ArtifactError
from ..calls.deadline import paused
from ..calls.ticker import ticker
from ..linux import trap_handlers
from ..linux.sealed import Sealed
from ..linux.timer import EngineTimer
from . import abi, artifacts, config, fork
from . import wasmtime_functions as wasmtime
from .artifacts import Artifact
from .cache import Cache, key_of
from .wasm_file import FunctionType, MemoryLimits, Shape, shape_of
from .wasmtime_machine import WasmtimeMachine, epoch_of
from .wasmtime_objects import Engine, Module, SharedMemory, WasmtimeError

_log = logging.getLogger("pywasmtok")

# Only there for a better message after a trap.
_OPTIONAL: Final = {"pwt_panic_ptr", "pwt_panic_len"}
# Only there for the workers of a shared memory; the last one comes from the linker.
INIT_TLS: Final = "__wasm_init_tls"
_FOR_WORKERS: Final = {"pwt_memory_new", "pwt_memory_free", INIT_TLS}

# Name of each function that may be called: how many i32 it takes, how many it answers.
FUNCTIONS: Final = {**abi.FUNCTIONS, INIT_TLS: (1, 0)}


class Core:
    """The engine and the module of one build; its exports are what the ABI says."""

    def __init__(
        self, artifact: Artifact, cache: Cache, *, checked: bool = False, stoppable: bool = False
    ) -> None:
        """`checked`: its code finds each fault itself, whatever becomes of handlers of signals.
        Such code is `stoppable` in any case: it looks whether it is to end."""
        self.artifact = artifact
        self.name = artifact.name
        self.threads = artifact.threads
        self._cache = cache
        self._timed: Core | None = None
        self._checked: Core | None = None
        self._stoppable: Core | None = None
        # The core that this one is the stoppable version of.
        self._quick: Core | None = None
        # Workers of a shared memory cannot move to another engine, so they get the code with
        # checks.
        self.by_handlers = not checked and not artifact.threads and trap_handlers.wanted()
        # Whether a call can be ended from outside. The fastest code never checks for that.
        self.stoppable = stoppable or not self.by_handlers
        kind = artifact.threads, self.by_handlers
        with fork.creation():
            self.engine = config.new_engine(*kind, deadlines=self.stoppable)
            settings = config.fingerprint(*kind, self.stoppable)
            self.module, self.from_cache = compiled(
                self.engine, artifact, cache, settings, lambda shape: check(shape, artifact)
            )
        self._tick = epoch_of(self.engine)
        self.shared_memory_limits = (
            check_imports(shape_of(artifact.wasm), artifact) if artifact.threads else None
        )

    def new_machine(self, shared: SharedMemory | None, memory_cap: int) -> WasmtimeMachine:
        return WasmtimeMachine(
            self.engine, self.module, "the core", shared=shared, memory_cap=memory_cap
        )

    def interrupt(self, ticks: int = 1) -> None:
        """Ends the calls of this engine whose deadline is not further away: those that may be
        interrupted. None does where the code is not `stoppable`."""
        for _ in range(ticks):
            self._tick()

    @property
    def has_clock(self) -> bool:
        """Whether its epoch moves with the time while calls with a deadline run."""
        return self._timed is self

    @property
    def usable(self) -> bool:
        """Whether faults of its guests become traps."""
        return not (self.by_handlers and trap_handlers.lost())

    @property
    def traps(self) -> str:
        """How faults of the code are found."""
        return trap_handlers.HANDLERS if self.by_handlers else trap_handlers.CHECKS

    def checked(self) -> Core:
        """The same build in code that checks its accesses: for untrusted input, which may be made
        to cause faults, and for processes in which other code handles the signals."""
        if not self.by_handlers:
            return self
        if self._quick is not None:
            return self._quick.checked()
        with fork.creation():
            if self._checked is None:
                self._checked = Core(self.artifact, self._cache, checked=True)
            return self._checked

    def with_stops(self) -> Core:
        """The same build in code whose calls can be ended."""
        if self.stoppable:
            return self
        with fork.creation():
            if self._stoppable is None:
                self._stoppable = Core(self.artifact, self._cache, stoppable=True)
                self._stoppable._quick = self
            return self._stoppable

    def with_clock(self) -> Core:
        """The same build on an engine of its own, checked, whose epoch moves with the time. It
        moves for all calls of an engine. Calls without a deadline use another engine, whose epoch
        moves only to end them."""
        if self._timed is None:
            with fork.creation():
                if self._timed is None:
                    timed = Core(self.artifact, self._cache, checked=True)
                    timed._timed = timed
                    ticker.watch(timed._tick, EngineTimer(timed.engine))
                    self._timed = timed
        return self._timed


def compiled(
    engine: Engine,
    artifact: Artifact,
    cache: Cache,
    settings: str,
    check: Callable[[Shape], None],
) -> tuple[Module, bool]:
    """The module, and whether the cache had it; `settings` names what compiled code depends on.
    A module of the cache has passed `check` when it was compiled. No deadline counts the time that
    this takes."""
    with paused():
        return _compiled(engine, artifact, cache, settings, check)


def _compiled(
    engine: Engine,
    artifact: Artifact,
    cache: Cache,
    settings: str,
    check: Callable[[Shape], None],
) -> tuple[Module, bool]:
    key = key_in_cache(artifact, settings)
    ready = cache.load(key)
    if ready is not None:
        with contextlib.closing(ready), contextlib.suppress(WasmtimeError):
            return deserialize(engine, ready), True
        # A miss: the file is of another engine, which the key does not tell.
    # Where the cache is off, another engine of this process may have the module.
    made = _modules.get(key)
    if made is None:
        _log.info("compiling %s for this processor: it takes seconds, once", artifact.name)
        check(shape_of(artifact.wasm))
        made = Module.compile(engine, artifact.wasm)
        _modules[key] = made
        cache.store(key, made.serialize())
        return made, False
    native = made.serialize()
    cache.store(key, native)
    return Module.deserialize(engine, native), False


def key_in_cache(artifact: Artifact, settings: str) -> str:
    return key_of(artifact.identity, version(), settings, processor())


# What this process has compiled and still uses, by the key of the cache.
_modules: Final[WeakValueDictionary[str, Module]] = WeakValueDictionary()


def deserialize(engine: Engine, native: Sealed) -> Module:
    if native.path is not None:
        # Some systems run no code from files that have no name.
        with contextlib.suppress(WasmtimeError):
            return Module.deserialize_file(engine, native.path)
    # The view ends with the call: none may be in use when the memory is given back.
    return Module.deserialize(engine, (ctypes.c_uint8 * len(native.data)).from_buffer(native.data))


def check(shape: Shape, artifact: Artifact) -> None:
    """Refuses a module whose imports or exports are not those of the ABI."""
    check_imports(shape, artifact)
    check_exports(shape, artifact)


def check_imports(shape: Shape, artifact: Artifact) -> MemoryLimits | None:
    """Nothing may be imported, but for the one memory that the workers share: its bounds."""
    imports = shape.imports
    if not artifact.threads and not imports:
        return None
    if artifact.threads and imports.keys() == {"env.memory"}:
        kind = imports["env.memory"]
        if isinstance(kind, MemoryLimits) and kind.is_shared:
            return kind
    names = ", ".join(imports) or "nothing"
    wanted = "one shared memory, env.memory" if artifact.threads else "nothing"
    raise ArtifactError(f"the core build {artifact.name!r} imports {names} instead of {wanted}")


def check_exports(shape: Shape, artifact: Artifact) -> None:
    """The functions are those of the ABI. The calls themselves are unchecked."""
    required = FUNCTIONS.keys() - _OPTIONAL - (set() if artifact.threads else _FOR_WORKERS)
    for name, (parameters, results) in FUNCTIONS.items():
        kind = shape.exports.get(name)
        if isinstance(kind, FunctionType):
            if kind != (["i32"] * parameters, ["i32"] * results):
                raise ArtifactError(
                    f"{name} of the core build {artifact.name!r} has another type than the ABI's"
                )
        elif name in required:
            raise ArtifactError(f"the core build {artifact.name!r} exports no function {name}")
    if not artifact.threads and shape.exports.get("memory") != "memory":
        raise ArtifactError(f"the core build {artifact.name!r} exports no memory")


def version() -> str:
    """Of wasmtime. `importlib.metadata` would say the same, and takes as long to import as the
    compiled core takes to open: so it is asked only where there is not exactly one such folder."""
    start, end = "wasmtime-", ".dist-info"
    with contextlib.suppress(OSError, TypeError):
        names = os.listdir(os.path.dirname(wasmtime.PACKAGE))
        found = [name for name in names if name.startswith(start) and name.endswith(end)]
        if len(found) == 1:
            return found[0].removeprefix(start).removesuffix(end)
    from importlib import metadata

    return metadata.version("wasmtime")


def processor() -> str:
    """What compiled code may depend on: the architecture and the features of the CPU."""
    system = os.uname().sysname if hasattr(os, "uname") else sys.platform
    return f"{system} {wasmtime.cpu_name()} {_features()}"


def _features() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(value.split()))
    # Imported only where it is needed: it takes milliseconds.
    import platform

    return platform.processor()


# By the name of the build, and whether its code is checked.
_opened: dict[tuple[str, bool], Core] = {}
_refused: dict[str, str] = {}


def open_core(build: str | None, *, checked: bool = False) -> Core:
    """The compiled core of a build, or of the one that the environment or the default names."""
    checked = checked or not trap_handlers.wanted()
    name = artifacts.named(build)
    if name is not None:
        return _open(name, checked)
    try:
        return _open(artifacts.DEFAULT, checked)
    except ArtifactError:
        # A CPU without SIMD is the one known reason why wasmtime would not take it.
        if artifacts.DEFAULT not in _refused:
            raise
    return _open(artifacts.WITHOUT_SIMD, checked)


def opened() -> list[Core]:
    """The cores that this process has compiled so far."""
    return list(dict.fromkeys(_opened.values()))


def _open(name: str, checked: bool) -> Core:
    core = _opened.get((name, checked))
    if core is not None:
        return core
    with fork.creation():
        core = _opened.get((name, checked))
        if core is None:
            quick = _opened.get((name, False))
            core = _compile(name, checked) if quick is None else quick.checked()
            if not checked:
                core._checked = _opened.get((name, True))
            _opened[name, checked] = core
        return core


def _compile(name: str, checked: bool) -> Core:
    if name not in _refused:
        artifact = artifacts.read(name)
        try:
            return Core(artifact, Cache.for_user(), checked=checked)
        except WasmtimeError as error:
            _refused[name] = str(error)
    raise ArtifactError(f"wasmtime refuses the core build {name!r}: {_refused[name]}")
