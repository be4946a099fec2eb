"""The processes of a server: one, or several that share an address and a store."""

from __future__ import annotations

import gc
import logging
import os
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing import connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ..._host.linux.priority import keep_off, step_back
from ...errors import InvalidArgument, TokenizerError
from ...tenants.shared_counts import Board, SharedCounts
from ..auth.keys import is_good, is_key, make_key, record_of
from ..config import Config
from ..http.tls import tls_context
from ..observe.error_log import error_log
from ..opening import check_workers, open_service
from ..reload import HANGUP, OwnReload, ProcessReload
from ..store import MEMORY
from .handover_socket import linked
from .heartbeats import SILENT, Heartbeats, Silence, cause_of
from .reloads import Reloads, WorkerReload
from .worker_kind import LONG_STEPS_BACK, WorkerKind

if TYPE_CHECKING:
    import socket
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext, SpawnProcess

    from ..contract import Store
    from ..service import Service
    from .handover_socket import Ends

__all__ = ["give_admin_key", "run", "serve"]

log = logging.getLogger("pywasmtok")

# If workers end sooner than this after their start, so many times in a row, the server ends. While
# another worker serves, each of them is started anew after this time.
_SOON_SECONDS: Final = 5.0
_ATTEMPTS: Final = 5
_LOOK_SECONDS: Final = 0.2
# A worker loads its tokenizers before its first heartbeat.
_START_SECONDS: Final = 300.0
# A thread that runs Python releases the GIL for the event loop after this time. Python's default of
# 5 ms is several times the duration of a short request.
_SWITCH_SECONDS: Final = 0.0002
# Beyond the drain: what a worker may need to write usage and end.
_END_SECONDS: Final = 10.0
# The same, without a drain.
_AT_ONCE_SECONDS: Final = 2.0


def run(
    config: Config,
    *,
    admin_key_file: str | None = None,
    say: Callable[[str, Config], None] = lambda address, config: None,
    read: Callable[[], Config] | None = None,
) -> int:
    """Serves until a signal ends it; the exit code. `read`: reads the configuration again."""
    read = read or (lambda: config)
    check_workers(config)
    tls_context(config.listen)
    listening = _bind(config)
    address = _address(config, listening)
    with ExitStack() as stack:
        stack.enter_context(error_log(sys.stderr))
        stack.callback(listening.close)
        if HANGUP is not None and threading.current_thread() is threading.main_thread():
            # Until the server can read its configuration again, it has just read it.
            stack.callback(signal.signal, HANGUP, signal.signal(HANGUP, signal.SIG_IGN))
        if config.listen.workers + config.listen.long_workers > 1:
            return _run_workers(
                _Said(config, read, admin_key_file), listening, partial(say, address)
            )
        service = open_service(config)
        stack.callback(service.close)
        if admin_key_file is not None:
            give_admin_key(service.store, Path(admin_key_file))
        _look_for_keys(service)
        reload = OwnReload(config, read, _process_reload(service, admin_key_file))
        return serve(service, listening, lambda: say(address, service.config), reload=reload)


def _process_reload(service: Service, admin_key_file: str | None) -> ProcessReload:
    if admin_key_file is None:
        return ProcessReload(service)
    return ProcessReload(service, partial(give_admin_key, service.store, Path(admin_key_file)))


def serve(
    service: Service,
    listening: socket.socket | None,
    say: Callable[[], None] = lambda: None,
    kind: WorkerKind | None = None,
    reload: OwnReload | WorkerReload | None = None,
) -> int:
    """One process, until a signal ends it; the exit code. `listening`: None: connections come from
    other processes."""
    from .. import lifecycle
    from ..app import create_app
    from ..http.options import uvicorn_options

    app, options = create_app(service), uvicorn_options(service.config, kind)
    if kind is not None:
        kind.serve(service)
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Also in HuggingFace's library, a batch of one tenant must not take all processors.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Long-lived objects are moved out of the collector, which would otherwise scan them again and
    # again, for tens of milliseconds each time. The `collector` decides when the rest is collected.
    gc.collect()
    gc.freeze()
    say()
    sockets = [] if listening is None else [listening]
    context = tls_context(service.config.listen)
    if reload is not None:
        service.lifecycle.reload = reload.reload
    return lifecycle.serve(
        app, service.lifecycle, sockets, kind, context=context, reload=reload, **options
    )


def _bind(config: Config) -> socket.socket:
    import socket

    listen = config.listen
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the listening socket names its protocol; uvloop always.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # A server that was just stopped leaves closed connections behind, which hold the port.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((listen.host, listen.port))
        made.listen(2048)
    except (OSError, OverflowError) as error:
        made.close()
        raise InvalidArgument(
            f"cannot listen on {listen.host} port {listen.port}: "
            f"{getattr(error, 'strerror', None) or error}",
            hint="Another --port, or 0 for any that is free",
        ) from None
    made.set_inheritable(True)
    return made


def _address(config: Config, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "http" if config.listen.certificate is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


# Keys of admins.


def give_admin_key(store: Store, path: Path) -> None:
    """Makes the key of the file an admin's; makes both if there is no file."""
    try:
        key = path.read_text(encoding="ascii").strip()
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise InvalidArgument(
                f"{path} may be read by others", hint=f"chmod 600 {path}, or make a new key"
            )
    except FileNotFoundError:
        key = _write_new_key(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"{path} holds no key: {getattr(error, 'strerror', None) or 'it is no text'}"
        ) from None
    if not is_key(key):
        raise InvalidArgument(
            f"{path} holds no key of pywasmtok",
            hint="Delete it, and a new one is written there; keys of your own making are too weak",
        )
    record = record_of(key, None)
    known = store.keys()
    mine = next((one for one in known if one.hash == record.hash), None)
    if mine is not None and is_good(mine):
        return
    if mine is None and not store.was_revoked(record.hash):
        store.put_key(record)
        return
    ended = InvalidArgument(
        f"the key in {path} {'was revoked' if mine is None else 'has expired'}",
        hint="Delete the file, and a new key is written there; or name a file with another key",
    )
    if not any(one.tenant is None and is_good(one) for one in known):
        raise ended
    log.warning("%s: it opens nothing. %s", ended.message, ended.hint)


def _look_for_keys(service: Service) -> None:
    config = service.config
    if not config.needs_keys or any(map(is_good, service.store.keys())):
        return
    how = "--admin-key-file FILE makes an admin's"
    if config.storage.path != MEMORY:
        how += f", `pywasmtok tenants add NAME --store {config.storage.path}` one of a tenant"
    log.warning("requests need a key and there is none, so each is refused with 401: %s", how)


def _write_new_key(path: Path) -> str:
    key, _ = make_key(None)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be written: {error.strerror}") from None
    with os.fdopen(file, "w", encoding="ascii") as stream:
        stream.write(f"{key}\n")
    return key


# Several processes.


class _Said(NamedTuple):
    """What the operator says."""

    config: Config
    read: Callable[[], Config]
    """Reads the configuration again."""
    admin_key_file: str | None
    needs_keys: bool = False
    """The store at the start may have decided it. Later workers have it as the first ones do."""


def _run_workers(said: _Said, listening: socket.socket, say: Callable[[Config], None]) -> int:
    """Workers are spawned and not forked: a fork of a process that has compiled cannot compile.
    What they share is the address, the store and, through the snapshots, the memory of tables."""
    import multiprocessing

    # Reads and compiles once what all of them map.
    config = msgspec.structs.replace(said.config, logs=_without_log(said.config))
    service = open_service(config)
    try:
        if said.admin_key_file is not None:
            give_admin_key(service.store, Path(said.admin_key_file))
        _look_for_keys(service)
    finally:
        service.close()
    said = said._replace(needs_keys=service.config.needs_keys)
    with ExitStack() as stack:
        siblings = None
        try:
            siblings = stack.enter_context(tempfile.TemporaryDirectory(prefix="pywasmtok-"))
        except OSError as error:
            log.warning("no folder for numbers, so each worker has its own only: %s", error)
        context = multiprocessing.get_context("spawn")
        shown = partial(say, service.config)
        return _Supervisor(context, said, listening, siblings, shown).run()


def _without_log(config: Config) -> Any:
    return msgspec.structs.replace(config.logs, access=False)


class _Shared(NamedTuple):
    """What a worker has in common with the others."""

    siblings: str | None
    """The folder of numbers; None: there is no room for one."""
    ends: Ends | None
    """To the workers of the other kind."""
    heartbeats: Heartbeats
    board: Board | None
    """Of what tenants hold of their limits; None: each worker counts its own."""
    admin_key_file: str | None


class _Slot:
    """A place for one worker process, and for those that replace it."""

    def __init__(self, number: int, long: bool) -> None:
        self.number = number
        self.long = long
        self.process: SpawnProcess | None = None
        self.connection: Connection[Any, Any] | None = None
        self.began = 0.0
        self.silence = Silence()
        self.killed = False

    def __str__(self) -> str:
        assert self.process is not None
        kind = "long worker" if self.long else "worker"
        return f"{kind} {self.number} (process {self.process.pid})"


class _Supervisor:
    def __init__(
        self,
        context: SpawnContext,
        said: _Said,
        listening: socket.socket,
        siblings: str | None,
        say: Callable[[], None],
    ) -> None:
        self._context = context
        self._admin_key_file = said.admin_key_file
        self._needs_keys = said.needs_keys
        self._listening = listening
        self._siblings = siblings
        self._say = say
        listen = said.config.listen
        kinds = [False] * listen.workers + [True] * listen.long_workers
        self._slots = [_Slot(number, long) for number, long in enumerate(kinds)]
        self._reloads = Reloads(said.read, said.config, self._slots)
        self._heartbeats = Heartbeats(context, len(kinds))
        self._board = None
        if siblings is not None and os.name == "posix":
            self._board = Board(context.RawArray, len(kinds), Path(siblings) / "limits")
        # Of those that take short requests, and of those that take long ones.
        self._ends: tuple[Ends | None, Ends | None]
        self._ends = linked() if listen.long_workers else (None, None)
        self._ended = threading.Event()
        self._signals = 0
        # Workers in a row that ended as soon as they began.
        self._quick = 0
        self._failing = False

    def run(self) -> int:
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        for number in before:
            signal.signal(number, self._signal)
        if HANGUP is not None:
            signal.signal(HANGUP, self._hang_up)
        self._reloads.start()
        try:
            for slot in self._slots:
                self._spawn(slot)
            self._say()
            while not self._ended.wait(_LOOK_SECONDS):
                for slot in self._slots:
                    self._look(slot)
                if self._quick >= _ATTEMPTS and not self._is_serving():
                    print("pywasmtok: workers end as soon as they begin", file=sys.stderr)
                    return 3
        finally:
            codes = self._end([slot.process for slot in self._slots if slot.process is not None])
            for end in (end for ends in self._ends if ends is not None for end in ends):
                end.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        return max(codes, default=0)

    def _is_serving(self) -> bool:
        """A worker that takes connections has begun to serve, and has not ended."""
        return any(self._heartbeats.last(slot.number) for slot in self._slots if not slot.long)

    def _hang_up(self, *_: object) -> None:
        self._reloads.asked = True

    def _signal(self, *_: object) -> None:
        # A signal handler, which may run between any two instructions: it does only what cannot
        # wait.
        self._signals += 1
        self._ended.set()

    def _look(self, slot: _Slot) -> None:
        worker = slot.process
        if worker is not None and worker.is_alive():
            self._listen(slot, worker)
            return
        if worker is not None:
            reason, said = cause_of(worker.exitcode or 0)
            if self._board is not None:
                self._board.clear(slot.number)
            self._heartbeats.restarted(slot.number, SILENT if slot.killed else reason)
            log.warning("%s %s; another one takes its place", slot, said)
            soon = time.monotonic() - slot.began < _SOON_SECONDS and not slot.killed
            self._quick = self._quick + 1 if soon else 0
            slot.process = None
        if self._quick >= _ATTEMPTS and time.monotonic() - slot.began < _SOON_SECONDS:
            return
        try:
            self._spawn(slot)
        except (OSError, TokenizerError) as error:
            # Such as without descriptors or memory, or while the files of a certificate are
            # damaged: the other workers serve meanwhile.
            if not self._failing:
                log.error("no process for a worker: %s; the server tries again", error)
            self._failing = True

    def _listen(self, slot: _Slot, worker: SpawnProcess) -> None:
        bound = self._reloads.config.listen.heartbeat_seconds
        last = self._heartbeats.last(slot.number)
        slot.silence.look(last)
        if slot.killed or not bound or slot.silence.seconds < (bound if last else _START_SECONDS):
            return
        log.error("%s is silent for %.0f seconds: it is killed", slot, slot.silence.seconds)
        slot.killed = True
        # Not waited for: a process may be stuck in the kernel.
        worker.kill()

    def _spawn(self, slot: _Slot) -> None:
        tls_context(self._reloads.config.listen)
        listening = None if slot.long else self._listening
        shared = _Shared(
            self._siblings,
            self._ends[slot.long],
            self._heartbeats,
            self._board,
            self._admin_key_file,
        )
        mine, its = self._context.Pipe()
        # Closed here once the worker has it, so that each end notices the end of the other.
        with its:
            # Before the configuration is read: a reload sends another one to this worker, too.
            slot.connection = mine
            config = {**msgspec.to_builtins(self._reloads.config), "identity": self._needs_keys}
            worker = self._context.Process(
                target=_worker, args=(config, listening, slot.number, shared, its)
            )
            worker.start()
        slot.process, slot.began, slot.killed = worker, time.monotonic(), False
        slot.silence = Silence()
        self._failing = False

    def _end(self, workers: list[SpawnProcess]) -> list[int]:
        # Once no worker listens, connections are refused: here they would wait for ever.
        self._listening.close()
        for worker in workers:
            worker.terminate()
        end = time.monotonic() + self._reloads.config.listen.drain_seconds + _END_SECONDS
        is_draining = True
        while (alive := [one for one in workers if one.is_alive()]) and time.monotonic() < end:
            connection.wait([worker.sentinel for worker in alive], _LOOK_SECONDS)
            if is_draining and self._signals > 1:
                is_draining, end = False, time.monotonic() + _AT_ONCE_SECONDS
                for worker in alive:
                    _end_at_once(worker)
        for worker in workers:
            if worker.is_alive():
                worker.kill()
            worker.join()
        # A worker that had not begun to serve ends by the signal itself: that is no failure.
        codes = [worker.exitcode or 0 for worker in workers]
        return [0 if code == -signal.SIGTERM else abs(code) for code in codes]


def _end_at_once(worker: SpawnProcess) -> None:
    """A second SIGTERM would not do: a service manager may have sent the first one to all."""
    with suppress(OSError):
        if os.name == "posix" and worker.is_alive() and worker.pid is not None:
            os.kill(worker.pid, signal.SIGINT)


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _worker(
    config: dict[str, Any],
    listening: socket.socket | None,
    number: int,
    shared: _Shared,
    to_supervisor: Connection[Any, Any],
) -> None:
    """`listening`: None: this one takes what is long."""
    if HANGUP is not None:
        # The supervisor reads the configuration.
        signal.signal(HANGUP, signal.SIG_IGN)
    ends, heartbeats = shared.ends, shared.heartbeats
    # Ctrl-C goes to all processes of a group; here the supervisor says when to end, or its end.
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kind = None if ends is None else WorkerKind(listening is None, ends)
    if listening is None:
        # Threads inherit the priority of the thread that starts them.
        step_back(LONG_STEPS_BACK, gives_way=True)
        keep_off(config["listen"]["workers"])
    siblings = None if shared.siblings is None else Path(shared.siblings)
    counts = None if shared.board is None else SharedCounts(shared.board, number)
    with error_log(sys.stderr):
        try:
            said = msgspec.convert(config, Config)
            # The supervisor has read the files at the start, and a reload reads them again.
            service = open_service(said, siblings=siblings, counts=counts, from_store=True)
        except TokenizerError as error:
            print(f"pywasmtok: {error.kind}: {error}", file=sys.stderr)
            sys.exit(3)
        service.lifecycle.heartbeats = service.metrics.heartbeats = heartbeats
        service.lifecycle.beat = partial(heartbeats.beat, number)
        try:
            reload = WorkerReload(to_supervisor, _process_reload(service, shared.admin_key_file))
            code = serve(service, listening, kind=kind, reload=reload)
        finally:
            service.close()
    sys.exit(code)
