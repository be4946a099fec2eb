"""How a call of a tokenizer gets an instance of the pool, and what becomes of it afterwards.

`Checkout` is for calls without bounds. `BoundedCheckout` adds an end to each call, which costs some
microseconds; a call that had to give way to another one starts over in another instance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...errors import MemoryLimit
from ..linux import thread_stack
from ..linux.trap_handlers import A_CALL, BETWEEN_LOOKS, faulthandler_enabled
from ..wasm.status import Interrupted
from . import cancel, deadline, interrupt
from .deadline import End, current, earlier
from .long_text import LONG_INPUT, LONG_TEXT

if TYPE_CHECKING:
    from ..wasm.instance import Instance
    from .cancel import CancelToken
    from .helpers import Job
    from .pool import Pool

__all__ = ["BoundedCheckout", "Checkout"]

Quick = Callable[[bytes, Any], Any]
"""A short call: its input, and what else it takes."""
Work = Callable[["Instance", bytes, Any], Any]
"""The same, in an instance."""


class Checkout:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # For views, by whether they have a deadline, and by their memory; and, under `None`, for
        # calls that may be stopped.
        self.other_pools: dict[tuple[bool, int | None] | None, Pool] = {}
        self._thread = thread_stack.checked
        # How many more bytes may be encoded before the signal handlers are checked again.
        self._unseen, self._faulthandler = BETWEEN_LOOKS, faulthandler_enabled()

    def quick(self, work: Work) -> Quick:
        """`short` for what most calls are, without a closure for each of them."""
        pool, idle, thread = self._pool, self._pool.idle, thread_stack.checked

        def call(data: bytes, how: Any) -> Any:
            try:
                thread.enough  # noqa: B018
            except AttributeError:
                thread_stack.require()
            self._unseen -= len(data) + A_CALL
            if self._unseen < 0 or faulthandler_enabled() is not self._faulthandler:
                self._look_at_handlers()
            try:
                instance = idle.pop()
            except IndexError:
                instance = pool.acquire()
            try:
                result = work(instance, data, how)
            except BaseException as error:
                pool.settle(instance, error)
                raise
            if pool.attention:
                pool.come_back(instance)
            else:
                idle.append(instance)
                if pool.attention:
                    pool.attend()
            return result

        # A copy of the code: the interpreter specializes each for the one function that it calls.
        code = call.__code__.replace(co_name=work.__name__)
        return FunctionType(code, globals(), None, None, call.__closure__)

    def short(self, work: Callable[[Instance], Any], size: int = 0) -> Any:
        self._require_stack_once()
        self._unseen -= size + A_CALL
        if self._unseen < 0:
            self._look_at_handlers()
        instance = self._pool.acquire()
        try:
            result = work(instance)
        except BaseException as error:
            self._pool.settle(instance, error)
            raise
        self._pool.release(instance)
        return result

    def long(self, work: Callable[[Instance], Any]) -> Any:
        """In the main thread, signal handlers may end the call with an exception."""
        self._require_stack_once()
        in_main = interrupt.in_main_thread()
        while True:
            self._pool.look_at_handlers()
            pool = self.stoppable() if in_main else self._pool
            instance = pool.acquire()
            try:
                result = interrupt.run(instance, work)
            except Interrupted as error:
                # Meant for another call. This one has changed nothing and starts over.
                pool.settle(instance, error)
            except BaseException as error:
                pool.settle(instance, error)
                raise
            else:
                pool.release_after_long_call(instance)
                return result

    def help(self, job: Job, work: Callable[[Instance], Any], size: int) -> Any:
        """In a helper thread. Raises `Interrupted` when the job has been stopped."""
        # Only large tasks need an instance that can be stopped: usual ones end soon enough.
        stoppable = job.apart and size >= LONG_TEXT
        while True:
            self._pool.look_at_handlers()
            pool = self.stoppable() if stoppable else self._pool
            instance = pool.acquire()
            job.inside[instance] = pool
            try:
                # `Job.stop` sets `stopped` before it reads `inside`, so a stop is never missed.
                if job.stopped:
                    raise Interrupted
                result = instance.interruptible(work)
                # Perhaps the pool has lost this instance by now.
                if job.stopped:
                    raise Interrupted
            except Interrupted as error:
                pool.settle(instance, error)
                if job.stopped:
                    raise
                # Meant for another call of the same engine.
            except BaseException as error:
                pool.settle(instance, error)
                raise
            else:
                pool.release_after_long_call(instance)
                return result
            finally:
                job.inside.pop(instance, None)

    def stoppable(self) -> Pool:
        """Instances whose calls can be ended, where those for all other calls cannot."""
        return self._pool if self._pool.open_source().stoppable else self.other_pool(None)

    def other_pool(self, bounds: tuple[bool, int | None] | None) -> Pool:
        """Instances with these bounds; `None`: with none, but calls of them can be ended."""
        pool = self.other_pools.get(bounds)
        if pool is None:
            usual = self._pool.open_source()
            source = usual.with_stops() if bounds is None else usual.limited(*bounds)
            # Of two threads that both make one, the first wins.
            pool = type(self._pool)(source, self._pool.limit)
            pool = self.other_pools.setdefault(bounds, pool)
        return pool

    def _look_at_handlers(self) -> None:
        enabled = faulthandler_enabled()
        self._pool.look_at_handlers()
        # Set these last: threads that see them valid skip the check.
        self._unseen, self._faulthandler = BETWEEN_LOOKS, enabled

    def _require_stack_once(self) -> None:
        if not hasattr(self._thread, "enough"):
            thread_stack.require()


class BoundedCheckout(Checkout):
    def __init__(self, pool: Pool, deadline: float | None) -> None:
        """`deadline`: seconds of a call; None: instances are bounded in other ways alone."""
        super().__init__(pool)
        self._deadline = deadline

    def short(self, work: Callable[[Instance], Any], size: int = 0) -> Any:
        return self._bounded(work, apart=False)

    def long(self, work: Callable[[Instance], Any]) -> Any:
        return self._bounded(work, apart=True)

    def help(self, job: Job, work: Callable[[Instance], Any], size: int) -> Any:
        return self._bounded(work, apart=False, job=job)

    def quick(self, work: Work) -> Quick:
        """`_bounded`, written out for most calls: short ones without a cancel token, in an idle
        instance that has been used before."""
        pool, idle, thread, most = self._pool, self._pool.idle, thread_stack.checked, self._deadline
        tokens, ends = cancel.local, deadline.local

        def call(data: bytes, how: Any) -> Any:
            if most is None or tokens.token is not None:
                return self._bounded(partial(_work_on, work, data, how), apart=False)
            try:
                thread.enough  # noqa: B018
            except AttributeError:
                thread_stack.require()
            try:
                instance = idle.pop()
            except IndexError:
                return self._bounded(partial(_work_on, work, data, how), apart=False)
            began, seconds, end = monotonic(), most, ends.end
            if end is not None and end.at - began < seconds:
                seconds = end.at - began
            watched = instance.watched and interrupt.in_main_thread()
            if not instance.served or watched or seconds <= 0:
                pool.release(instance)
                return self._bounded(partial(_work_on, work, data, how), apart=False)
            try:
                result = instance.within(seconds, work, data, how)
            except BaseException as error:
                if end is None or began + most < end.at:
                    end = End(most, began + most, end)
                again = self._another(error, instance, end, fresh=False)
                repeated = partial(_work_on, work, data, how)
                return self._until_done(again, repeated, end, None, apart=False)
            if len(data) < LONG_INPUT:
                if pool.attention:
                    pool.come_back(instance)
                else:
                    idle.append(instance)
                    if pool.attention:
                        pool.attend()
            else:
                pool.release_after_long_call(instance)
            return result

        return call

    def _bounded(
        self, work: Callable[[Instance], Any], *, apart: bool, job: Job | None = None
    ) -> Any:
        self._require_stack_once()
        end = None if self._deadline is None else earlier(current(), self._deadline)
        token = cancel.current()
        if token is not None:
            token.check()
        return self._until_done(self._pool.acquire(end), work, end, token, apart=apart, job=job)

    def _until_done(
        self,
        instance: Instance,
        work: Callable[[Instance], Any],
        end: End | None,
        token: CancelToken | None,
        *,
        apart: bool,
        job: Job | None = None,
    ) -> Any:
        while True:
            fresh = not instance.served
            instance.served = True
            try:
                result = self._call(instance, work, end, token, apart=apart, job=job)
            except BaseException as error:
                instance = self._another(error, instance, end, fresh=fresh, token=token, job=job)
            else:
                self._pool.release_after_long_call(instance)
                return result

    def _another(
        self,
        error: BaseException,
        instance: Instance,
        end: End | None,
        *,
        fresh: bool,
        token: CancelToken | None = None,
        job: Job | None = None,
    ) -> Instance:
        """The instance in which a call that raised starts over; or that was all."""
        self._pool.settle(instance, error)
        if isinstance(error, Interrupted):
            if job is not None and job.stopped:
                raise error
            if token is not None:
                token.check()
            if end is not None:
                end.check()
            # Meant for another call of the same engine.
            return self._pool.acquire(end)
        if isinstance(error, MemoryLimit) and not fresh:
            # A new instance: what a call may use must not depend on the memory that earlier calls
            # have taken.
            return self._pool.acquire_new()
        raise error

    def _call(
        self,
        instance: Instance,
        work: Callable[[Instance], Any],
        end: End | None,
        token: CancelToken | None,
        *,
        apart: bool,
        job: Job | None,
    ) -> Any:
        seconds = None if end is None else end.check()
        if job is not None:
            job.inside[instance] = self._pool
            try:
                # `Job.stop` sets `stopped` before it reads `inside`, so a stop is never missed.
                if job.stopped:
                    raise Interrupted
                return instance.interruptible(work, seconds, token)
            finally:
                job.inside.pop(instance, None)
        if (apart or instance.watched) and interrupt.in_main_thread():
            return interrupt.run(instance, work, seconds, token)
        if seconds is None:
            return work(instance)
        if token is not None and interrupt.in_main_thread():
            token = None
        return instance.interruptible(work, seconds, token)


def _work_on(work: Work, data: bytes, how: Any, instance: Instance) -> Any:
    return work(instance, data, how)
