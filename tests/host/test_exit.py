"""The interpreter ends cleanly whatever is still alive."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from signals import StopError, arrive, handled

from pywasmtok._host.wasm import config, wasmtime_functions
from pywasmtok._host.wasm.wasmtime_objects import Store

from .processes import run


@pytest.mark.parametrize("threads", [False, True])
def test_with_live_tokenizers(threads: bool) -> None:
    assert (
        run(f"""
    import cores
    tok = cores.load(threads={threads})
    tok.encode_ids("x")
    tok.encode_ids("x" * cores.LONG)
    kept = [tok]
    kept.append(kept)
    print("end")
    """)
        == "end"
    )


@pytest.mark.parametrize("threads", [False, True])
def test_with_tokenizers_that_outlive_the_modules(threads: bool) -> None:
    """A main program that something still refers to, as dill does and thus multiprocess and
    datasets, is cleared after all modules that it imports."""
    assert (
        run(f"""
    import sys, __main__
    sys.kept = __main__
    import cores
    tok = cores.load(threads={threads})
    tok.encode_ids("x" * cores.LONG)
    print("end")
    """)
        == "end"
    )


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("text", ["cores.SPIN", "cores.WORK", "cores.SPIN + 'x' * cores.LONG"])
def test_with_daemon_threads_inside_the_core(threads: bool, text: str) -> None:
    assert (
        run(f"""
    import threading, time
    import cores
    tok = cores.load(threads={threads})
    text = {text}
    for _ in range(2):
        threading.Thread(target=lambda: tok.encode_ids(text), daemon=True).start()
    time.sleep(0.1)
    print("end")
    """)
        == "end"
    )


def test_after_an_interrupted_call() -> None:
    assert (
        run("""
    import signal
    import cores
    tok = cores.load()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        tok.encode_ids(cores.SPIN + "x" * cores.LONG)
    except KeyboardInterrupt:
        print("end")
    """)
        == "end"
    )


def test_calls_while_the_interpreter_ends() -> None:
    assert run("""
    import atexit, weakref
    import cores
    tok = cores.load()

    class Last:
        def __del__(self):
            assert tok.encode_ids("x", False) == cores.ids_of("x")
            print("deleted")

    @atexit.register
    def late():
        assert tok.encode_ids("x" * cores.LONG, False) == cores.ids_of("x" * cores.LONG)
        print("atexit")

    last = Last()
    """).splitlines() == ["atexit", "deleted"]


def test_importing_the_host_does_not_import_wasmtime() -> None:
    assert (
        run("""
    import sys
    import pywasmtok._host
    print("wasmtime" in sys.modules)
    """)
        == "False"
    )


def test_a_store_that_was_never_completed_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    noise: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    engine = config.new_engine(False, False)
    with handled(), monkeypatch.context() as patched:
        patched.setattr(wasmtime_functions, "store_context", arrive)
        with pytest.raises(StopError):
            Store(engine)
    gc.collect()
    assert noise == []
