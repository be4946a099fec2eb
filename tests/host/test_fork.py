"""Processes that fork with tokenizers loaded, as servers do."""

from __future__ import annotations

import os

import pytest

from .processes import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

SETUP = """
    import os, threading, time
    import cores

    def check(tok):
        for text in ("child", "x" * cores.LONG):
            assert tok.encode_ids(text, False) == cores.ids_of(text)

    def in_child(work):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        return os.waitpid(child, 0)[1]
"""


@pytest.mark.parametrize("threads", [False, True])
def test_fork_before_and_after_loading(threads: bool) -> None:
    assert (
        run(
            SETUP
            + f"""
    first = in_child(lambda: check(cores.load(threads={threads})))
    tok = cores.load(threads={threads})
    check(tok)
    second = in_child(lambda: check(tok))
    third = in_child(lambda: check(cores.load(threads={threads})))
    check(tok)
    print(first, second, third)
    """
        )
        == "0 0 0"
    )


@pytest.mark.parametrize("threads", [False, True])
def test_fork_while_other_threads_are_inside_the_core(threads: bool) -> None:
    assert (
        run(
            SETUP
            + f"""
    tok = cores.load(threads={threads})
    check(tok)
    results = []
    busy = [
        threading.Thread(target=lambda: results.append(tok.encode_ids(cores.WORK, False)))
        for _ in range(3)
    ]
    for thread in busy:
        thread.start()
    time.sleep(0.05)

    def child():
        # All instances that it may have are there for it again.
        pool = tok._pool
        taken = [pool.acquire() for _ in range(pool.limit)]
        assert len(set(taken)) == pool.limit
        for instance in taken:
            pool.release(instance)
        check(tok)
        tok.close()

    print(in_child(child))
    for thread in busy:
        thread.join()
    check(tok)
    print(results == [cores.ids_of(cores.WORK)] * 3)
    """
        )
        == "0\nTrue"
    )


def test_fork_while_another_thread_holds_the_locks() -> None:
    """It loads, traps and closes all the time: each fork must find the locks free."""
    assert (
        run(
            SETUP
            + """
    tok = cores.load()
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            other = cores.load()
            other.encode_ids("x")
            for shared in (tok, other):
                try:
                    shared.encode_ids("\\1u")
                except Exception:
                    pass
            other.close()

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()

    def child():
        check(tok)
        check(cores.load())

    print(sum(in_child(child) for _ in range(20)))
    stop.set()
    for thread in threads:
        thread.join()
    """
        )
        == "0"
    )


def test_a_pool_of_forked_processes() -> None:
    assert (
        run("""
    import multiprocessing
    import cores

    tok = cores.load()
    tok.encode_ids("warm")

    def work(n):
        text = f"text {n} " + "x" * n
        return tok.encode_ids(text, False) == cores.ids_of(text)

    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(all(pool.map(work, range(300))))
    """)
        == "True"
    )


def test_ctrl_c_works_in_the_child() -> None:
    assert (
        run(
            SETUP
            + """
    import signal
    tok = cores.load()
    check(tok)

    def child():
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            tok.encode_ids(cores.SPIN + "x" * cores.LONG)
        except KeyboardInterrupt:
            check(tok)
            return
        raise AssertionError

    print(in_child(child))
    """
        )
        == "0"
    )
