"""How several workers get a new configuration: the supervisor reads it and sends it to each.

The first worker tries it. If it cannot use it, no other worker gets it, and the old configuration
stays. After that one, a worker that cannot use it is a warning. A worker passes the request
of an admin to the supervisor, and waits for its answer.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from ..config import Config
from ..reload import Problem, ProcessReload, Reloaded, Show, kept, log, merged

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Reloads", "WorkerReload"]

_LOOK_SECONDS: Final = 0.2
# A worker may read large files.
_MOST_SECONDS: Final = 300.0

# Messages: a kind, a number that the answer repeats, and the content.
_APPLY: Final = "apply"
_DONE: Final = "done"
_ASK: Final = "ask"
_ANSWER: Final = "answer"


class _Slot(Protocol):
    connection: Connection[Any, Any] | None
    """To the process that is there now, or ended. Replaced by the supervisor's own thread only,
    before that reads `Reloads.config` for the new process."""


class Reloads:
    """The supervisor's part, in a thread of its own."""

    def __init__(
        self,
        read: Callable[[], Config],
        config: Config,
        slots: Sequence[_Slot],
    ) -> None:
        self.config = config
        """With which new workers begin."""
        self.asked = False
        """Set by a handler of signals."""
        self._read = read
        self._slots = slots
        self._number = 0
        self._requests: list[tuple[Connection[Any, Any], int]] = []

    def start(self) -> None:
        threading.Thread(target=self._run, name="pywasmtok-reloads", daemon=True).start()

    def _run(self) -> None:
        while True:
            open = self._open()
            if not open:
                time.sleep(_LOOK_SECONDS)
            received: list[Any] = connection.wait(open, _LOOK_SECONDS) if open else []
            for one in received:
                if self._received(one) is None:
                    one.close()
            if self.asked or self._requests:
                self.asked = False
                requests, self._requests = self._requests, []
                answer = self._reloaded()
                for one, number in requests:
                    with suppress(OSError):
                        one.send((_ANSWER, number, answer))

    def _open(self) -> list[Any]:
        """Connections to workers that have not ended."""
        found = [slot.connection for slot in self._slots]
        return [one for one in found if one is not None and not one.closed]

    def _received(self, one: Any) -> tuple[str, int, Any] | None:
        """None: the worker has ended."""
        try:
            message: tuple[str, int, Any] = one.recv()
        except (EOFError, OSError):
            return None
        if message[0] == _ASK:
            self._requests.append((one, message[1]))
        return message

    def _reloaded(self) -> tuple[Reloaded, Problem | None]:
        found = Reloaded([], [])
        try:
            config, found = merged(self.config, self._read())
            problem = self._used_by_all(config)
        except Exception as error:
            problem = Problem.of(error)
        if problem is None:
            log.warning("%s", found)
        else:
            kept(problem)
        return found, problem

    def _used_by_all(self, config: Config) -> Problem | None:
        content = msgspec.to_builtins(config)
        asked: list[Any] = []
        while True:
            one = next((one for one in self._open() if one not in asked), None)
            if one is None and self.config is config:
                return None
            asked.append(one)
            problem = None if one is None else self._used_by(one, content)
            if problem is None:
                # Workers that begin after this have it. One that began before is asked next: its
                # connection was there before it read `config`.
                self.config = config
            elif self.config is not config:
                return problem
            else:
                log.warning("a worker keeps the old configuration: %s", problem.message)

    def _used_by(self, one: Any, content: Any) -> Problem | None:
        self._number += 1
        end = time.monotonic() + _MOST_SECONDS
        with suppress(OSError):
            one.send((_APPLY, self._number, content))
        while time.monotonic() < end:
            if not one.poll(_LOOK_SECONDS):
                continue
            message = self._received(one)
            if message is None:
                return Problem("a worker ended while it read the configuration")
            if message[:2] == (_DONE, self._number):
                found: Problem | None = message[2]
                return found
        return Problem(f"a worker has not used it within {_MOST_SECONDS:.0f} seconds")


class WorkerReload:
    """A worker's part."""

    def __init__(self, to_supervisor: Connection[Any, Any], process: ProcessReload) -> None:
        self._connection = to_supervisor
        self._process = process
        self._number = 0
        self._waiting: dict[int, asyncio.Future[tuple[Reloaded, Problem | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, show: Show) -> None:
        self._process.show = show
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()

    def stop(self) -> None:
        """The supervisor sees the end of the process."""

    async def reload(self) -> Reloaded:
        """Conflict: the old configuration stays."""
        self._number += 1
        number = self._number
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._connection.send((_ASK, number, None))
        try:
            found, problem = await self._waiting[number]
        finally:
            del self._waiting[number]
        if problem is not None:
            raise kept(problem)
        return found

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        # Ends with the supervisor, or with the event loop.
        with suppress(EOFError, OSError, RuntimeError):
            while True:
                loop.call_soon_threadsafe(self._received, *self._connection.recv())

    def _received(self, kind: str, number: int, content: Any) -> None:
        if kind == _APPLY:
            task = asyncio.get_running_loop().create_task(self._apply(number, content))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif number in self._waiting and not self._waiting[number].done():
            self._waiting[number].set_result(content)

    async def _apply(self, number: int, content: Any) -> None:
        problem: Problem | None = None
        try:
            await self._process.apply(msgspec.convert(content, Config))
        except Exception as error:
            problem = Problem.of(error)
        with suppress(OSError):
            self._connection.send((_DONE, number, problem))
