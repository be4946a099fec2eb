"""What is refused or fails is gone when it has been answered: strangers decide how often that is,
and what only a collection of garbage finds makes everybody wait for that."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pywasmtok.server.app import create_app
from pywasmtok.server.auth.identity import Failures
from pywasmtok.server.errors import MethodNotAllowed
from pywasmtok.server.requests.strict_json import decode
from pywasmtok.server.scheduling.executor import ThreadWork, watch
from pywasmtok.tenants.errors import Cancelled, TooManyRequests

from .direct_work import service_without_threads
from .test_body import Asked
from .test_executor import SECONDS, tenant, working


@pytest.fixture(autouse=True)
def nothing_is_collected() -> Iterator[None]:
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def gone(call: Callable[[], Any]) -> bool:
    """Whether nothing is left of the error that this raises."""
    left = None
    try:
        call()
    except Exception as error:
        left = weakref.ref(error)
    assert left is not None
    return left() is None


class FailedError(Exception):
    pass


def test_an_error_of_a_thread() -> None:
    made: list[weakref.ref[FailedError]] = []

    def fails() -> None:
        error = FailedError()
        made.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    async def ask(work: ThreadWork) -> None:
        for inline in (False, True):
            with pytest.raises(FailedError):
                await work.run(tenant(), 1, fails, inline=inline)

    with working() as work:
        asyncio.run(ask(work))
    assert [one() for one in made] == [None, None]


def test_a_caller_who_leaves() -> None:
    open_, begun = threading.Event(), threading.Event()

    def waits() -> None:
        begun.set()
        assert open_.wait(SECONDS)

    async def receive() -> Any:
        while not begun.is_set():
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    left: list[weakref.ref[BaseException]] = []

    async def ask(work: ThreadWork) -> None:
        watch(receive)
        try:
            await work.run(tenant(), 1, waits)
        except Cancelled as error:
            left.append(weakref.ref(error))

    with working() as work:
        try:
            asyncio.run(ask(work))
        finally:
            open_.set()
    assert [one() for one in left] == [None]


def test_one_call_too_many() -> None:
    left: list[weakref.ref[BaseException]] = []

    async def ask(work: ThreadWork) -> None:
        for who in (tenant(queued=0, concurrent=0), tenant("other")):
            try:
                await work.run(who, 1, lambda: None)
            except Exception as error:
                left.append(weakref.ref(error))
            work.close()

    with working() as work:
        asyncio.run(ask(work))
    assert [one() for one in left] == [None, None]


def test_a_key_that_is_wrong_once_too_often() -> None:
    failures = Failures(rate=0.001, burst=1.0)
    failures.count("10.0.0.1")
    with pytest.raises(TooManyRequests):
        failures.count("10.0.0.1")
    assert gone(lambda: failures.count("10.0.0.1"))


def test_a_long_string_that_is_none() -> None:
    body = b'{"text":"' + b"a" * (300 << 10) + b'\\x"}'
    assert gone(lambda: decode(body, Asked))


def test_a_method_that_a_path_does_not_have() -> None:
    app: Any = create_app(service_without_threads())
    scope = {"type": "http", "method": "PATCH", "path": "/tokenize"}
    with pytest.raises(MethodNotAllowed):
        app._find(scope, "/tokenize")
    assert gone(lambda: app._find(scope, "/tokenize"))
