"""The threads that help with large calls."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pywasmtok import errors
from pywasmtok._host.calls import helpers as helper_threads
from pywasmtok._host.calls.helpers import HelperThreads, Job
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.linux import processors

from .cores import LONG, ids_of, load
from .processes import finish, run, start

THREADS = 4

SETUP = """
    import os, signal, sys, threading, time
    os.environ["PYWASMTOK_THREADS"] = "4"
    import cores
    # What a shell starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from pywasmtok._host.calls.helpers import helpers

    def small_pieces(tok):
        tok._parallel.part = tok._parallel.smallest = 1000
        tok._parallel.shared = 1
        return tok

    def helper_threads_now():
        return [t for t in threading.enumerate() if t.name == "pywasmtok-helpers"]

    tok = small_pieces(cores.load())
    texts = [f"text {n} " * 20 for n in range(500)]
    ids = cores.ids_of("".join(texts))
"""


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Iterator[HelperThreads]:
    monkeypatch.setenv(processors.VARIABLE, str(THREADS))
    helpers = HelperThreads()
    yield helpers
    helpers.close()


def job(pieces: int, work: Callable[[int], Any], threads: int = THREADS) -> Job:
    return Job(pieces, lambda piece, helped: work(piece), threads)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def small_pieces(tok: CoreTokenizer, size: int = 1000) -> CoreTokenizer:
    tok._parallel.part = tok._parallel.smallest = size
    tok._parallel.shared = 1
    return tok


def test_results_are_in_order(helpers: HelperThreads) -> None:
    done: list[int] = []

    def work(piece: int) -> int:
        done.append(piece)
        return piece * piece

    assert helpers.run(job(1000, work)) == [n * n for n in range(1000)]
    # A helper that the system did not let run has its last piece done by the caller, too.
    assert 1000 <= len(done) < 1000 + THREADS


def test_nobody_waits_for_a_helper_that_does_not_run(helpers: HelperThreads) -> None:
    caller = threading.get_ident()
    gate = threading.Event()
    inside: list[int] = []

    def work(piece: int) -> int:
        if threading.get_ident() == caller:
            wait_for(lambda: len(inside) == THREADS - 1)
        else:
            inside.append(piece)
            gate.wait(60)
        return piece

    assert helpers.run(job(10, work)) == list(range(10))
    assert helpers.busy() == THREADS - 1
    gate.set()
    wait_for(lambda: helpers.busy() == 0)


def test_a_helper_that_runs_is_waited_for(
    helpers: HelperThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its piece may be much larger than all that the caller has done."""
    # As if each had a processor all the time.
    monkeypatch.setattr(processors, "seconds_of", lambda thread: time.monotonic())
    caller = threading.get_ident()
    taken = threading.Event()
    done: list[int] = []

    def work(piece: int) -> int:
        if threading.get_ident() == caller:
            assert taken.wait(60)
        else:
            taken.set()
            time.sleep(0.3)
        done.append(piece)
        return piece

    assert helpers.run(job(2, work, 2)) == [0, 1]
    assert sorted(done) == [0, 1]


def test_a_helper_that_stops_running_is_not_waited_for(
    helpers: HelperThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = time.monotonic()
    # It is taken off its processor after a tenth of a second.
    monkeypatch.setattr(processors, "seconds_of", lambda _: min(time.monotonic(), start + 0.1))
    caller = threading.get_ident()
    taken, gate = threading.Event(), threading.Event()

    def work(piece: int) -> int:
        if threading.get_ident() == caller:
            assert taken.wait(60)
        else:
            taken.set()
            gate.wait(60)
        return piece

    assert helpers.run(job(2, work, 2)) == [0, 1]
    assert time.monotonic() - start >= 0.1
    assert helpers.busy() == 1
    gate.set()
    wait_for(lambda: helpers.busy() == 0)


def test_the_largest_pieces_first(helpers: HelperThreads) -> None:
    done: list[int] = []
    Job(4, lambda piece, helped: done.append(piece), 1, [2, 0, 3, 1]).take_part(None)
    assert done == [2, 0, 3, 1]


def test_helpers_join_and_the_caller_takes_part(helpers: HelperThreads) -> None:
    everyone = threading.Barrier(THREADS, timeout=60)
    names = set()
    begun: set[int] = set()

    def work(piece: int) -> None:
        # The caller does a piece again whose helper the system does not let run.
        if piece not in begun:
            begun.add(piece)
            everyone.wait()
        names.add(threading.current_thread().name)

    helpers.run(job(THREADS, work))
    assert threading.current_thread().name in names
    assert len(helpers._workers) == THREADS - 1
    begun.clear()
    # The helpers of before are done with what they do for the first call.
    wait_for(lambda: helpers.busy() == 0)
    helpers.run(job(THREADS, work))
    assert len(helpers._workers) == THREADS - 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_more_threads_than_asked_for(helpers: HelperThreads, threads: int) -> None:
    seen = set()

    def work(piece: int) -> None:
        time.sleep(0.001)
        seen.add(threading.get_ident())

    helpers.run(job(50, work, threads))
    assert len(seen) <= threads


def test_16_callers_get_no_more_threads_than_there_are_processors(helpers: HelperThreads) -> None:
    """Callers are there anyway; no helper is added to them once they fill the machine."""
    most_helpers = 0
    inside = threading.Barrier(16, timeout=60)

    def work(piece: int) -> int:
        nonlocal most_helpers
        time.sleep(0.0005)
        there = sum(worker.job is not None for worker in helpers._workers)
        if len(helpers._jobs) >= THREADS:
            most_helpers = max(most_helpers, there)
        return piece

    def call(_: int) -> list[Any]:
        inside.wait()
        return helpers.run(job(40, work))

    with ThreadPoolExecutor(16) as executor:
        results = list(executor.map(call, range(16)))
    assert results == [list(range(40))] * 16
    assert len(helpers._workers) < THREADS
    # Those that had come before the machine was full finish their piece and the job it is of.
    assert most_helpers < THREADS
    # A helper that its caller stopped waiting for leaves later.
    wait_for(lambda: helpers.busy() == 0)


def test_the_processor_of_a_caller_that_is_done_goes_to_another(helpers: HelperThreads) -> None:
    gate, joined = threading.Event(), threading.Event()
    long = job(8, lambda piece: gate.wait(60))
    others = [job(1, lambda piece: gate.wait(60)) for _ in range(THREADS - 1)]
    with ThreadPoolExecutor(THREADS) as executor:
        waiting = [executor.submit(helpers.run, one) for one in others]
        wait_for(lambda: len(helpers._jobs) == THREADS - 1)
        last = executor.submit(helpers.run, long)
        wait_for(lambda: len(helpers._jobs) == THREADS)
        assert helpers.helpers_of(long) == 0
        gate.set()
        for future in waiting:
            future.result(60)
        last.result(60)
    slow = job(THREADS, lambda piece: joined.wait(60))
    with ThreadPoolExecutor(1) as executor:
        last = executor.submit(helpers.run, slow)
        wait_for(lambda: helpers.helpers_of(slow) == THREADS - 1)
        joined.set()
        last.result(60)


def test_of_several_errors_the_first_piece_s_is_raised(helpers: HelperThreads) -> None:
    for _ in range(20):

        def work(piece: int) -> int:
            if piece in (7, 8, 9, 30):
                time.sleep(0.002 if piece == 7 else 0)
                raise errors.InvalidText(f"piece {piece}")
            return piece

        with pytest.raises(errors.InvalidText, match="piece 7"):
            helpers.run(job(40, work))
        assert helpers.run(job(3, lambda piece: piece)) == [0, 1, 2]


def test_an_unexpected_exception_of_a_helper_reaches_the_caller(helpers: HelperThreads) -> None:
    caller = threading.get_ident()

    def work(piece: int) -> None:
        if threading.get_ident() != caller:
            raise MemoryError("no more")
        time.sleep(0.005)

    with pytest.raises(MemoryError, match="no more"):
        helpers.run(job(1000, work))


def test_calls_from_within_a_piece(helpers: HelperThreads) -> None:
    """As by a finalizer that runs in a helper thread."""

    def work(piece: int) -> int:
        return sum(helpers.run(job(10, lambda inner: inner)))

    assert helpers.run(job(50, work)) == [45] * 50


def test_threads_with_small_stacks_do_not_help(
    helpers: HelperThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise errors.HostUnsupported("small")

    monkeypatch.setattr(helper_threads.thread_stack, "require", refuse)
    assert helpers.run(job(100, lambda piece: piece)) == list(range(100))
    monkeypatch.undo()
    assert helpers.run(job(100, lambda piece: piece)) == list(range(100))


def test_a_system_without_more_threads(
    helpers: HelperThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert helpers.run(job(100, lambda piece: piece)) == list(range(100))


def test_nothing_keeps_a_job_alive(helpers: HelperThreads) -> None:
    class Result:
        pass

    one = job(20, lambda piece: Result())
    results = helpers.run(one)
    seen = weakref.ref(results[0])
    del one, results
    gc.collect()
    wait_for(lambda: seen() is None)


# With the test core: each byte of a text is an id.


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processors.VARIABLE, str(THREADS))


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.usefixtures("four_threads")
def test_batches(threads: bool) -> None:
    tok = small_pieces(load(threads=threads), 100)
    texts = [f"{n} " * (n % 50) for n in range(1000)]
    ids, bounds = tok.encode_batch_ids(texts, False)
    assert ids == ids_of("".join(texts))
    ends = memoryview(bounds).cast("I").tolist()
    assert [ends[n + 1] - ends[n] for n in range(1000)] == [len(text) for text in texts]
    assert tok.encode_batch_ids(texts, False, threads=1) == (ids, bounds)
    assert tok.decode_batch([ids_of(text) for text in texts], False) == texts


@pytest.mark.usefixtures("four_threads")
def test_a_text_longer_than_a_piece_among_short_ones() -> None:
    tok = small_pieces(load(), 100)
    texts = ["a", "long " * 1000, "", "b" * 150, "x" * 5000, "z"]
    ids, bounds = tok.encode_batch_ids(texts, False)
    assert ids == ids_of("".join(texts))
    assert memoryview(bounds).cast("I").tolist() == [0, 1, 5001, 5001, 5151, 10151, 10152]


@pytest.mark.usefixtures("four_threads")
def test_an_error_names_the_place_of_its_text() -> None:
    tok = small_pieces(load(), 100)
    texts = ["good " * 30] * 300
    for place in (0, 7, 299):
        for bad, kind in (("\ud800", errors.InvalidText), (5, errors.InvalidArgument)):
            mixed: list[Any] = [*texts[:place], bad, *texts[place + 1 :]]
            with pytest.raises(kind) as caught:
                tok.encode_batch_ids(mixed, False)
            assert caught.value.path == f"texts[{place}]"
    # The first of several, whoever found it.
    mixed = [*texts]
    for place in (250, 120, 60):
        mixed[place] = "\ud800"
    for _ in range(20):
        with pytest.raises(errors.InvalidText) as caught:
            tok.encode_batch_ids(mixed, False)
        assert caught.value.path == "texts[60]"


@pytest.mark.usefixtures("four_threads")
def test_a_trap_ends_the_call_and_costs_one_instance() -> None:
    tok = small_pieces(load(), 100)
    with pytest.raises(errors.CoreTrap):
        tok.encode_ids_with(4, "\1u" + "x" * LONG, False, False)
    text = "x" * LONG
    assert tok.encode_ids(text, False) == ids_of(text)
    # A helper that its caller stopped waiting for gives its instance back later.
    wait_for(lambda: len(tok._pool.idle) == tok._pool.size)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("limit", [1, 2])
def test_fewer_instances_than_threads(limit: int) -> None:
    tok = small_pieces(load(), 100)
    tok._pool.limit = limit
    texts = ["text " * 30] * 300
    with ThreadPoolExecutor(8) as executor:
        for ids, _ in executor.map(lambda _: tok.encode_batch_ids(texts, False), range(16)):
            assert ids == ids_of("".join(texts))
    assert tok._pool.size <= limit


@pytest.mark.usefixtures("four_threads")
def test_closing_during_a_batch() -> None:
    for delay in (0, 0.001, 0.005):
        tok = small_pieces(load(), 100)
        texts = ["text " * 30] * 3000
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(tok.encode_batch_ids, texts, False)
            time.sleep(delay)
            tok.close()
            with contextlib.suppress(errors.TokenizerClosed):
                assert future.result(60)[0] == ids_of("".join(texts))
        with pytest.raises(errors.TokenizerClosed):
            tok.encode_batch_ids(texts, False)
        wait_for(lambda: helper_threads.helpers.busy() == 0)


def test_small_calls_start_no_thread() -> None:
    assert (
        run(
            SETUP
            + """
    tok = cores.load()
    tok.encode_batch_ids(["short"] * 100, False)
    tok.encode_ids("x" * 100_000)
    print(len(helper_threads_now()))
    """
        )
        == "0"
    )


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


@needs_signals
@pytest.mark.parametrize(
    "call",
    [
        "tok.encode_ids(cores.SPIN + 'x' * cores.LONG)",
        "tok.encode_batch_ids(['x' * 1000] * 600 + [cores.SPIN + 'x' * 3000], False)",
    ],
)
def test_ctrl_c_ends_all_parts(call: str) -> None:
    process = start(
        SETUP
        + f"""
    tok._parallel.is_long = 500_000
    try:
        print("ready", flush=True)
        {call}
    except KeyboardInterrupt:
        stopped = time.monotonic()
    while helpers.busy():
        assert time.monotonic() < stopped + 60
    assert tok.encode_batch_ids(texts, False)[0] == ids
    print("stopped")
    """
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    # The call spins for ever: it was stopped.
    assert finish(process) == "stopped"


@needs_signals
def test_exceptions_of_signal_handlers_at_any_moment() -> None:
    """Wherever they come, helper threads go on working, and no job stays open."""
    assert (
        run(
            SETUP
            + """
    class Stop(Exception): pass
    def stop(*_): raise Stop
    signal.signal(signal.SIGALRM, stop)
    # One that comes inside a callback of a weak reference is not raised but printed.
    sys.unraisablehook = lambda _: None
    stopped = 0
    for n in range(150):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.00002 * n)
            for _ in range(50):
                tok.encode_batch_ids(texts, False)
        except Stop:
            stopped += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    # A thread that was given up, because it had no processor for too long, ends after its piece.
    end = time.monotonic() + 60
    while helpers.busy() or len(helper_threads_now()) > 5:
        assert time.monotonic() < end, (helpers.busy(), helper_threads_now())
        time.sleep(0.001)
    print(stopped > 100, tok.encode_batch_ids(texts, False)[0] == ids)
    """
        )
        == "True True"
    )


def test_an_exception_that_the_start_of_a_helper_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Thread.start` tidies up after one, and fails in that where the thread runs already."""

    class Stop(Exception):  # noqa: N818
        pass

    def start(thread: threading.Thread) -> None:
        try:
            raise Stop
        except Exception:
            raise KeyError(thread)  # noqa: B904

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(Stop):
        HelperThreads().run(job(10, lambda piece: piece, 2))


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@needs_fork
@pytest.mark.parametrize("threads", [False, True])
def test_a_child_makes_a_crew_of_its_own(threads: bool) -> None:
    assert (
        run(
            SETUP
            + f"""
    tok = small_pieces(cores.load(threads={threads}))
    assert tok.encode_batch_ids(texts, False)[0] == ids
    assert helper_threads_now()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert not helper_threads_now() and not helpers.busy()
            assert tok.encode_batch_ids(texts, False)[0] == ids
            assert helper_threads_now()
            code = 0
        finally:
            os._exit(code)
    assert tok.encode_batch_ids(texts, False)[0] == ids
    print(os.waitpid(child, 0)[1])
    """
        )
        == "0"
    )


@needs_fork
def test_fork_while_others_are_inside_batches() -> None:
    assert (
        run(
            SETUP
            + """
    end = time.monotonic() + 3
    def work():
        while time.monotonic() < end:
            assert tok.encode_batch_ids(texts, False)[0] == ids
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert tok.encode_batch_ids(texts, False)[0] == ids
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitpid(child, 0)[1])
    for thread in threads: thread.join()
    print(set(codes))
    """
        )
        == "{0}"
    )


@needs_fork
def test_fork_in_the_middle_of_a_job() -> None:
    """What the helpers had taken is lost in the child: the caller does it again."""
    assert (
        run(
            SETUP
            + """
    from pywasmtok._host.calls.helpers import Job
    caller = threading.get_ident()
    child = None
    def work(piece, helped):
        global child
        if helped is None and child is None:
            while helpers.busy() < 4: time.sleep(0.001)
            child = os.fork()
        while child is None: time.sleep(0.001)
        return piece
    results = helpers.run(Job(20, work, 4))
    assert results == list(range(20))
    if child == 0:
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
        )
        == "0"
    )


def test_the_interpreter_ends_while_daemon_threads_are_inside_batches() -> None:
    assert (
        run(
            SETUP
            + """
    def work():
        while True:
            tok.encode_batch_ids(texts, False)
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    while not helper_threads_now(): time.sleep(0.001)
    time.sleep(0.1)
    print("end")
    """
        )
        == "end"
    )


def test_batches_while_the_interpreter_ends() -> None:
    assert run(
        SETUP
        + """
    import atexit
    tok.encode_batch_ids(texts, False)
    class Last:
        def __del__(self):
            assert tok.encode_batch_ids(texts, False)[0] == ids
            print("deleted")

    @atexit.register
    def late():
        assert tok.encode_batch_ids(texts, False)[0] == ids
        print("atexit")
    last = Last()
    """
    ).splitlines() == ["atexit", "deleted"]


def test_calls_of_the_test_core_that_take_long_run_side_by_side() -> None:
    """Four pieces, each of which works for a while."""
    assert (
        run(
            SETUP
            + """
    work = [cores.WORK + "x" * 2000] * 4
    ids = cores.ids_of("".join(work))
    end = time.monotonic() + 60
    # On a busy machine a caller may have done all of it before a helper has begun.
    while tok._pool.size < 2 and time.monotonic() < end:
        assert tok.encode_batch_ids(work, False)[0] == ids
    print(tok._pool.size > 1)
    """
        )
        == "True"
    )
