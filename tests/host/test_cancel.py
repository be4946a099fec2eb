"""Calls that end because somebody left, and nobody else's call with them."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import pywasmtok._host as host
from pywasmtok._host.calls.cancel import CancelToken, cancellable, current
from pywasmtok._host.calls.tokenizer import CoreTokenizer
from pywasmtok._host.wasm import wasmtime_functions, wasmtime_machine
from pywasmtok.chat.contract import RenderRequest, TemplateLimits
from pywasmtok.chat.rendering.sandbox import renderer
from pywasmtok.errors import Cancelled, DeadlineExceeded, TemplateLimitExceeded

from .cores import LONG, SPIN, ids_of, sample_core
from .test_deadlines import in_time

FOREVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def bounded() -> CoreTokenizer:
    return host.load_with(sample_core(False), b"a file", deadline=60)


def begun(tok: CoreTokenizer, token: CancelToken, text: str = SPIN) -> Future[bytes]:
    """Starts a call, and returns when it is inside the core."""
    executor = ThreadPoolExecutor(1)

    def call() -> bytes:
        with cancellable(token):
            return tok.encode_ids(text, False)

    busy = tok._pool.size - len(tok._pool.idle)
    future = executor.submit(call)
    executor.shutdown(wait=False)
    end = time.monotonic() + 30
    # Helper threads may have come and gone: idle instances say nothing.
    while tok._pool.size - len(tok._pool.idle) <= busy:
        assert time.monotonic() < end
        time.sleep(0.001)
    return future


@pytest.mark.parametrize("text", [SPIN, SPIN + "x" * LONG], ids=["short", "long"])
def test_a_call_ends_when_it_is_cancelled(text: str) -> None:
    tok, token = bounded(), CancelToken()
    future = begun(tok, token, text)
    token.cancel()
    with pytest.raises(Cancelled):
        future.result(30)
    assert tok.encode_ids("right", False) == ids_of("right")


def test_others_go_on() -> None:
    """A hundred calls are cancelled; one beside them, on the same engine, is never thrown back."""
    tok, mine = bounded(), CancelToken()
    steady = begun(tok, mine)
    (instance,) = tok._pool._live
    for _ in range(100):
        token = CancelToken()
        other = ThreadPoolExecutor(1)

        def call(token: CancelToken = token) -> None:
            with cancellable(token):
                tok.encode_ids(SPIN, False)

        future = other.submit(call)
        token.cancel()
        with pytest.raises(Cancelled):
            future.result(30)
        other.shutdown()
    assert not steady.done()
    # Whoever was thrown back would be in another instance.
    assert instance in tok._pool._live
    assert not instance.broken
    mine.cancel()
    with pytest.raises(Cancelled):
        steady.result(30)


def test_nothing_begins_that_was_cancelled() -> None:
    tok, token = bounded(), CancelToken()
    token.cancel()
    with pytest.raises(Cancelled), cancellable(token):
        raise AssertionError
    later = CancelToken()
    with cancellable(later):
        assert tok.encode_ids("a", False) == ids_of("a")
        later.cancel()
        with pytest.raises(Cancelled):
            tok.encode_ids("a", False)
    assert current() is None
    assert tok.encode_ids("a", False) == ids_of("a")


def test_deadlines_hold_as_before() -> None:
    """With a token that nobody uses, and afterwards in the same instance without one."""
    tok = bounded().limited(0.1, None)
    late: list[float] = []

    def work() -> None:
        for token in (CancelToken(), None, CancelToken()):
            began = time.monotonic()
            with cancellable(token), pytest.raises(DeadlineExceeded):
                tok.encode_ids(SPIN, False)
            late.append(time.monotonic() - began - 0.1)
            with cancellable(CancelToken()):
                assert in_time(tok, "right") == ids_of("right")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert len(late) == 3
    assert min(late) >= 0


def test_in_the_main_thread_calls_end_at_their_deadline() -> None:
    tok = bounded().limited(0.1, None)

    def watched() -> None:
        with cancellable(CancelToken()):
            in_time(tok, "x")

    thread = threading.Thread(target=watched)
    thread.start()
    thread.join()
    assert tok._pool.idle[0].watched
    with pytest.raises(DeadlineExceeded), cancellable(CancelToken()):
        tok.encode_ids(SPIN, False)
    # Long ones are made by another thread, and can be cancelled.
    token = CancelToken()
    slow = bounded()
    timer = threading.Timer(0.05, token.cancel)
    timer.start()
    with pytest.raises(Cancelled), cancellable(token):
        slow.encode_ids(SPIN + "x" * LONG, False)


def test_reading_a_file() -> None:
    token, raised = CancelToken(), []

    def load() -> None:
        try:
            with cancellable(token):
                host.load_with(sample_core(False), SPIN.encode(), deadline=60)
        except Cancelled as error:
            raised.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    token.cancel()
    thread.join(30)
    assert len(raised) == 1


def test_templates() -> None:
    limits = TemplateLimits(deadline=60, fuel=1 << 62)
    template = renderer().compile(FOREVER, limits=limits)
    hasty = renderer().compile(FOREVER, limits=TemplateLimits(deadline=0.05, fuel=1 << 62))
    request = RenderRequest([{"role": "user", "content": "Hi"}])
    token, entered, raised = CancelToken(), threading.Event(), []

    def render() -> None:
        try:
            with cancellable(token):
                entered.set()
                template.render(request)
        except Cancelled as error:
            raised.append(error)
        with cancellable(CancelToken()), pytest.raises(TemplateLimitExceeded) as caught:
            hasty.render(request)
        assert caught.value.feature == "deadline"
        raised.append(caught.value)

    thread = threading.Thread(target=render)
    thread.start()
    entered.wait(30)
    token.cancel()
    thread.join(60)
    assert len(raised) == 2
    assert renderer().compile("{{ messages[0].content }}").render(request).text == "Hi"


def test_one_that_waits_for_an_instance() -> None:
    tok, token = bounded(), CancelToken()
    taken = [tok._pool.acquire() for _ in range(tok._pool.limit)]
    executor = ThreadPoolExecutor(1)

    def call() -> None:
        with cancellable(token):
            tok.encode_ids("x", False)

    future = executor.submit(call)
    token.cancel()
    with pytest.raises(Cancelled):
        future.result(30)
    for instance in taken:
        tok._pool.release(instance)
    executor.shutdown()


def test_threads_that_need_the_callback_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores have its address: if one were freed, its next call would end the process."""
    both, make = threading.Barrier(2), wasmtime_functions.DeadlineCallback
    made: list[weakref.ref[Any]] = []

    def together(ask: Any) -> Any:
        both.wait(60)
        callback = make(ask)
        made.append(weakref.ref(callback))
        return callback

    monkeypatch.setattr(wasmtime_functions, "DeadlineCallback", together)
    monkeypatch.setattr(wasmtime_machine, "_callbacks", [])
    with ThreadPoolExecutor(2) as threads:
        for one in [threads.submit(wasmtime_machine._ask_in_c) for _ in range(2)]:
            one.result(60)
        del one
    gc.collect()
    assert len([callback for callback in made if callback() is not None]) == 2
