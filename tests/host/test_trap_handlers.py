"""Whose the handlers of signals are, and what the core does when they are somebody else's."""

from __future__ import annotations

import sys

import pytest

import pywasmtok
from pywasmtok import errors
from pywasmtok._host.linux import trap_handlers
from pywasmtok._host.wasm import core

from .processes import TRAP_ALL, run

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="handlers are relied on under Linux only"
)

# Says whether the calls of a tokenizer rely on handlers.
START = (
    TRAP_ALL
    + """
    import faulthandler, os, signal
    from pywasmtok._host.linux import trap_handlers

    def relies(tok):
        instance = tok._pool.acquire()
        tok._pool.release(instance)
        return instance.core.by_handlers

    assert not faulthandler.is_enabled()
"""
)


def test_calls_without_bounds_rely_on_handlers_and_those_with_bounds_do_not() -> None:
    assert (
        run(
            START
            + """
    tok = cores.load()
    trap_all(tok)
    bounded = tok.limited(5.0, None), tok.limited(None, 64 << 20)
    for one in bounded:
        assert one.encode_ids("right", False) == cores.ids_of("right")
    print(relies(tok), *map(relies, bounded))
    """
        )
        == "True False False"
    )


def test_long_calls_rely_on_handlers_and_can_be_ended() -> None:
    assert (
        run(
            START
            + """
    tok = cores.load()
    kinds = lambda one: (one.core.by_handlers, one.core.stoppable)
    print(tok._short(kinds), tok._long(kinds), end=" ")
    usual, checked = tok._pool.acquire().core, tok._stoppable().acquire().core.checked()
    assert checked is usual.checked() and usual.with_stops().with_stops() is usual.with_stops()
    faulthandler.enable()
    print(tok._short(kinds), tok._long(kinds))
    trap_all(tok)
    """
        )
        == "(True, False) (True, True) (False, True) (False, True)"
    )


def test_faulthandler_before_the_engine_changes_nothing() -> None:
    assert (
        run(
            START
            + """
    faulthandler.enable()
    tok = cores.load()
    trap_all(tok)
    print(relies(tok))
    """
        )
        == "True"
    )


def test_handlers_that_were_lost_before_are_not_taken_for_wasmtimes() -> None:
    """The program has used wasmtime itself, and it sets its handlers once a process."""
    assert (
        run(
            START
            + """
    import wasmtime
    wasmtime.Engine()
    faulthandler.enable()
    tok = cores.load()
    trap_all(tok)
    print(relies(tok))
    """
        )
        == "False"
    )


LATER = {
    "enabled": "faulthandler.enable()",
    # Puts back what was there before the engine: nothing.
    "disabled": "faulthandler.disable()",
    "python": "signal.signal(signal.SIGSEGV, lambda *_: None)",
    "default": "signal.signal(signal.SIGILL, signal.SIG_DFL)",
}


@pytest.mark.parametrize("change", LATER)
def test_whoever_takes_the_handlers_later_gets_no_fault(change: str) -> None:
    first = "faulthandler.enable()" if change == "disabled" else ""
    assert (
        run(
            START
            + f"""
    {first}
    tok = cores.load()
    trap_all(tok)
    before = relies(tok)
    {LATER[change]}
    # Handlers that faulthandler knows nothing of are seen before many calls are over.
    for _ in range(trap_handlers.CALLS):
        assert tok.encode_ids("right", False) == cores.ids_of("right")
    trap_all(tok)
    print(before, relies(tok), relies(cores.load()))
    """
        )
        == "True False False"
    )


def test_the_very_next_call_sees_faulthandler() -> None:
    assert (
        run(
            START
            + """
    toks = [cores.load(), cores.load()]
    for tok in toks:
        tok.encode_ids("right", False)
    faulthandler.enable()
    for tok in toks:
        trap_all(tok)
    print("alive")
    """
        )
        == "alive"
    )


def test_no_thread_is_waited_for_that_makes_an_instance() -> None:
    """It has the lock of its pool, and may wait for a lock of the thread that looks."""
    assert (
        run(
            START
            + """
    import threading
    tok = cores.load()
    tok.encode_ids("right", False)
    held, done, given_up = threading.Event(), threading.Event(), []
    def hold():
        with tok._pool._lock:
            held.set()
            if not done.wait(10):
                given_up.append(True)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    faulthandler.enable()
    print(trap_handlers.look(), given_up)
    done.set()
    thread.join()
    trap_all(tok)
    """
        )
        == "True []"
    )


def test_an_instance_that_waits_since_the_load_is_looked_at() -> None:
    assert (
        run(
            START
            + """
    import tempfile
    from pywasmtok._host import load_tokenizer
    from pywasmtok._host.snapshots.store import SnapshotStore
    from small_tokenizer import small_file
    store = SnapshotStore(tempfile.mkdtemp())
    # A small file is not worth a snapshot.
    data = small_file() + b" " * store.smallest
    load_tokenizer(data, snapshots=store)
    tok = load_tokenizer(data, snapshots=store)
    faulthandler.enable()
    print(tok.from_snapshot, tok._pool.acquire().core.usable)
    """,
            # The user's, which saves compiling.
            PYWASMTOK_CACHE_DIR="",
        )
        == "True True"
    )


def test_a_long_call_looks_first() -> None:
    assert (
        run(
            START
            + """
    tok = cores.load()
    tok.encode_ids("right", False)
    signal.signal(signal.SIGSEGV, lambda *_: None)
    text = "x" * trap_handlers.BETWEEN_LOOKS
    assert tok.encode_ids(text, False) == cores.ids_of(text)
    print(trap_handlers.lost())
    """
        )
        == "True"
    )


def test_threads_go_on_while_the_handlers_are_lost() -> None:
    """Instances that are out when it happens are not used again."""
    assert (
        run(
            START
            + """
    import threading, time
    tok = cores.load()
    done, wrong = threading.Event(), []

    def work(number):
        text = "right" * (number + 1)
        while not done.is_set():
            if tok.encode_ids(text, False) != cores.ids_of(text):
                wrong.append(number)
            # Else the main thread gets no turn for up to half a minute.
            time.sleep(0.0001)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    held = tok._pool.acquire()
    faulthandler.enable()
    trap_all(tok)
    done.set()
    for thread in threads:
        thread.join()
    assert held.core.by_handlers
    tok._pool.release(held)
    print(wrong, any(one.core.by_handlers for one in tok._pool.idle))
    """
        )
        == "[] False"
    )


def test_nobody_goes_on_before_all_instances_are_dropped() -> None:
    """One thread has seen that the handlers are lost, and is slow to say so."""
    assert (
        run(
            START
            + """
    import threading, time
    tok = cores.load()
    tok.encode_ids("right", False)
    trap_handlers._told.insert(0, lambda: time.sleep(0.3))
    faulthandler.enable()
    thread = threading.Thread(target=tok.encode_ids, args=("right", False))
    thread.start()
    while not trap_handlers.lost():
        pass
    trap_all(tok)
    thread.join()
    print(relies(tok))
    """
        )
        == "False"
    )


def test_a_forked_child_looks_for_itself() -> None:
    assert (
        run(
            START
            + """
    tok = cores.load()
    tok.encode_ids("right", False)
    child = os.fork()
    if child == 0:
        faulthandler.enable()
        trap_all(tok)
        os._exit(0 if not relies(tok) else 1)
    status = os.waitpid(child, 0)[1]
    trap_all(tok)
    print(status, relies(tok))
    """
        )
        == "0 True"
    )


def test_renders_go_on_too() -> None:
    """Whose stack overflows: that is a fault like any other."""
    assert (
        run(
            START
            + """
    import pywasmtok
    from pywasmtok._host.template import pool as template_pool

    deep = "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}"
    tok = pywasmtok.create_tokenizer("builtin:demo")
    messages = [{"role": "user", "content": "hello"}]
    kinds = []
    for change in (lambda: None, faulthandler.enable):
        change()
        for source in (deep, "{{ messages[0]['content'] }}", deep):
            try:
                text = tok.apply_chat_template(messages, chat_template=source, tokenize=False)
                assert text == "hello", text
            except errors.TemplateError:
                assert source is deep
        (pool,) = template_pool.shared._pools.values()
        kinds.append(pool.core.by_handlers)
    print(*kinds)
    """,
            # The user's, which saves compiling all of it.
            PYWASMTOK_CACHE_DIR="",
        )
        == "True False"
    )


def test_the_variable_asks_for_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trap_handlers.VARIABLE, trap_handlers.CHECKS)
    opened = core.open_core(None)
    assert not opened.by_handlers
    assert opened.traps == "checks"
    monkeypatch.setenv(trap_handlers.VARIABLE, "perhaps")
    with pytest.raises(errors.InvalidArgument, match=r"perhaps.*handlers.*checks"):
        core.open_core(None)


def test_it_is_said_once() -> None:
    assert (
        run(
            START
            + """
    import logging
    said = []
    class Kept(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())
    logging.getLogger("pywasmtok").addHandler(Kept())
    logging.getLogger("pywasmtok").setLevel(logging.INFO)
    tok = cores.load()
    faulthandler.enable()
    for _ in range(3):
        tok.encode_ids("right", False)
        cores.load()
    said = [one for one in said if "handlers" in one]
    assert "PYWASMTOK_TRAPS=checks" in said[0]
    print(len(said))
    """
        )
        == "1"
    )


def test_both_kinds_of_code_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compiled from one module: what differs is how a fault is found."""
    texts = ["", "Hello world, héllo 你好", " \n\t" * 99, "it's 12345 " * 3000, "x" * 70_000]
    with pywasmtok.create_tokenizer("builtin:demo", decoder="core") as quick:
        monkeypatch.setenv(trap_handlers.VARIABLE, trap_handlers.CHECKS)
        with pywasmtok.create_tokenizer("builtin:demo", decoder="core") as checked:
            for text in texts:
                ids = quick.encode(text).ids
                assert ids == checked.encode(text).ids
                assert quick.decode(ids) == checked.decode(ids) == text
