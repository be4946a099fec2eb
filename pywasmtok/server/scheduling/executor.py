"""Calls into sandboxes, off the event loop, scheduled fairly between tenants.

A fixed number of threads makes the calls; `queues` chooses the next one. Half of the threads make
long calls only, at a lower priority; the others make short calls only. A very short call may run on
the event loop instead while no other call waits: handing it to a thread and back would cost more
than the call itself.

A call of unknown length that can be repeated starts among the short ones, with a short deadline. If
that is not enough, it runs again among the long ones. Other calls of unknown length count as long.

    await work.run(tenant, cost, call)      TooManyRequests, Overloaded: nothing has been done

Cancelling the awaiting task takes the call out of the queue, or stops it in the sandbox. So does a
client that leaves, in a request that the application has told us to `watch`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import thread_time
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..._host.calls import deadline
from ..._host.calls.cancel import CancelToken, cancellable
from ..._host.calls.deadline import within
from ..._host.calls.interrupt import set_undisturbed
from ..._host.linux import processors
from ..._host.linux.priority import step_back
from ...errors import DeadlineExceeded, InvalidArgument
from ...tenants.counts import RUNNING, WAITING, Counts
from ...tenants.errors import Cancelled, Overloaded, TooManyRequests
from .cost_model import LONG_SECONDS, CostModel, CostModels
from .inline_permission import Permission
from .queues import Turn, Turns

if TYPE_CHECKING:
    from ...tenants.contract import TenantLike

__all__ = ["NotNowError", "ThreadWork", "WorkNumbers", "watch"]

T = TypeVar("T")

# The deadline of a repeatable call among the short ones. On a busy machine a short call may take
# many times its usual duration.
TRIAL_SECONDS: Final = 0.1

# How often a call that waits looks whether another process has left a place.
_LOOK_SECONDS: Final = 0.005

# Bounds of `retry_after` in a refusal, in seconds.
_MOST_RETRY: Final = 30.0
_LEAST_RETRY: Final = 0.05

Receive = Callable[[], Awaitable[Any]]

_receive: ContextVar[Receive | None] = ContextVar("pywasmtok_receive", default=None)


def watch(receive: Receive | None) -> None:
    """From here on, in this task, calls are stopped when `receive` says that the client has left.
    It is asked only while a call waits or runs in a thread, so the body must have been read."""
    _receive.set(receive)


# Levels of priority that threads are below the event loop and the calls that run on it. At equal
# priority, threads in long loops would get a time slice each before the event loop runs.
_SHORT_STEPS_BACK: Final = 1
_LONG_STEPS_BACK: Final = 10


@dataclass(frozen=True, slots=True)
class WorkNumbers:
    threads: int
    queued: int
    running: int
    inline: int
    """Calls that ran on the event loop, ever."""
    threaded: int
    """Calls that ran in a thread, ever."""


class _Call:
    """A call on its way through a thread."""

    __slots__ = ("cost_model", "future", "loop", "token", "work")

    def __init__(self, work: Callable[[], Any], cost_model: CostModel) -> None:
        self.work = work
        self.cost_model = cost_model
        self.token = CancelToken()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def make(self) -> float:
        """In a thread. The seconds of a processor that it took."""
        result: Any = None
        error: BaseException | None = None
        began = thread_time()
        try:
            with cancellable(self.token):
                result = self.work()
        except BaseException as raised:
            error = raised
            _let_go(raised)
        took = thread_time() - began
        # If the loop was closed meanwhile, no task waits for the result.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._deliver, result, error)
        # The error refers to this frame, too: together they would be a reference cycle.
        del error
        return took

    def _deliver(self, result: Any, error: BaseException | None) -> None:
        future = self.future
        # The future refers to the error, the error to the frame of `make`, and that frame to this
        # object.
        del self.future
        if future.done():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, StopIteration):
            future.set_exception(RuntimeError("a call raised StopIteration"))
        else:
            future.set_exception(error)


class ThreadWork:
    def __init__(self, threads: int = 0, queued: int = 1024, counts: Counts | None = None) -> None:
        """`threads`: 0 is twice the processors. `queued`: calls of all tenants that may wait.
        `counts`: of the calls of each tenant, in other processes, too."""
        if threads < 0 or queued < 0:
            raise InvalidArgument("threads and queued are counts")
        self._most_queued = queued
        self._counts = counts or Counts()
        self._turns = Turns[_Call](threads or 2 * processors.allowed(), self._counts)
        self._cost_models = CostModels()
        self._permission = Permission()
        # Around all of the above: threads take their next call by themselves.
        self._lock = threading.Lock()
        # Threads of the long queue and of the short queue wait on separate conditions. A single
        # thread serves both queues.
        alone = self._turns.threads == 1
        self._long_change = threading.Condition(self._lock)
        self._short_change = self._long_change if alone else threading.Condition(self._lock)
        self.saw_long: Callable[[str, float], None] | None = None
        """Told by the threads whose call took how many seconds of a processor, if it was long."""
        self._closed = False
        self._inline = self._threaded = 0
        self._mean = 0.01
        self._threads = [
            threading.Thread(
                target=self._serve,
                args=(None if alone else number < self._turns.threads // 2,),
                name=f"pywasmtok-work-{number}",
                daemon=True,
            )
            for number in range(self._turns.threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool = False,
        about: str = "",
    ) -> T:
        """`cost`: bytes of text, ids and files, as the bucket and the turns count them.
        TooManyRequests and Overloaded come before anything is done. Cancelling the awaiting task
        takes the call out of the queue, or stops it. `inline`: the call is short, and may be begun
        again from the start; whether it then runs on the event loop is decided here. `about`: with
        which tokenizer; how long its calls take is learned."""
        name, limits = tenant.name, tenant.limits
        with self._lock:
            cost_model = self._cost_models.of(name, about, inline)
            here = inline and self._may_run_here(name, limits.concurrent, cost, cost_model)
            if not here:
                self._require_room(tenant)
        with tenant.admitted(cost):
            if here:
                try:
                    return self._run_here(name, cost, call, cost_model)
                except _TooSlowError:
                    with self._lock:
                        self._require_room(tenant)
            if inline and not cost_model.is_long:
                try:
                    return await self._run_on_trial(tenant, cost, call, cost_model)
                except _TooSlowError:
                    with self._lock:
                        self._require_room(tenant)
            expected = cost_model.expected(cost)
            long = inline or expected is None or expected > LONG_SECONDS
            return await self._run_in_thread(tenant, cost, call, cost_model, long)  # type: ignore[no-any-return]

    def run_now(self, tenant: TenantLike, cost: int, call: Callable[[], T], about: str = "") -> T:
        """`run` of a call that is short and may be begun again, without waiting for anything. The
        tenant has admitted it. NotNowError: `run` can do it, and not this."""
        name = tenant.name
        cost_model = self._cost_models.of(name, about, True)
        if not self._may_run_here(name, tenant.limits.concurrent, cost, cost_model):
            raise NotNowError
        try:
            return self._run_here(name, cost, call, cost_model)
        except _TooSlowError:
            raise NotNowError from None

    def numbers(self) -> WorkNumbers:
        with self._lock:
            turns = self._turns
            return WorkNumbers(
                turns.threads, turns.waiting, turns.running, self._inline, self._threaded
            )

    def numbers_of(self, tenant: str) -> tuple[int, int]:
        """What waits and what runs for one tenant."""
        with self._lock:
            return self._turns.waiting_of(tenant), self._turns.running_of(tenant)

    def close(self, seconds: float = 5.0) -> None:
        """Nothing new is begun. Threads that are inside a call end with it."""
        with self._lock:
            self._closed = True
            self._long_change.notify_all()
            self._short_change.notify_all()
        for thread in self._threads:
            thread.join(seconds)

    def _require_room(self, tenant: TenantLike) -> None:
        """A refusal is among the tenant's numbers, as one of its bucket is."""
        if self._closed:
            raise Overloaded("this server does no more work")
        turns, limits = self._turns, tenant.limits
        mine = self._counts.total(WAITING, tenant.name)
        # Threads that are free take what was just put in, as soon as they are awake.
        free = turns.threads - turns.running
        mine_free = min(free, limits.concurrent - self._counts.total(RUNNING, tenant.name))
        busy = min(turns.threads, limits.concurrent)
        if not busy:
            tenant.note(refused=1)
            raise TooManyRequests.of("this tenant may run no calls: `concurrent` is 0", 0, 1)
        if mine - max(0, mine_free) >= limits.queued:
            tenant.note(refused=1)
            raise _too_many(mine, limits.queued, self._advice(mine + 1, busy))
        if turns.waiting - free >= self._most_queued:
            tenant.note(refused=1)
            raise _overloaded(turns.waiting, self._advice(turns.waiting, turns.threads))

    def _advice(self, ahead: int, at_once: int) -> float:
        """Seconds until about half of what waits is done: then there is room again."""
        return min(_MOST_RETRY, max(_LEAST_RETRY, ahead * self._mean / at_once / 2))

    # On the event loop.

    def _may_run_here(self, tenant: str, concurrent: int, cost: int, cost_model: CostModel) -> bool:
        turns = self._turns
        return (
            self._permission.given(tenant, cost, cost_model)
            # The call overtakes no other tenant's short call. It may overtake the tenant's own
            # calls: otherwise a few slow calls would send all later ones of the tenant through the
            # queue.
            and not turns.short_waiting_of_others(tenant)
            and self._counts.total(RUNNING, tenant) < concurrent
            and not self._closed
        )

    def _run_here(self, tenant: str, cost: int, call: Callable[[], T], cost_model: CostModel) -> T:
        began = thread_time()
        # The server's signal handlers raise nothing, so no context managers are needed.
        most = deadline.earlier(deadline.current(), self._permission.deadline)
        end = deadline.set_current(most)
        undisturbed = set_undisturbed(True)
        try:
            return call()
        except DeadlineExceeded as error:
            if error.limit != self._permission.deadline:
                raise
            raise _TooSlowError from None
        finally:
            set_undisturbed(undisturbed)
            deadline.set_current(end)
            took = thread_time() - began
            self._inline += 1
            # An update of a thread at the same moment may be lost: the numbers are estimates.
            cost_model.saw(cost, took)
            self._permission.saw(tenant, took)

    # In a thread.

    async def _run_on_trial(
        self, tenant: TenantLike, cost: int, call: Callable[[], T], cost_model: CostModel
    ) -> T:
        def tried() -> T:
            try:
                with within(TRIAL_SECONDS):
                    return call()
            except DeadlineExceeded as error:
                if error.limit != TRIAL_SECONDS:
                    raise
                raise _TooSlowError from None

        return await self._run_in_thread(tenant, cost, tried, cost_model, long=False)  # type: ignore[no-any-return]

    async def _run_in_thread(
        self,
        tenant: TenantLike,
        cost: int,
        work: Callable[[], Any],
        cost_model: CostModel,
        long: bool,
    ) -> Any:
        call = _Call(work, cost_model)
        turn = Turn(tenant.name, cost, long, call)
        with self._lock:
            self._turns.add(turn, tenant.limits.concurrent)
            (self._long_change if long else self._short_change).notify()
        future = call.future
        receive = _receive.get()
        watcher = receive and asyncio.ensure_future(_until_gone(receive, future))
        try:
            return await future
        except asyncio.CancelledError:
            self._leave(turn)
            raise
        except Cancelled:
            self._leave(turn)
            raise
        finally:
            if watcher:
                watcher.cancel()
            # These refer to the error of the call, and the error refers to this frame.
            del call, future, turn, watcher

    def _leave(self, turn: Turn[_Call]) -> None:
        with self._lock:
            waited = self._turns.remove(turn)
        if not waited:
            turn.item.token.cancel()

    def _serve(self, queue: bool | None) -> None:
        if queue is False:
            step_back(_SHORT_STEPS_BACK)
        else:
            step_back(_LONG_STEPS_BACK, gives_way=True)
        while True:
            turn = self._next(queue)
            if turn is None:
                return
            call = turn.item
            took = call.make()
            if took > LONG_SECONDS and self.saw_long is not None:
                self.saw_long(turn.tenant, took)
            with self._lock:
                call.cost_model.saw(turn.cost, took)
                self._mean += (took - self._mean) / 32
                self._threaded += 1
                self._turns.ended(turn, took)
                # The tenant may have as many running as it is allowed to, and more that waits in
                # the other queue for one of them to end.
                if self._turns.waiting_of(turn.tenant):
                    (self._short_change if turn.long else self._long_change).notify()
            # Drops the references, so that no text stays alive until the next call.
            del turn, call

    def _next(self, queue: bool | None) -> Turn[_Call] | None:
        change = self._short_change if queue is False else self._long_change
        with self._lock:
            while True:
                if self._closed:
                    return None
                turn = self._turns.next(queue)
                if turn is not None:
                    return turn
                looks = self._counts.is_shared and self._turns.waiting
                change.wait(_LOOK_SECONDS if looks else None)


def _let_go(error: BaseException | None) -> None:
    """Clears the frames of a failed call, which hold its instance above all. An error that a frame
    of its traceback refers to is a reference cycle. The garbage collector would free the instance
    later, mostly on the event loop, and unmapping it takes milliseconds."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__


# An error that a frame of its own traceback refers to is freed by the garbage collector only: so no
# function that raises one of these keeps it in a variable.


def _too_many(waiting: int, most: int, seconds: float) -> TooManyRequests:
    error = TooManyRequests.of(
        f"{waiting} calls of this tenant wait already; {most} may",
        most,
        waiting + 1,
        hint="ask again after the answers to earlier calls",
    )
    error.retry_after = seconds
    return error


def _overloaded(waiting: int, seconds: float) -> Overloaded:
    error = Overloaded(
        f"{waiting} calls of all tenants wait already", hint="ask again later, or another server"
    )
    error.retry_after = seconds
    return error


class NotNowError(Exception):
    """A call has not been made: it would have to wait, or has turned out to be long."""


class _TooSlowError(Exception):
    """It ran into the deadline of the event loop, or of its trial, not into the tenant's."""


async def _until_gone(receive: Receive, future: asyncio.Future[Any]) -> None:
    while not future.done():
        message = await receive()
        if message["type"] in ("http.disconnect", "websocket.disconnect"):
            if not future.done():
                future.set_exception(Cancelled("the client has left"))
            return
