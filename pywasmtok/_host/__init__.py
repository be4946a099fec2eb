"""The WebAssembly host: the only code of this package that knows wasmtime.

Importing it loads nothing heavy; wasmtime comes with the first tokenizer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from ..errors import HostUnsupported, TokenizerError
from .calls.tokenizer import Bounds, CoreTokenizer, parsed, parsed_names
from .wasm import abi, artifacts

if TYPE_CHECKING:
    from ..loading.sources.lazy import LazyFile
    from .calls.full_encoding import FullEncoding
    from .snapshots.store import Store
    from .wasm.instance import Instance

    # Where to look for the memory of an earlier load.
    Snapshots: TypeAlias = Store | Literal[False] | None

__all__ = [
    "CoreTokenizer",
    "FullEncoding",
    "builds",
    "convert",
    "describe",
    "detect",
    "extent",
    "fingerprint",
    "load_tokenizer",
]

# What a file is shows in its first bytes; it need not cross into the sandbox whole.
_DETECT_BYTES: Final = 64 * 1024


def load_tokenizer(
    data: bytes | LazyFile,
    *,
    build: str | None = None,
    source: str | None = None,
    options: bytes = b"",
    threads: int | None = None,
    snapshots: Snapshots = None,
    deadline: float | None = None,
    memory: int | None = None,
) -> CoreTokenizer:
    """Reads a tokenizer file inside the sandbox; `source` names it in errors. `options` is the
    JSON object that docs/abi.md describes, or nothing. `threads` are for large inputs. `snapshots`
    is the store in which the result is looked for and kept: the user's (None), another one, or
    none (False). `deadline` and `memory` bound loading and each later call."""
    refuse_subinterpreter()
    from .snapshots.store import SnapshotStore
    from .wasm import core

    store: Store | None = SnapshotStore.for_user() if snapshots is None else snapshots or None
    bounded = deadline is not None or memory is not None or (store and store.owner) is not None
    return load_with(
        core.open_core(build, checked=bounded),
        data,
        source,
        options,
        threads=threads,
        store=store,
        deadline=deadline,
        memory=memory,
    )


def load_with(
    core: Any,
    data: bytes | LazyFile,
    source: str | None = None,
    options: bytes = b"",
    *,
    threads: int | None = None,
    store: Store | None = None,
    deadline: float | None = None,
    memory: int | None = None,
) -> CoreTokenizer:
    """The same with a core that is already open."""
    from .calls.cloning import ImageSource
    from .calls.deadline import within
    from .calls.pool import Pool
    from .calls.workers import SharedSource, no_bounds_here
    from .linux import thread_stack

    thread_stack.require_once()
    owner = None if store is None else store.owner
    bounded = deadline is not None or memory is not None or owner is not None
    try:
        if core.threads:
            if bounded:
                raise no_bounds_here()
            shared = SharedSource(core, bytes(data), options)
            return CoreTokenizer(Pool(shared), core.name, threads)
        if bounded:
            core = core.checked()
        if deadline is not None or owner is not None:
            core = core.with_clock()
        with within(deadline if owner is None else owner.load_deadline):
            made = ImageSource(core, data, options, store, memory)
        pool, bounds = Pool(made, made.most_instances), Bounds(deadline) if bounded else None
        tok = CoreTokenizer(pool, core.name, threads, made.from_snapshot, bounds=bounds)
        tok.about, tok.image = made.about, made.image
        return tok
    except TokenizerError as error:
        error.source = source
        raise


def detect(data: bytes, *, build: str | None = None) -> dict[str, Any]:
    """What the first bytes of a file say that it is."""
    start = bytes(data[:_DETECT_BYTES])
    return parsed(_alone(build, lambda one: one.detect(start)))


def convert(
    data: bytes, options: bytes = b"", *, build: str | None = None
) -> tuple[bytes, list[str]]:
    """The file as a tokenizer.json that HuggingFace loads, and the names of what gives other
    results there than here. `options` as in `load_tokenizer`."""
    file, differences = _alone(build, lambda one: one.convert(bytes(data), options))
    return file, parsed_names(differences)


def fingerprint(data: bytes, options: bytes = b"", *, build: str | None = None) -> tuple[str, str]:
    """What the file is for encoding, and for decoding, as hashes; see docs/hashes.md."""
    answer = parsed(_alone(build, lambda one: one.fingerprint(bytes(data), options)))
    return str(answer["fingerprint"]), str(answer["decoding"])


def extent(prefix: bytes, *, build: str | None = None) -> dict[str, Any]:
    """How much of a file its reader needs, judged by its first bytes.

    With `complete`, its first `bytes` bytes (None: all of it); otherwise at least `bytes` bytes of
    it are needed to say more, or all if it is shorter. A file of model weights is gigabytes, its
    tokenizer the first few megabytes of them.
    """
    return parsed(_alone(build, lambda one: one.extent(bytes(prefix))))


def _alone(build: str | None, work: Callable[[Instance], Any]) -> Any:
    """A call in an instance of its own, within the deadline of this thread. Untrusted files are
    read by a build that shares no memory, whichever build serves the tokenizers."""
    refuse_subinterpreter()
    from .calls.deadline import current
    from .linux import thread_stack
    from .wasm import core
    from .wasm.instance import Instance
    from .wasm.status import Interrupted

    thread_stack.require()
    shared = artifacts.named(build) == artifacts.SHARED
    end = current()
    opened = core.open_core(artifacts.DEFAULT if shared else build, checked=end is not None)
    instance = Instance(opened if end is None else opened.with_clock())
    instance.open_session()
    if end is None:
        return work(instance)
    try:
        return instance.interruptible(work, end.check())
    except Interrupted:
        raise end.passed() from None


def builds() -> list[str]:
    """Names of the core builds that came with the package."""
    return sorted(artifacts.locked())


def describe() -> dict[str, Any]:
    """What runs here and how: for `doctor` and for bug reports."""
    refuse_subinterpreter()
    from importlib.metadata import version

    from .calls.pool import default_limit
    from .linux import processors, thread_stack, trap_handlers
    from .snapshots.store import SnapshotStore
    from .template import core as template_core
    from .wasm import config, core
    from .wasm.cache import Cache

    cache = Cache.for_user()
    store = SnapshotStore.for_user()
    opened = core.opened()
    return {
        "abi": abi.ABI_VERSION,
        "build": artifacts.named(None) or artifacts.DEFAULT,
        "builds": artifacts.locked(),
        "opened": {
            one.name: {
                "sha256": one.artifact.sha256,
                "about": one.artifact.described(),
                # By how its faults are found.
                "from_cache": {
                    other.traps: other.from_cache for other in opened if other.name == one.name
                },
            }
            for one in opened
        },
        # By the bytes of stack that each may use.
        "renderers": {size: one.about for size, one in template_core.opened()},
        "wasmtime": version("wasmtime"),
        "engine": config.settings(threads=False, by_handlers=trap_handlers.wanted()),
        "traps": trap_handlers.HANDLERS if trap_handlers.wanted() else trap_handlers.CHECKS,
        "memory_cap": config.MEMORY_CAP,
        "processor": core.processor(),
        "cache": None if cache.directory is None else str(cache.directory),
        "cache_off_because": cache.reason,
        "snapshots": "off" if store is None else store.describe(),
        "instances_per_tokenizer": default_limit(),
        "threads": processors.usable(),
        "stack_of_this_thread": thread_stack.stack_size(),
        "stack_needed": thread_stack.NEEDED,
    }


def refuse_subinterpreter() -> None:
    """wasmtime-py computes in a subinterpreter, and then keeps the process from ever ending."""
    current = ctypes.pythonapi.PyInterpreterState_Get
    main = ctypes.pythonapi.PyInterpreterState_Main
    current.restype = main.restype = ctypes.c_void_p
    if current() != main():
        raise HostUnsupported(
            "the WebAssembly host does not run in a subinterpreter",
            hint="Use it in the main interpreter, or in another process",
        )


def __getattr__(name: str) -> Any:
    if name == "FullEncoding":
        from .calls.full_encoding import FullEncoding

        return FullEncoding
    raise AttributeError(name)
