"""What kills or hangs a process through wasmtime: a test for each row of docs/rationale/host.md.

K4 (one store in many threads) is in test_pool.py: `test_24_threads_share_one_tokenizer`.
K9 (damaged compiled code) is in test_cache.py, K12 (Ctrl-C) in test_interrupt.py.
"""

from __future__ import annotations

import sys

import pytest

import pywasmtok._host as host
from pywasmtok._host.wasm import config

from .cores import load
from .processes import TRAP_ALL, run


def test_k1_stack_overflow_in_a_thread_with_a_small_stack() -> None:
    code = (
        TRAP_ALL
        + """
    import threading
    from pywasmtok._host.linux import thread_stack

    tok = cores.load()
    said = []

    def work():
        try:
            trap_all(tok)
            said.append("served")
        except errors.HostUnsupported as error:
            said.append("refused")
            assert "stack" in str(error)

    for kib in (128, 256, 511, 512, 1024, 8192):
        threading.stack_size(kib * 1024)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    print(*said)
    """
    )
    # 511 KiB are rounded up to whole pages by the system, which then still are too few.
    assert run(code).split() == ["refused"] * 3 + ["served"] * 3


def test_k1_long_calls_load_and_detect_look_at_the_stack_too() -> None:
    code = """
    import threading
    import cores, pywasmtok.errors as errors, pywasmtok._host as host
    from pywasmtok._host.wasm import core

    core._opened["portable", False] = cores.sample_core(False)
    tok = cores.load()
    threading.stack_size(256 * 1024)
    calls = [
        lambda: tok.encode_ids("x" * cores.LONG),
        lambda: tok.info(),
        lambda: cores.load(),
        lambda: host.detect(b"x", build="portable"),
    ]
    for call in calls:
        refused = []

        def work():
            try:
                call()
            except errors.HostUnsupported:
                refused.append(1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert refused
    print("fine")
    """
    assert run(code) == "fine"


def test_k2_faulthandler_enabled_after_the_engine_exists() -> None:
    code = (
        TRAP_ALL
        + """
    import faulthandler
    tok = cores.load()
    trap_all(tok)
    faulthandler.enable()
    trap_all(tok)
    print("alive")
    """
    )
    assert run(code) == "alive"


def test_k3_compiling_in_a_forked_child() -> None:
    code = """
    import os
    import cores
    from pywasmtok._host.wasm.artifacts import Artifact
    from pywasmtok._host.wasm.cache import Cache
    from pywasmtok._host.wasm.core import Core

    cores.load().encode_ids("the parent has compiled")
    child = os.fork()
    if child == 0:
        Core(Artifact("other", cores.sample_wasm(False)), Cache(None))
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    assert run(code) == "0"


def test_k5_and_k6_nothing_of_wasmtime_is_handed_out() -> None:
    """No Store, no Func, no pointer: what nobody has, nobody can use wrongly."""
    tok = load()
    public = {name for name in dir(tok) if not name.startswith("_")}
    assert public == {
        "about", "build", "close", "closed", "continue_batch", "count", "decode", "decode_batch",
        "decode_bytes", "encode_batch_ids", "encode_full", "encode_full_parts", "encode_ids",
        "encode_ids_with", "encode_pair_ids", "encode_with", "encode_with_full",
        "from_snapshot", "id_to_token", "image", "info", "last_cut", "limited", "retire",
        "short_characters", "short_ids", "stop_new", "stop_step",
        "stream_new", "stream_one", "stream_step", "token_to_id", "truncate", "vocab",
    }  # fmt: skip
    assert set(host.__all__) == {
        "CoreTokenizer", "FullEncoding", "builds", "convert", "describe", "detect", "extent",
        "fingerprint", "load_tokenizer",
    }  # fmt: skip


def test_k7_dropping_everything_while_threads_are_inside_calls() -> None:
    code = """
    import gc, threading, time
    import cores, pywasmtok.errors as errors

    tok = cores.load()
    results = []
    call, pool = tok.encode_ids, tok._pool
    del tok

    def work(call):
        try:
            results.append(call(cores.WORK, False))
        except errors.TokenizerClosed:
            pass  # it had not begun

    # The only references are those of the calls themselves.
    threads = [threading.Thread(target=work, args=(call,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while pool.size == len(pool.idle) and any(thread.is_alive() for thread in threads):
        time.sleep(0.001)
    call.__self__.close()
    del call, pool
    gc.collect()
    for thread in threads:
        thread.join()
    assert results == [cores.ids_of(cores.WORK)] * len(results)
    print(len(results))
    """
    assert int(run(code)) >= 1


@pytest.mark.parametrize("size", [0, 63 * 1024, 3 * 1024 * 1024])
def test_k8_a_stack_limit_that_would_abort_is_refused(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(config, "MAX_WASM_STACK", size)
    with pytest.raises(ValueError, match="MAX_WASM_STACK"):
        config.new_engine(threads=False, by_handlers=False)


def test_k10_exceptions_of_python_never_enter_the_core() -> None:
    """With a Python import, one tenant's exception could be raised in another's call."""
    assert "imports env.now instead of nothing" in run("""
    import wasmtime
    import cores, pywasmtok.errors as errors
    from pywasmtok._host.wasm.artifacts import Artifact
    from pywasmtok._host.wasm.cache import Cache
    from pywasmtok._host.wasm.core import Core

    wasm = wasmtime.wat2wasm('(module (import "env" "now" (func)) (memory (export "memory") 1))')
    try:
        Core(Artifact("odd", bytes(wasm)), Cache(None))
    except errors.ArtifactError as error:
        print(error)
    """)


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="the private module of subinterpreters was renamed there"
)
def test_k11_in_a_subinterpreter_it_refuses_at_once() -> None:
    inside = """
import sys
import pywasmtok._host as host

for call in (lambda: host.load_tokenizer(b"x"), lambda: host.detect(b"x"), host.describe):
    try:
        call()
    except Exception as error:
        opened = "pywasmtok._host.wasm.wasmtime_functions" in sys.modules
        print(type(error).__name__, opened, flush=True)
"""
    code = f"""
    import _xxsubinterpreters as sub
    other = sub.create()
    sub.run_string(other, {inside!r})
    sub.destroy(other)
    """
    assert run(code).splitlines() == ["HostUnsupported False"] * 3


def test_errors_are_typed_for_an_environment_without_address_space() -> None:
    pytest.importorskip("resource")
    code = """
    import resource
    import cores, pywasmtok.errors as errors

    core = cores.sample_core(False)
    resource.setrlimit(resource.RLIMIT_AS, (3 * 1024**3, 3 * 1024**3))
    try:
        cores.load()
    except errors.HostError as error:
        print(type(error).__name__)
    """
    assert run(code) == "HostError"
