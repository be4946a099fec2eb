"""From a configuration to a service that can answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ..errors import InvalidArgument, TokenizerError
from .config import Config
from .service import Service
from .store import MEMORY, open_store
from .workers.handover_socket import is_possible

if TYPE_CHECKING:
    from .._host.snapshots.store import SnapshotStore
    from ..tenants.counts import Counts
    from ..tenants.pool import TenantPool
    from .observe.metrics import ServerMetrics
    from .scheduling.executor import ThreadWork

__all__ = ["DEMO", "check_workers", "memory_of", "open_service", "snapshots_of", "stored"]

_log = logging.getLogger("pywasmtok")

DEMO: Final = "builtin:demo"

# Of the memory that the system gives, for all workers. The rest is for the interpreters, received
# bodies, calls, and what the system keeps of files.
_SHARE_OF_MEMORY: Final = 0.5
# Where the system does not say how much there is.
_UNKNOWN_MEMORY: Final = 4 << 30


def open_service(
    config: Config,
    *,
    siblings: Path | None = None,
    counts: Counts | None = None,
    from_store: bool = False,
) -> Service:
    """Ready: all code is compiled, and the tokenizers of the configuration are there. `siblings`: a
    folder in which the workers of one server find each other's numbers. `counts`: what tenants hold
    of their limits in all of them. `from_store`: names of the configuration have the tokenizers
    that the store has for them, and their files are not read."""
    from .._host.linux.private_memory import anonymous_bytes
    from .._host.prepared import prepare
    from ..tenants.pool import TenantPool
    from .observe.metrics import ServerMetrics
    from .scheduling.executor import ThreadWork

    prepare(_say)
    bounds = config.bounds
    # The half of the memory that is not the bound's is for the interpreter and the engine.
    at_start = anonymous_bytes() or 0
    with ExitStack() as undo:
        store = open_store(config.storage.path)
        undo.callback(store.close)
        if config.identity is None and not config.needs_keys and store.keys():
            # The store has keys, so requests need one.
            config = msgspec.structs.replace(config, identity=True)
        pool = TenantPool(
            snapshots_of(config),
            max_memory=memory_of(config),
            idle_seconds=bounds.idle_seconds,
            process_memory=lambda: (anonymous_bytes() or 0) - at_start,
            counts=counts,
        )
        undo.callback(pool.close)
        metrics = ServerMetrics(config.metrics, secret=store.secret("metrics"), folder=siblings)
        undo.callback(metrics.close)
        work = ThreadWork(bounds.threads, bounds.queued, pool.counts)
        undo.callback(work.close)
        log = None
        if config.logs.access:
            from .observe.access_log import AccessLog

            log = AccessLog(sys.stderr, label=metrics.label)
        service = Service(
            config, store, pool, work, metrics=metrics, access_log=log, counts=pool.counts
        )
        undo.pop_all()
    try:
        _show_numbers(metrics, pool, work)
        if from_store:
            _load(service)
        else:
            service.name(stored(service, service.config))
        service.start()
        service.lifecycle.now_ready()
    except BaseException:
        service.close()
        raise
    return service


def _say(text: str) -> None:
    # The log may be a file on a full disk.
    with suppress(OSError):
        print(f"pywasmtok: {text}", file=sys.stderr, flush=True)


def snapshots_of(config: Config) -> SnapshotStore | Literal[False]:
    from .._host.snapshots.store import SnapshotStore

    storage = config.storage
    folder = None if storage.snapshots is None else Path(storage.snapshots)
    if folder is None and storage.path != MEMORY:
        folder = Path(storage.path) / "snapshots"
    if folder is None:
        return SnapshotStore.for_user() or False
    return SnapshotStore(folder, storage.snapshot_bytes)


def memory_of(config: Config, root: Path = Path("/")) -> int:
    """The memory that one worker has for tenants, in bytes."""
    from .._host.linux.memory_limit import limit

    if config.bounds.memory:
        return config.bounds.memory
    there_is = limit(root)
    if there_is is None:
        return _UNKNOWN_MEMORY
    workers = config.listen.workers + config.listen.long_workers
    return int(there_is * _SHARE_OF_MEMORY) // workers


def check_workers(config: Config) -> None:
    listen = config.listen
    processes = listen.workers + listen.long_workers
    if processes > 1 and config.storage.path == MEMORY:
        raise InvalidArgument(
            f"{processes} workers cannot share a store in memory",
            hint="Give them a folder: --store PATH",
        )
    if not listen.long_workers:
        return
    if not is_possible():
        raise InvalidArgument(
            "connections can be handed from one process to another on Linux only",
            hint="Leave long-workers out; --workers N serves long and short requests alike",
        )
    if listen.certificate is not None:
        raise InvalidArgument(
            "a connection with TLS cannot be handed from one process to another",
            hint="Leave TLS to a proxy on this machine, or long-workers out",
        )


def stored(service: Service, config: Config) -> dict[str, str]:
    """Reads and stores the tokenizers of a configuration, and answers their digests by the names
    that it gives them. Without configuration and stored files, the server offers the tokenizer of
    the package."""
    from ..tenants.options import read_source

    if not config.tokenizers and config.storage.path == MEMORY:
        config = msgspec.structs.replace(config, tokenizers={"demo": DEMO})
    found: dict[str, str] = {}
    for name in config.tokenizers:
        said, encoder = config.source_of(name)
        try:
            data, options = read_source(said.source, **said.how_to_read)
            found[name] = service.stored(name, data, options, encoder, keep=found.values())
        except TokenizerError as error:
            error.source = f"{name}={said.source}"
            raise
    return found


def _load(service: Service) -> None:
    """What the store has by the names of the configuration. Requests for one that cannot be loaded
    are refused; the others are served."""
    for name in service.config.tokenizers:
        _, encoder = service.config.source_of(name)
        try:
            service.load(name, encoder)
        except (KeyError, TokenizerError) as error:
            _log.warning("%s is not loaded: %s", name, error)


def _show_numbers(metrics: ServerMetrics, pool: TenantPool, work: ThreadWork) -> None:
    """Gauges of what each worker has for itself: those of several workers are summed."""
    from .._host.linux.private_memory import anonymous_bytes

    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        "queued": ("Calls that wait for their turn", lambda: work.numbers().queued),
        "running": ("Calls into sandboxes now", lambda: work.numbers().running),
        "instances": ("Instances of sandboxes", lambda: pool.usage()[0]),
        "memory_bytes": ("Memory of instances that is not shared", lambda: pool.usage()[1]),
        "anonymous_bytes": ("Memory of the process in no file", lambda: anonymous_bytes() or 0),
        "reserved_bytes": ("Memory reserved for files being read", lambda: pool.loads.reserved),
    }
    for name, (about, value) in gauges.items():
        metrics.gauge(name, about, value)
    metrics.tenant_memory = pool.memory
