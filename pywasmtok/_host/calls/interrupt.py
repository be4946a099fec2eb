"""Long calls that Ctrl-C ends at once.

Python runs its signal handlers in the main thread, between two instructions of Python. While the
main thread is inside the core there are none, and KeyboardInterrupt would come when the call is
over. So the main thread lets a helper thread make its long calls and waits on a lock, which
signals do interrupt; an exception of a handler then stops the call by moving the engine's epoch.
Where the code does not look at the epoch, the abandoned call goes on in the helper thread, and both
end together: so only work that ends soon is done there (reading a file, a task).

Calls of other threads need nothing of this: no signal handler ever runs there. Running the
handlers from a callback of the engine inside the main thread looks simpler, but an exception that
arrives as the callback is entered cannot be caught by it, and gets lost.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, Final

from ..linux import thread_stack
from ..wasm.instance import Instance
from .cancel import CancelToken

# How long to wait for a cancelled call. A sound core stops within a millisecond; a worker of a
# shared memory may sleep in a lock of the guest, and is then left alone.
_PATIENCE_SECONDS: Final = 1.0
# The same where nothing can stop the call: a part of a text may be over soon, a load is not.
_PART_SECONDS: Final = 0.03

# Waiting for a lock is cut into steps: on Windows no signal interrupts it, and elsewhere one that
# comes after Python has looked for signals and before the system waits would be seen too late.
_WAIT_SECONDS: Final = 0.05


class _Job:
    """One call: done when `finished` can be acquired."""

    def __init__(self, work: Callable[[], Any], stop: Callable[[], None]) -> None:
        self._work = work
        self._stop = stop
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self) -> None:
        try:
            thread_stack.require()
            self.result = self._work()
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self.finished.release()

    def cancel(self, patience: float) -> bool:
        """Ends the call; False if it did not end in time."""
        if not self.done:
            self._stop()
            # A second Ctrl-C must not take the place of the first one.
            with contextlib.suppress(BaseException):
                self.finished.acquire(timeout=patience)
        return self.done


class _Helper:
    """The thread that makes the long calls of the main thread."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        threading.Thread(target=self._serve, name="pywasmtok-calls", daemon=True).start()

    def submit(self, job: _Job) -> None:
        self._jobs.put(job)

    def dismiss(self) -> None:
        """Its thread ends after its present work."""
        self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            # Not to keep the instance alive until the next job.
            del job


_helper: _Helper | None = None


class _Local(threading.local):
    undisturbed = False


_local: Final = _Local()


def set_undisturbed(undisturbed: bool) -> bool:
    """For programs whose signal handlers do not raise: the main thread makes its calls itself until
    the returned value is set again. A call in the helper thread costs more than a short call."""
    before, _local.undisturbed = _local.undisturbed, undisturbed
    return before


def in_main_thread() -> bool:
    """Whether an exception of a signal handler could arrive in this thread."""
    return threading.get_ident() == threading.main_thread().ident and not _local.undisturbed


def run(
    instance: Instance,
    work: Callable[[Instance], Any],
    seconds: float | None = None,
    token: CancelToken | None = None,
) -> Any:
    """`work(instance)`; in the main thread exceptions of signal handlers end it. `seconds` and
    `token` are for cores with a clock.

    Raises `Interrupted` if the interrupt was meant for another call: then it may be repeated.
    """
    if not in_main_thread():
        if seconds is None:
            return work(instance)
        return instance.interruptible(work, seconds, token)
    return run_apart(
        lambda: instance.interruptible(work, seconds, token),
        instance.cancel,
        lambda: patience_with((instance,)),
    )


def patience_with(instances: Iterable[Instance]) -> float:
    """How many seconds to wait for calls that were cancelled."""
    return _PATIENCE_SECONDS if all(one.core.stoppable for one in instances) else _PART_SECONDS


def run_apart(
    work: Callable[[], Any], stop: Callable[[], None], patience: Callable[[], float]
) -> Any:
    """`work()` in the helper thread; an exception of a signal handler calls `stop` to end it, and
    leaves it alone if it takes longer than `patience()`."""
    job = _Job(work, stop)
    helper = _started()
    try:
        helper.submit(job)
        while not job.finished.acquire(timeout=_WAIT_SECONDS):
            pass
    except BaseException:
        if not job.cancel(patience()):
            helper.dismiss()
            _forget()
        raise
    # The traceback of the error refers to frames that hold the job: kept here, it would be a
    # reference cycle.
    error, job.error = job.error, None
    if error is None:
        return job.result
    try:
        raise error
    finally:
        del error


def _started() -> _Helper:
    global _helper  # noqa: PLW0603
    if _helper is None:
        _helper = _Helper()
    return _helper


def _forget() -> None:
    """The next call gets a new helper thread: the old one is stuck, or belongs to the parent
    process."""
    global _helper  # noqa: PLW0603
    _helper = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
