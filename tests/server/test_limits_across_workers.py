"""A tenant has each of its limits once, however many workers the server has; so are its numbers."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tools.verify.attack.place import workers_of

from .live import Connection
from .serving import until
from .test_across_workers import Many, many, sent, words

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the workers share a listening socket"
)

TENANT = "/api/v1/tenants/acme"
MODEL = "/api/v1/tokenizers/model"
# This pattern has much work with each run of `a`: a minute for the text.
SPIN = "/api/v1/tokenizers/spin?pattern=(a%2B)%2B%24"
SPUN = b'{"text": "' + b"aaaaaaaaaa!" * 700_000 + b'"}'
RANKS = b"".join(b"%s %d\n" % (b64encode(bytes([n])), n) for n in range(256))


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Many]:
    with many(tmp_path, 2) as made:
        yield made


def prepared(workers: Many, deadline: float = 600.0, **limits: Any) -> str:
    """A key of a tenant with these limits."""
    key = workers.new_key()
    workers.change("PUT", MODEL, words(1), key)
    workers.change("PUT", SPIN, RANKS, key)
    # Each worker has served the tenant with its earlier limits.
    assert workers.statuses(key) == {200}
    calls = {"max_text_bytes": 16 << 20, "deadline": deadline}
    workers.change("PUT", TENANT, {"limits": {**limits, "calls": calls}})
    # A call counts as running until after its answer.
    until(lambda: gauge(workers, "running") == 0)
    return key


def begun(workers: Many, stack: ExitStack, key: str) -> Connection:
    """A long call."""
    connection = stack.enter_context(Connection(workers.port))
    connection.send(sent("POST", "/api/v1/tokenizers/spin/encode", key, SPUN))
    return connection


def gauge(workers: Many, name: str) -> int:
    with Connection(workers.port) as connection:
        connection.send(sent("GET", "/metrics", workers.admin))
        _, body = connection.answer()
    found = re.search(rb"^pywasmtok_server_%s ([0-9.]+)" % name.encode(), body, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


def test_bytes_at_once(workers: Many) -> None:
    key = prepared(workers, bytes_per_second=0, burst_bytes=1_000)
    statuses = [status for _ in range(6) for status, _ in workers.ask(key, "a" * 50)]
    assert statuses.count(200) == 20
    assert {*statuses} == {200, 429}


def test_calls_at_once_and_in_the_queue(workers: Many) -> None:
    key = prepared(workers, concurrent=1, queued=0)
    with ExitStack() as stack:
        begun(workers, stack, key)
        until(lambda: gauge(workers, "running") == 1)
        assert workers.statuses(key) == {429}
        workers.change("PUT", TENANT, {"limits": {"queued": 1}})
        begun(workers, stack, key)
        until(lambda: gauge(workers, "queued") == 1)
        assert workers.statuses(key) == {429}
        assert (gauge(workers, "running"), gauge(workers, "queued")) == (1, 1)


def test_a_call_that_waits_begins_when_one_of_another_worker_ends(workers: Many) -> None:
    key = prepared(workers, concurrent=1, queued=64, deadline=10.0)
    with ExitStack() as stack:
        first = begun(workers, stack, key)
        until(lambda: gauge(workers, "running") == 1)
        # These wait on both workers.
        assert workers.statuses(key) == {200}
        assert first.answer()[0] == 504


def test_a_worker_that_is_killed_gives_back_what_it_held(workers: Many) -> None:
    key = prepared(workers, concurrent=1, queued=0)
    with ExitStack() as stack:
        begun(workers, stack, key)
        until(lambda: gauge(workers, "running") == 1)
        assert workers.statuses(key) == {429}
        # One of them has the call.
        served = []
        for number, pid in enumerate(workers_of(workers.pid), 1):
            os.kill(pid, signal.SIGKILL)
            workers.until_replaced(number)
            served.append(200 in workers.statuses(key))
        assert any(served)


def test_sockets_and_streams(workers: Many) -> None:
    key = prepared(workers, streams=3)
    with ExitStack() as stack:
        found = [opened(workers, key, stack) for _ in range(12)]
        sockets = [socket for socket in found if socket is not None]
        assert len(sockets) == 3
        answers = []
        for socket in sockets:
            for name in ("a", "b"):
                socket.send(json.dumps({"stream": name, "open": True, "ids": [1]}))
                answers.append("error" not in str(socket.recv()))
        assert sum(answers) == 3
    # What was closed is given back.
    until(lambda: opens(workers, key))


def opens(workers: Many, key: str) -> bool:
    with ExitStack() as stack:
        return opened(workers, key, stack) is not None


def opened(workers: Many, key: str, stack: ExitStack) -> ClientConnection | None:
    """A WebSocket; None: it is refused as one too many."""
    address = f"ws://127.0.0.1:{workers.port}{MODEL}/stream"
    try:
        return stack.enter_context(connect(address, additional_headers={"x-api-key": key}))
    except InvalidStatus as error:
        if error.response.status_code != 429:
            raise
        return None


def test_numbers_of_a_tenant_are_those_of_all_workers(workers: Many) -> None:
    key = prepared(workers)
    before = workers.change("GET", TENANT)["usage"]["requests"]
    assert workers.statuses(key) == {200}

    def shows_all() -> bool:
        # A worker tells the others every few seconds.
        usage = workers.change("GET", TENANT)["usage"]
        counted = usage["requests"] >= before + 12
        return bool(counted and usage["instances"] >= 2 and usage["memory_bytes"] > 0)

    until(shows_all)
    mine = workers.change("GET", "/api/v1/usage", key=key)
    assert mine["instances"] >= 2
    assert mine["memory_bytes"] > 0
    # A worker that has ended has no instances. Perhaps one of them has them all.
    for number, pid in enumerate(workers_of(workers.pid), 1):
        os.kill(pid, signal.SIGKILL)
        workers.until_replaced(number)
    until(lambda: workers.change("GET", TENANT)["usage"]["instances"] < mine["instances"])
