"""Deadlines and memory caps of the core: kept while others hog the GIL, after traps and forks."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
import time
import weakref
from functools import partial

import pytest

import pywasmtok
import pywasmtok._host as host
from pywasmtok import errors
from pywasmtok._host.calls import deadline, ticker
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.linux import timer
from pywasmtok._host.wasm.cache import Cache
from pywasmtok._host.wasm.instance import Instance

from .cores import LONG, SPIN, TRAPS, ids_of, load, sample_core
from .hogs import measured
from .processes import run

SLOW = os.environ.get("PYWASMTOK_SLOW") == "1"
MIB = 1 << 20

slow = pytest.mark.skipif(not SLOW, reason="takes minutes: PYWASMTOK_SLOW=1")
only_linux = pytest.mark.skipif(not timer._library(), reason="no timers that need no Python")


def bounded(seconds: float | None = 0.05, memory: int | None = None) -> CoreTokenizer:
    """Its calls have the deadline; its loading has as long as a busy machine may need."""
    return host.load_with(sample_core(False), b"a file").limited(seconds, memory)


def _encoded(data: bytes, instance: Instance) -> bytes:
    return instance.encode_ids(data, 0)


def lateness(tok: CoreTokenizer, text: str, seconds: float) -> float:
    began = time.monotonic()
    with pytest.raises(errors.DeadlineExceeded) as caught:
        tok.encode_ids(text, False)
    took = time.monotonic() - began
    assert caught.value.limit == seconds
    assert seconds <= (caught.value.asked or 0) <= took + 0.001
    return took - seconds


def in_time(tok: CoreTokenizer, text: str) -> bytes:
    """A busy machine may not give the call a processor for as long as its deadline."""
    while True:
        with contextlib.suppress(errors.DeadlineExceeded):
            return tok.encode_ids(text, False)


@pytest.mark.parametrize("text", [SPIN, SPIN + "x" * LONG], ids=["short", "long"])
def test_a_call_ends_at_its_deadline(text: str) -> None:
    tok = bounded()
    with deadline.within(0.05):
        lateness(tok, text, 0.05)
    assert in_time(tok, "right") == ids_of("right")
    assert in_time(tok, "y" * LONG) == ids_of("y" * LONG)


def test_in_another_thread() -> None:
    tok, late = bounded(), []
    thread = threading.Thread(target=lambda: late.append(lateness(tok, SPIN, 0.05)))
    thread.start()
    thread.join()
    assert len(late) == 1


def test_loading_ends_at_the_deadline() -> None:
    with pytest.raises(errors.DeadlineExceeded):
        host.load_with(sample_core(False), SPIN.encode(), deadline=0.05)


def test_time_that_is_not_the_calls_own_does_not_count() -> None:
    """Compiling takes seconds, once a machine. It must not cost the call that needs it first."""
    with deadline.within(60), deadline.within(30):
        inner = deadline.current()
        assert inner is not None
        assert inner.outer is not None
        before = inner.at, inner.outer.at
        with deadline.paused():
            time.sleep(0.05)
        assert inner.at - before[0] >= 0.05
        assert inner.outer.at - before[1] >= 0.05


def test_the_first_call_on_a_machine_has_its_whole_deadline() -> None:
    """Compiling inside `create_tokenizer` takes longer than the deadline here."""
    code = """
    import time, types
    import pywasmtok
    from pywasmtok._host.calls import deadline
    from pywasmtok._host.wasm import core
    compiled = core._compiled
    def slowly(*arguments):
        deadline.time = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 60)
        return compiled(*arguments)
    core._compiled = slowly
    tok = pywasmtok.create_tokenizer("builtin:demo", limits=pywasmtok.Limits(deadline=30))
    print(tok.encode("x").ids)
    """
    ids = pywasmtok.create_tokenizer("builtin:demo").encode("x").ids
    # What was compiled before is at hand: the processor is not what this waits for. What was parsed
    # before is not: nothing would look at the deadline.
    cache = str(Cache.for_user().directory or "off")
    assert run(code, PYWASMTOK_CACHE_DIR=cache, PYWASMTOK_SNAPSHOTS="off") == str(ids)


def test_never_too_early() -> None:
    tok = bounded(0.033)
    assert min(lateness(tok, SPIN, 0.033) for _ in range(10)) >= 0


def test_ticks_cover_the_time() -> None:
    assert [ticker.ticks(n * ticker.PERIOD) for n in (0.1, 1, 1.5, 7, 100)] == [2, 2, 3, 8, 101]


def test_a_view_of_a_view_is_closed_with_the_tokenizer_and_no_cycle_keeps_it() -> None:
    plain = load()
    inner = plain.limited(5.0, None).limited(1.0, None)
    assert inner.encode_ids("right", False) == ids_of("right")
    inner.close()
    assert inner.encode_ids("right", False) == ids_of("right")
    plain.close()
    with pytest.raises(errors.TokenizerClosed):
        inner.encode_ids("right", False)
    gone = [weakref.ref(plain), weakref.ref(inner)]
    del plain, inner
    assert [one() for one in gone] == [None, None]


def test_calls_without_a_deadline_see_no_clock() -> None:
    """Also those that can be interrupted, which is how the main thread makes long calls."""
    plain = load()
    view = plain.limited(0.02, None)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(plain.encode_ids("z" * LONG, False)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for _ in range(5):
        lateness(view, SPIN, 0.02)
        assert plain.encode_ids("z" * LONG, False) == ids_of("z" * LONG)
    for thread in threads:
        thread.join()
    assert results == [ids_of("z" * LONG)] * 3


def test_waiting_for_an_instance_counts() -> None:
    tok = bounded(0.05)
    taken = [tok._pool.acquire() for _ in range(tok._pool.limit)]
    with pytest.raises(errors.DeadlineExceeded):
        tok.encode_ids("x", False)
    for instance in taken:
        tok._pool.release(instance)
    assert in_time(tok, "x") == ids_of("x")


def test_the_memory_of_a_call() -> None:
    tok = bounded(None, 16 * MIB)
    for text in ("\1g", "x" * (16 * MIB - 8), "x" * (17 * MIB)):
        with pytest.raises(errors.MemoryLimit) as caught, deadline.within(None):
            tok._short(partial(_encoded, text.encode()))
        assert caught.value.limit == 16 * MIB
        assert tok.encode_ids("right", False) == ids_of("right")
    assert all(instance.size <= 16 * MIB for instance in tok._pool.idle)


def test_memory_that_others_have_used_up_is_no_reason() -> None:
    tok = bounded(None, 16 * MIB)
    # Each leaves a larger buffer behind: without a new instance the last would not fit.
    for size in (1, 2, 2.5):
        data = b"x" * int(size * MIB)
        assert len(tok._short(partial(_encoded, data))) == 4 * len(data)


def test_other_traps_are_none_of_memory() -> None:
    tok = bounded(None, 16 * MIB)
    for text, name in TRAPS.items():
        expected = errors.MemoryLimit if name == "UNREACHABLE" else errors.CoreTrap
        with pytest.raises(expected):
            tok.encode_ids(text)
    with pytest.raises(errors.CoreTrap, match="the test core panicked"):
        tok.encode_ids("\1p")


def test_others_see_nothing_of_it() -> None:
    """Attackers and good callers share a tokenizer; every instance that trapped is replaced."""
    tok = bounded(0.03, 16 * MIB)
    wrong: list[object] = []
    stop = threading.Event()
    faults = 0

    def good(seed: int) -> None:
        source = random.Random(seed)
        while not stop.is_set():
            text = "".join(source.choices("abc é", k=source.randrange(1, 50)))
            try:
                if tok.encode_ids(text, False) != ids_of(text):
                    wrong.append(text)
            except errors.DeadlineExceeded:
                # A machine with other work may take this long; the answer is never wrong.
                pass
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=good, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + (20 if SLOW else 2)
    attacks = [SPIN, *TRAPS, "\1p"]
    while time.monotonic() < end or faults <= len(attacks):
        with pytest.raises((errors.LimitExceeded, errors.CoreTrap)):
            tok.encode_ids(attacks[faults % len(attacks)], False)
        faults += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert not any(instance.broken for instance in tok._pool.idle)


@only_linux
def test_nothing_of_python_ticks_where_there_are_timers() -> None:
    lateness(bounded(), SPIN, 0.05)
    assert not ticker.ticker._by_hand


@only_linux
@pytest.mark.parametrize("trials", [40, pytest.param(5000, marks=slow)])
def test_deadlines_while_others_hog_the_gil(trials: int) -> None:
    """The guest ends in time. Its caller then needs the GIL, in turn with four hogs that each keep
    it for 5 ms at least: so long is an answer late, and no ticker can change that."""
    late = measured(trials)
    assert late.caller[0] >= 0
    if not late.guest:
        pytest.skip("no C compiler: when the guest ended is not known")
    assert late.guest[int(0.99 * (trials - 1))] <= 2 * ticker.PERIOD or not SLOW, late.text()
    # A machine with other work must not make this fail: a ticker that stands still does.
    assert late.guest[trials // 2] < 10 * ticker.PERIOD, late.text()


def test_after_a_fork() -> None:
    code = """
    import os, sys, time
    import cores
    import pywasmtok._host as host
    from pywasmtok import errors
    tok = host.load_with(cores.sample_core(False), b"a file").limited(0.05, None)
    def late():
        began = time.monotonic()
        try:
            tok.encode_ids(cores.SPIN)
        except errors.DeadlineExceeded:
            return time.monotonic() - began
    def in_time():
        while True:
            try:
                return tok.encode_ids("x", False)
            except errors.DeadlineExceeded:
                pass
    assert late() < 60
    for _ in range(3):
        child = os.fork()
        if not child:
            os._exit(0 if late() < 60 and in_time() == cores.ids_of("x") else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert late() < 60
    print("done")
    """
    assert run(code) == "done"


def test_forks_while_timers_tick() -> None:
    """The C library calls for a timer under a lock that a child would wait for."""
    code = """
    import os
    import cores
    import pywasmtok._host as host
    tok = host.load_with(cores.sample_core(False), b"a file", deadline=60)
    # Memory to copy makes forks take longer than it is from one tick to the next.
    memory = bytearray(64 << 20)
    for _ in range(40):
        assert tok.encode_ids("x", False) == cores.ids_of("x")
        child = os.fork()
        if not child:
            os._exit(0 if tok.encode_ids("x", False) == cores.ids_of("x") else 1)
        assert os.waitpid(child, 0)[1] == 0
    print("done")
    """
    assert run(code) == "done"


@pytest.mark.parametrize("how", ["", "sys.exit()", "os._exit(0)", "raise SystemExit"])
def test_the_end_of_a_process_waits_for_nothing(how: str) -> None:
    code = f"""
    import os, sys, threading
    import cores
    import pywasmtok._host as host
    from pywasmtok import errors
    tok = host.load_with(cores.sample_core(False), b"a file").limited(0.05, None)
    try:
        tok.encode_ids(cores.SPIN)
    except errors.DeadlineExceeded:
        print("done", flush=True)
    slow = tok.limited(60, None)
    threading.Thread(target=slow.encode_ids, args=("x",), daemon=True).start()
    {how}
    """
    for _ in range(3):
        assert run(code) == "done"


def test_ctrl_c_ends_a_call_that_has_a_deadline() -> None:
    code = """
    import signal
    import cores
    import pywasmtok._host as host
    # Longer than this test may take.
    tok = host.load_with(cores.sample_core(False), b"a file", deadline=1000)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for _ in range(5):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            tok.encode_ids(cores.SPIN + "x" * cores.LONG)
        except KeyboardInterrupt:
            print("stopped")
    """
    assert run(code).split() == ["stopped"] * 5


if sys.platform == "win32":
    del test_forks_while_timers_tick, test_after_a_fork, test_ctrl_c_ends_a_call_that_has_a_deadline
