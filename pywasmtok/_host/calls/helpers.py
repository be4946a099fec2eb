"""The threads that help with large calls: one group for all tokenizers of the process.

The calling thread does the work; helper threads take parts of it, the tasks. So a call never waits
for a free thread: it has helpers, or it does all of the work itself. Nor does it wait for helpers
that the system does not schedule: after a while the caller does their last tasks again. It does
wait for helpers that run, however large their tasks are: doing these twice would gain nothing.

As many threads take part in such calls at one time, callers among them, as there are processors,
however many call; when one is done, its processor goes to the call with the fewest helpers.

What is known of a call is either in the call or worked out from the list of workers: nothing is
counted. An exception of a signal handler, which comes between any two instructions, can then leave
no count behind that is wrong for ever.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from ...errors import TokenizerError
from ..linux import processors, thread_stack
from ..wasm.instance import Instance
from ..wasm.status import Interrupted
from . import cancel, deadline, interrupt

if TYPE_CHECKING:
    from .pool import Pool

# Waiting is cut into steps: a signal that comes after Python has looked for signals and before the
# system waits would be seen too late, and in the child of a fork no helper is left to end the wait.
_WAIT_SECONDS: Final = 0.05

# How long the end of the interpreter waits for each helper.
_PATIENCE_SECONDS: Final = 1.0

# How long to wait for helpers before doing their tasks again: a share of the time that the call
# has taken, which is more than a task takes.
_PATIENCE_SHARE: Final = 0.25
_SHORTEST_PATIENCE: Final = 0.001
# A helper that had a processor for this share of the wait is running, and is waited for.
_RUNS: Final = 0.5

_MISSING: Final = object()


# Does a task; gets its number and, in a helper thread, the job that it belongs to.
Work = Callable[[int, "Job | None"], Any]


class Job:
    """Tasks, which the caller and its helpers take one by one; their results, in order."""

    def __init__(self, tasks: int, work: Work, threads: int, order: Iterable[int] = ()) -> None:
        """`order` says which task to begin with; by default from the first to the last."""
        self.results: list[Any] = [_MISSING] * tasks
        self.most_helpers = min(threads, tasks) - 1
        # Instances that helpers are inside of, to be stopped with the job, and whose they are.
        self.inside: dict[Instance, Pool] = {}
        self.stopped = False
        # Whether it is of the main thread, where signal handlers may end it.
        self.apart = False
        # Helpers have the deadline and the cancel token of the calling thread.
        self._end = deadline.current()
        self._token = cancel.current()
        self.left: SimpleQueue[None] = SimpleQueue()
        self._work = work
        # Taking from it is atomic: two threads never get the same task.
        self._waiting = deque(order or range(tasks))
        self._error: BaseException | None = None
        self._failed = tasks
        self._lock = threading.Lock()

    @property
    def open(self) -> bool:
        """Whether there is something left to take."""
        return bool(self._waiting) and not self.stopped

    def take_part(self, helped: Job | None) -> None:
        """Does tasks until none is left. What the core refuses is kept for the end."""
        with deadline.until(self._end), cancel.cancellable(self._token):
            while not self.stopped:
                try:
                    task = self._waiting.popleft()
                except IndexError:
                    return
                self._do(task, helped)

    def help(self) -> None:
        """`take_part` for a helper: nothing may end its thread."""
        try:
            self.take_part(self)
        except BaseException as error:
            with self._lock:
                if not self.stopped:
                    self._failed, self._error = -1, error
            self.stop()

    def stop(self) -> None:
        """No thread takes another task, and helpers abandon those that they have begun."""
        self.stopped = True
        for instance in tuple(self.inside):
            instance.cancel()

    def patience(self) -> float:
        """How long to wait for helpers whose calls were cancelled."""
        return interrupt.patience_with(tuple(self.inside))

    def lose(self) -> None:
        """Helpers that did not leave keep their instances; the pools no longer count on these."""
        for instance, pool in tuple(self.inside.items()):
            pool.lose(instance)

    def answer(self) -> list[Any]:
        # The traceback of the error refers to frames that hold the job: kept here, it would be a
        # reference cycle.
        error, self._error = self._error, None
        if error is None:
            return self.results
        try:
            raise error
        finally:
            del error

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def do_what_is_missing(self, helped: Job | None) -> None:
        """What helpers have taken and not finished. They may still do so: it is the same."""
        with deadline.until(self._end), cancel.cancellable(self._token):
            for task, result in enumerate(self.results):
                if result is _MISSING and not self.stopped:
                    self._do(task, helped)

    def _do(self, task: int, helped: Job | None) -> None:
        # Of several errors the first task's is raised, as if they were done in order: tasks in
        # front of a failed one are still done, those behind it are not.
        if task > self._failed:
            return
        try:
            self.results[task] = self._work(task, helped)
        except Interrupted:
            if not self.stopped:
                raise
        except TokenizerError as error:
            with self._lock:
                if task < self._failed:
                    self._failed, self._error = task, error


class _Worker:
    """A thread that helps with one job after the other. It is idle while it has none."""

    def __init__(self, helpers: HelperThreads) -> None:
        self.job: Job | None = None
        self.useless = False
        # No longer part of the group: the thread ends after its present work.
        self.lost = False
        self._helpers = helpers
        self._news: SimpleQueue[None] = SimpleQueue()
        self.thread = threading.Thread(target=self._serve, name="pywasmtok-helpers", daemon=True)

    def wake(self) -> None:
        """May be called without need."""
        self._news.put(None)

    def _serve(self) -> None:
        try:
            thread_stack.require()
        except TokenizerError:
            # Threads of this program have small stacks: callers work without help.
            self.useless = True
        while True:
            job = self.job
            if job is None:
                if self._helpers.closed or self.lost:
                    return
                self._news.get()
                continue
            if not self.useless:
                job.help()
            left = job.left
            # The last reference is the caller's: the job is freed in the thread that drops it.
            del job
            self._helpers.leave(self)
            left.put(None)


class HelperThreads:
    def __init__(self) -> None:
        self.closed = False
        self._workers: list[_Worker] = []
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()
        # Reentrant: a signal handler or a finalizer may make a large call itself.
        self._lock = threading.RLock()

    def run(self, job: Job, apart: bool = False) -> list[Any]:
        """The results of all tasks; the calling thread does its share.

        An exception that the tasks do not explain (Ctrl-C) ends all of them. `apart`: the share is
        done by the thread that makes the long calls of the main thread, for signals to be heard.
        """
        job.apart = apart
        try:
            self._open(job)
            if apart:
                interrupt.run_apart(lambda: self._work_off(job, job), job.stop, job.patience)
            else:
                self._work_off(job, None)
            self._close(job)
        except BaseException:
            job.stop()
            # A second Ctrl-C must not take the place of the first one.
            with contextlib.suppress(BaseException):
                self._close(job)
                self._wait_for_helpers(job, job.patience())
                self._lose_helpers(job)
            raise
        return job.answer()

    def helpers_of(self, job: Job) -> int:
        return sum(worker.job is job for worker in self._workers)

    def busy(self) -> int:
        """Threads that take part now: callers and helpers."""
        return len(self._jobs) + sum(worker.job is not None for worker in self._workers)

    def leave(self, worker: _Worker) -> None:
        with self._lock:
            worker.job = None
            self._share_out()

    def after_fork(self) -> None:
        """In the child: only the forking thread lives on, and it may be inside a call."""
        self._lock = threading.RLock()
        self._workers = []
        for job in list(self._jobs):
            job.after_fork()

    def close(self) -> None:
        """At the end of the interpreter: no thread is inside the core when it goes."""
        self.closed = True
        for worker in self._workers:
            worker.wake()
        for worker in self._workers:
            if worker.thread.is_alive():
                worker.thread.join(_PATIENCE_SECONDS)

    def _open(self, job: Job) -> None:
        with self._lock:
            self._jobs.add(job)
            self._share_out()

    def _work_off(self, job: Job, helped: Job | None) -> None:
        start = time.monotonic()
        job.take_part(helped)
        # A helper that runs is done with its last task about now.
        patience = max(_SHORTEST_PATIENCE, (time.monotonic() - start) * _PATIENCE_SHARE)
        while True:
            before = self._seconds_of_helpers(job)
            asked = time.monotonic()
            self._wait_for_helpers(job, patience)
            enough = _RUNS * (time.monotonic() - asked)
            left = self._seconds_of_helpers(job)
            if not left or any(left[who] - before.get(who, left[who]) < enough for who in left):
                break
            patience = min(2 * patience, _WAIT_SECONDS)
        job.do_what_is_missing(helped)

    def _close(self, job: Job) -> None:
        """The job gets no more helpers. Those that it has are woken to see that it is over."""
        with self._lock:
            self._jobs.discard(job)
            for worker in self._workers:
                if worker.job is job:
                    # The worker was chosen, but perhaps not woken: an exception can come in
                    # between.
                    worker.wake()
            self._share_out()

    def _wait_for_helpers(self, job: Job, patience: float) -> None:
        end = time.monotonic() + patience
        while self.helpers_of(job) and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                job.left.get(timeout=min(left, _WAIT_SECONDS))

    def _seconds_of_helpers(self, job: Job) -> dict[_Worker, float]:
        """For how long each has had a processor, as far as this system says so."""
        workers = [worker for worker in self._workers if worker.job is job]
        return {worker: processors.seconds_of(worker.thread.native_id) for worker in workers}

    def _lose_helpers(self, job: Job) -> None:
        """Helpers that did not leave are given up: new threads take their places."""
        with self._lock:
            for worker in tuple(self._workers):
                if worker.job is job:
                    self._workers.remove(worker)
                    worker.lost = True
                    worker.wake()
        job.lose()

    def _share_out(self) -> None:
        """Gives unused processors to the jobs with the fewest helpers."""
        room = processors.usable() - self.busy()
        while room > 0 and not self.closed:
            wanting = [
                (helpers, id(job), job)
                for job in self._jobs
                if job.open and (helpers := self.helpers_of(job)) < job.most_helpers
            ]
            worker = self._idle_or_new() if wanting else None
            if worker is None:
                return
            worker.job = min(wanting)[2]
            worker.wake()
            room -= 1

    def _idle_or_new(self) -> _Worker | None:
        for worker in self._workers:
            if worker.useless:
                return None
            # A worker whose start an exception has prevented is never alive.
            if worker.job is None and worker.thread.is_alive():
                return worker
        worker = _Worker(self)
        # Registered before it is started: an exception may come right after the start.
        self._workers.append(worker)
        try:
            worker.thread.start()
        except RuntimeError:
            # The system allows no more threads, or the interpreter is about to end.
            self._workers.remove(worker)
            return None
        except KeyError as error:
            # An exception of a signal handler, which `start` lost as it tidied up after a thread
            # that runs.
            raise error.__context__ or error from None
        return worker


helpers: Final = HelperThreads()
atexit.register(helpers.close)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.after_fork)
