"""Locks of the package: what a signal handler raises leaves none of them locked."""

from __future__ import annotations

import sys

import pytest
from host.processes import run


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.skipif(
    sys.version_info >= (3, 14),
    reason="in Python 3.14, a signal handler can run between taking a lock and the body of `with`",
)
@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("from pywasmtok._locks import ForkSafeLock; lock = ForkSafeLock()", "lock"),
        ("from pywasmtok._host.wasm.fork import creation", "creation()"),
        ("import cores; pool = cores.load()._pool", "pool._lock"),
    ],
    ids=["fork-safe", "creation", "pool"],
)
def test_an_exception_of_a_signal_handler_at_any_moment(made: str, taken: str) -> None:
    code = f"""
    import random, signal, threading
    {made}

    class Stop(Exception): pass
    def stop(*_): raise Stop
    signal.signal(signal.SIGALRM, stop)
    moments, stopped = random.Random(1), 0
    for _ in range(20_000):
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + 3e-5 * moments.random())
            while True:
                with {taken}:
                    pass
        except Stop:
            stopped += 1

    def take():
        with {taken}:
            print("free", stopped == 20_000)

    other = threading.Thread(target=take, daemon=True)
    other.start()
    other.join(10)
    """
    assert run(code) == "free True"
