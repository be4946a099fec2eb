"""A loaded tokenizer whose calls have bounds on time and memory.

It uses the general path, which the tokenizer without bounds has shortened: a bound adds some
microseconds to a call, and calls without bounds pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...errors import MemoryLimit
from ..wasm import abi
from ..wasm.instance import Instance
from ..wasm.status import Interrupted
from . import cancel
from .cancel import CancelToken
from .deadline import End, current, earlier
from .parallel import utf8
from .tokenizer import (
    LONG_INPUT,
    LONG_TEXT,
    UNKNOWN_IDS,
    CoreTokenizer,
    encode_flags,
    require_whole,
)

if TYPE_CHECKING:
    from .helpers import Job
    from .pool import Pool


class LimitedTokenizer(CoreTokenizer):
    def __init__(
        self,
        pool: Pool,
        build: str,
        threads: int | None = None,
        from_snapshot: bool = False,
        *,
        deadline: float | None,
    ) -> None:
        super().__init__(pool, build, threads, from_snapshot)
        self._deadline = deadline

    def encode_ids(
        self, text: str, add_special_tokens: bool = True, special_is_text: bool = False
    ) -> bytes:
        data = utf8(text, None)
        flags = encode_flags(add_special_tokens, special_is_text)
        if len(data) >= LONG_TEXT:
            return self._encode_long(data, flags)
        ids: bytes = self._quick(Instance.encode_ids, data, flags)
        return ids

    def decode(self, ids: bytes, skip_special_tokens: bool, unknown: str = "skip") -> str:
        require_whole(ids)
        flags = UNKNOWN_IDS[unknown]
        if skip_special_tokens:
            flags |= abi.DECODE_SKIP_SPECIAL_TOKENS
        if len(ids) >= LONG_INPUT:
            text: str = self._long(lambda one: one.decode(ids, flags))
        else:
            text = self._quick(Instance.decode, ids, flags)
        return text

    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]:
        flags = abi.STEP_FINISH if finish else 0
        answer: tuple[str, bytes] = self._run(
            len(ids), lambda one: one.stream_step(ids, state, flags)
        )
        return answer

    def stream_one(self, token_id: bytes, state: bytes) -> tuple[str, bytes]:
        return self.stream_step(token_id, state, False)

    def _short(self, work: Callable[[Instance], Any], size: int = 0) -> Any:
        return self._bounded(work, apart=False)

    def _long(self, work: Callable[[Instance], Any]) -> Any:
        return self._bounded(work, apart=True)

    def _help(self, job: Job, work: Callable[[Instance], Any], size: int) -> Any:
        return self._bounded(work, apart=False, job=job)

    def _quick(self, work: Callable[[Instance, bytes, int], Any], data: bytes, flags: int) -> Any:
        """`_bounded`, written out for most calls: short ones without a cancel token, in an idle
        instance that has been used before."""
        seconds = most = self._deadline
        if seconds is None or most is None or cancel.current() is not None:
            return self._bounded(lambda one: work(one, data, flags), apart=False)
        self._require_stack_once()
        try:
            instance = self._idle.pop()
        except IndexError:
            return self._bounded(lambda one: work(one, data, flags), apart=False)
        began = monotonic()
        end = current()
        if end is not None and end.at - began < seconds:
            seconds = end.at - began
        watched = instance.watched and self._interrupt.in_main_thread()
        if not instance.served or watched or seconds <= 0:
            self._pool.release(instance)
            return self._bounded(lambda one: work(one, data, flags), apart=False)
        try:
            result = instance.within(seconds, work, data, flags)
        except BaseException as error:
            if end is None or began + most < end.at:
                end = End(most, began + most, end)
            again = self._another(error, instance, end, fresh=False)
            return self._until_done(
                again, lambda one: work(one, data, flags), end, None, apart=False
            )
        if len(data) < LONG_INPUT:
            self._idle.append(instance)
            if self._pool.attention:
                self._pool.attend()
        else:
            self._pool.release_after_long_call(instance)
        return result

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
        if (apart or instance.watched) and self._interrupt.in_main_thread():
            return self._interrupt.run(instance, work, seconds, token)
        if seconds is None:
            return work(instance)
        if token is not None and self._interrupt.in_main_thread():
            token = None
        return instance.interruptible(work, seconds, token)


class LimitedView(LimitedTokenizer):
    """The tokenizer `of` with bounds on each call: tables are shared, instances are not. Its pool
    belongs to `of`, and it is closed with that."""

    def __init__(self, of: CoreTokenizer, deadline: float | None, memory: int | None) -> None:
        pool = of._other_pool((deadline is not None, memory))
        threads = of._parallel.threads
        super().__init__(pool, of.build, threads, of.from_snapshot, deadline=deadline)

    def close(self) -> None:
        """Nothing of its own."""
