"""A configuration that is read again: what of it is used at once, and what needs a restart."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ..errors import TokenizerError
from ..tenants.limits import TenantLimits
from .config import Config
from .errors import Conflict
from .http.tls import tls_context
from .limits import changed
from .opening import stored

if TYPE_CHECKING:
    import ssl

    from .service import Service

__all__ = ["HANGUP", "OwnReload", "Problem", "ProcessReload", "Reloaded", "Show", "kept", "merged"]

log = logging.getLogger("pywasmtok")

HANGUP: Final[Any] = getattr(signal, "SIGHUP", None)

_CERTIFICATE: Final = ("listen.certificate", "listen.private-key")

_AT_ONCE: Final = frozenset(
    {
        *_CERTIFICATE,
        "listen.drain-seconds",
        "listen.heartbeat-seconds",
        "bounds.upload-bytes",
        "bounds.body-seconds",
        "bounds.body-bytes-per-second",
        "bounds.header-bytes",
        "bounds.header-seconds",
        "bounds.handshake-seconds",
        "bounds.connections",
        "bounds.connections-per-address",
        "bounds.json-depth",
        "streams.message-bytes",
        "streams.messages-per-second",
        "streams.idle-seconds",
        "tokenizers",
        "limits",
    }
)

# Their keys are the operator's.
_WHOLE: Final = ("tokenizers", "limits")

Show = Callable[[Config, "ssl.SSLContext | None"], None]


class Reloaded(NamedTuple):
    changed: list[str]
    """Settings that are used from now on."""
    restart: list[str]
    """Settings that differ, too, and are used after a restart."""

    def __str__(self) -> str:
        said = f"the configuration was read again; changed: {', '.join(self.changed) or 'nothing'}"
        return said + (f"; after a restart: {', '.join(self.restart)}" if self.restart else "")


class Problem(NamedTuple):
    """Why a configuration is not used."""

    message: str
    hint: str | None = None

    @classmethod
    def of(cls, error: Exception) -> Problem:
        if isinstance(error, TokenizerError):
            return cls(str(error), error.hint)
        return cls(f"{type(error).__name__}: {error}")


def kept(problem: Problem) -> Conflict:
    """Logs the problem; the error for the caller."""
    error = Conflict(f"the old configuration stays: {problem.message}", hint=problem.hint)
    log.error("%s", error.message)
    return error


def merged(old: Config, new: Config) -> tuple[Config, Reloaded]:
    """The old configuration with the settings of the new one that need no restart."""
    before, said = msgspec.to_builtins(old), msgspec.to_builtins(new)
    later = set(_CERTIFICATE)
    if (old.listen.certificate is None) == (new.listen.certificate is None):
        later.clear()
    found = Reloaded([], [])
    for table, name in _settings(said):
        here, there = (before, said) if table is None else (before[table], said[table])
        if here[name] == there[name]:
            continue
        setting = name if table is None else f"{table}.{name}"
        if setting in _AT_ONCE and setting not in later:
            here[name] = there[name]
            found.changed.append(setting)
        else:
            found.restart.append(setting)
    return msgspec.convert(before, Config), found


def _settings(config: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    for name, value in config.items():
        if isinstance(value, dict) and name not in _WHOLE:
            yield from ((name, one) for one in value)
        else:
            yield None, name


class ProcessReload:
    """Lets one process use another configuration."""

    def __init__(self, service: Service, give_key: Callable[[], None] | None = None) -> None:
        """`give_key` reads the file of the admin's key again."""
        self._service = service
        self._give_key = give_key
        self._one_at_a_time = asyncio.Lock()
        self.show: Show = lambda config, context: None
        """Called with what the open port has to know."""

    async def apply(self, config: Config) -> None:
        """TokenizerError: the process goes on with its old configuration."""
        async with self._one_at_a_time:
            context = await asyncio.to_thread(self._prepared, config)
            self._service.reconfigure(config)
            self.show(config, context)

    def _prepared(self, config: Config) -> ssl.SSLContext | None:
        """What can fail comes before what requests can see."""
        context = tls_context(config.listen)
        changed(TenantLimits(), config.limits)
        names = stored(self._service, config)
        if self._give_key is not None:
            self._give_key()
        self._service.name(names)
        return context


class OwnReload:
    """Of a server of one process."""

    def __init__(self, config: Config, read: Callable[[], Config], process: ProcessReload) -> None:
        self._config = config
        self._read = read
        self._process = process
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, show: Show) -> None:
        self._process.show = show
        if HANGUP is not None:
            asyncio.get_running_loop().add_signal_handler(HANGUP, self._asked)

    def stop(self) -> None:
        if HANGUP is not None:
            asyncio.get_running_loop().remove_signal_handler(HANGUP)
            signal.signal(HANGUP, signal.SIG_IGN)

    async def reload(self) -> Reloaded:
        """Conflict: the old configuration stays."""
        try:
            new = await asyncio.to_thread(self._read)
            config, found = merged(self._config, new)
            await self._process.apply(config)
        except Exception as error:
            raise kept(Problem.of(error)) from None
        self._config = config
        log.warning("%s", found)
        return found

    def _asked(self) -> None:
        task = asyncio.get_running_loop().create_task(self._for_signal())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _for_signal(self) -> None:
        try:
            await self.reload()
        except Conflict:
            # It is in the log.
            return
