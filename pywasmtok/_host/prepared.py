"""Compiling before the first call, outside all deadlines: it takes seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .template import core as template_core
from .wasm import artifacts, config, core, fork
from .wasm.artifacts import Artifact
from .wasm.cache import Cache
from .wasm.wasm_file import Shape
from .wasm.wasmtime_objects import Module

__all__ = ["prepare"]

Check = Callable[[Shape], None]


def prepare(say: Callable[[str], None]) -> None:
    """Opens the code in which files, texts and templates of tenants run. What this machine has not
    compiled before is compiled in parallel; `say` is told when, and how long it took."""
    build = artifacts.named(None)
    if build == artifacts.SHARED:
        build = artifacts.DEFAULT
    artifact = artifacts.read(build or artifacts.DEFAULT)
    parts: list[tuple[Artifact, Check]] = [
        (artifact, lambda shape: core.check(shape, artifact)),
        (artifacts.read_template(), template_core.check),
    ]
    cache = Cache.for_user()
    # How code that checks its accesses is compiled.
    settings = config.fingerprint(False, False, deadlines=True)
    # A fork waits for all of this: in a child the compiling threads would be missing.
    with fork.creation():
        missing = [part for part in parts if not cache.has(core.key_in_cache(part[0], settings))]
        if missing:
            began = time.monotonic()
            say(f"compiling {' and '.join(part.name for part, _ in missing)} for this processor")
            # Held until the cores below are open: without a cache they come from here.
            modules = _compile(missing, cache, settings)
            took = time.monotonic() - began
            say(f"compiled {len(modules)} in {took:.1f} s; {_kept(cache)}")
        core.open_core(build, checked=True).with_clock()
        template_core.open_template_core(template_core.stack_of_thread(), checked=True)


def _compile(parts: list[tuple[Artifact, Check]], cache: Cache, settings: str) -> list[Module]:
    modules: list[Module] = []

    def compile_one(artifact: Artifact, check: Check) -> None:
        # Opening it says what is wrong, or takes another build.
        with suppress(Exception):
            engine = config.new_engine(False, False, deadlines=True)
            modules.append(core.compiled(engine, artifact, cache, settings, check)[0])

    threads = [threading.Thread(target=compile_one, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return modules


def _kept(cache: Cache) -> str:
    if cache.directory is None:
        return f"not kept for later processes: {cache.reason}"
    return f"kept in {cache.directory}"
