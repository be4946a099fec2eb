"""K12: Ctrl-C ends a long call, and is not kept until after it."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from pywasmtok._host.calls import interrupt
from pywasmtok._host.calls.long_text import LONG_TEXT
from pywasmtok._host.wasm.instance import Instance
from pywasmtok._host.wasm.status import Interrupted

from .cores import LONG, ids_of, load
from .processes import finish, run, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

SETUP = """
    import os, signal, sys, threading, time
    import cores
    # What a shell starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tok = cores.load()
    text = cores.SPIN + "x" * cores.LONG
"""

CALLS = {
    "encode_ids": "tok.encode_ids(text)",
    "encode_pair_ids": "tok.encode_pair_ids(text, text, True)",
    "encode_full": "tok.encode_full(text, None, True)",
    "load": "cores.load(cores.SPIN.encode())",
}


@pytest.mark.parametrize("call", ["encode_ids", "encode_full", "load"])
def test_k12_ctrl_c_during_a_call(call: str) -> None:
    process = start(
        SETUP
        + f"""
    try:
        print("ready", flush=True)
        {CALLS[call]}
    except KeyboardInterrupt:
        # The call spins for ever: it was stopped.
        print("stopped")
    assert tok.encode_ids("right", False) == cores.ids_of("right")
    assert tok.encode_ids("y" * cores.LONG, False) == cores.ids_of("y" * cores.LONG)
    """
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert finish(process) == "stopped"


# With parts that are long themselves.
LARGE = {
    "details": "tok.encode_full(text, None, True)",
    "a text": "tok.encode_ids(text)",
}


@pytest.mark.parametrize("call", LARGE)
def test_k12_where_short_calls_cannot_be_ended(call: str) -> None:
    """Code without checks never looks whether it is to end; what may be long runs in the other."""
    code = (
        SETUP
        + f"""
    assert not tok._short(lambda one: one.core.stoppable)
    assert tok._long(lambda one: one.core.stoppable)
    tok._parallel.part = tok._parallel.smallest = 1 << 20
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        {LARGE[call]}
    except KeyboardInterrupt:
        print("stopped")
    # No thread is left that still works at it.
    spent = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - spent < 0.2
    assert tok.encode_ids("y" * cores.LONG, False) == cores.ids_of("y" * cores.LONG)
    """
    )
    assert run(code) == "stopped"


def test_k12_a_load_that_nobody_waits_for_ends_with_its_thread() -> None:
    code = (
        SETUP
        + """
    def threads():
        return [one for one in threading.enumerate() if one.name == "pywasmtok-calls"]

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        cores.load(cores.WORK.encode())
    except KeyboardInterrupt:
        print("stopped")
    left = threads()
    assert cores.load(b"another").encode_ids("right", False) == cores.ids_of("right")
    for one in left:
        one.join(20)
    print(len(left), len(threads()))
    """
    )
    assert run(code).split() == ["stopped", "1", "1"]


def test_k12_ctrl_c_again_and_again() -> None:
    code = (
        SETUP
        + """
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for n in range(5):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02 * n or 0.0001)
            tok.encode_ids(text)
        except KeyboardInterrupt:
            print("stopped")
        assert tok.encode_ids("right", False) == cores.ids_of("right")
    """
    )
    assert run(code).split() == ["stopped"] * 5


def test_a_handler_that_does_not_raise_lets_the_call_go_on() -> None:
    code = (
        SETUP
        + """
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    text = cores.WORK + "x" * cores.LONG
    ids = cores.ids_of(text)
    # Those that come while the process has no processor are one.
    while len(seen) < 4:
        seen.clear()
        assert tok.encode_ids(text, False) == ids
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("done")
    """
    )
    assert run(code) == "done"


def test_a_handler_that_makes_long_calls_itself() -> None:
    """Its call is cancelled by its own exception; the interrupted one starts over."""
    code = (
        SETUP
        + """
    def handler(*_):
        signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            tok.encode_ids(text)
        except TimeoutError:
            print("stopped")

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    work = cores.WORK + "x" * cores.LONG
    print(tok.encode_ids(work, False) == cores.ids_of(work))
    """
    )
    assert run(code) == "stopped\nTrue"


def test_calls_of_other_threads_go_on() -> None:
    code = (
        SETUP
        + """
    results = []
    work = cores.WORK + "x" * cores.LONG
    thread = threading.Thread(target=lambda: results.append(tok.encode_ids(work, False)))
    thread.start()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        tok.encode_ids(text)
    except KeyboardInterrupt:
        print("stopped")
    thread.join()
    print(results == [cores.ids_of(work)])
    """
    )
    assert run(code) == "stopped\nTrue"


def test_a_call_hit_by_the_cancelling_of_another_starts_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tok = load()
    real = interrupt.run
    hits: list[Instance] = []

    def hit_once(instance: Instance, work: Callable[[Instance], Any]) -> Any:
        if not hits:
            hits.append(instance)
            raise Interrupted
        return real(instance, work)

    monkeypatch.setattr(interrupt, "run", hit_once)
    assert tok.encode_pair_ids("x" * LONG, "y", False) == ids_of("x" * LONG + "y")
    assert hits[0] not in tok._pool.idle


def test_cancelling_before_the_call_has_begun_ends_it_too() -> None:
    tok = load()
    instance = tok._pool.acquire()
    instance.cancel()
    with pytest.raises(Interrupted):
        instance.interruptible(lambda one: one.encode_ids(b"x", 0))


@pytest.mark.parametrize("size", [LONG_TEXT - 1, LONG_TEXT])
def test_from_which_size_on_calls_can_be_ended(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = load()
    real = Instance.count
    seen = []

    def count(instance: Instance, text: bytes, flags: int, limit: int) -> int:
        seen.append(instance)
        return real(instance, text, flags, limit)

    monkeypatch.setattr(Instance, "count", count)
    elsewhere = Thread(target=lambda: tok.count("x" * size, False, False))
    elsewhere.start()
    elsewhere.join()
    assert tok.count("x" * size, False, False) == size
    in_thread, in_main = seen
    quick = tok._pool.acquire()
    assert in_thread is quick
    # Whoever has taken the handlers of this process, there is but one kind.
    usual = quick.core.stoppable
    assert (in_main is quick) == (size < LONG_TEXT or usual)
    assert in_main.core.stoppable == (size >= LONG_TEXT or usual)


def test_only_the_main_thread_needs_a_helper() -> None:
    tok = load()
    names = []

    def work(instance: Instance) -> None:
        names.append(threading.current_thread().name)

    interrupt.run(tok._pool.acquire(), work)
    thread = threading.Thread(target=interrupt.run, args=(tok._pool.acquire(), work), name="mine")
    thread.start()
    thread.join()
    assert names == ["pywasmtok-calls", "mine"]
