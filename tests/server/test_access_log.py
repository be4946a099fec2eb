"""The access log: JSON that cannot be broken, nothing that callers wrote, never in the way."""

from __future__ import annotations

import io
import json
import logging
import os
import select
import threading
from typing import IO, Any

import pytest

from pywasmtok.server.contract import Caller
from pywasmtok.server.observe.access_log import AccessLog
from pywasmtok.server.observe.error_log import error_log
from pywasmtok.server.observe.trace import Trace
from pywasmtok.server.requests.record import Exchange

CALLER = Caller("acme", key_id="k-1")


def lines_of(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    stream = io.StringIO()
    log = AccessLog(stream, label=lambda tenant: f"id of {len(tenant)}")
    for entry in entries:
        plain = {"route": "encode", "dialect": "own", "method": "POST", "status": 200}
        log.write(Exchange(**{**plain, "seconds": 0.0012345678, **entry}))
    log.close()
    log._lines.thread.join(60)
    assert log.dropped == 0
    written = stream.getvalue()
    assert written.isascii() or written.isprintable()
    assert written.count("\n") == len(entries)
    return [json.loads(line) for line in written.splitlines()]


def test_a_line_says_who_what_and_how_long() -> None:
    trace = Trace("a" * 32, "b" * 16, 1)
    (line,) = lines_of(
        {
            "caller": CALLER,
            "client": "127.0.0.1",
            "trace": trace,
            "received": 5,
            "sent": 7,
            "request_id": b"r-1",
        }
    )
    assert line.pop("time").endswith("Z")
    assert line == {
        "method": "POST",
        "route": "encode",
        "dialect": "own",
        "status": 200,
        "seconds": 0.001235,
        "received": 5,
        "sent": 7,
        "tenant": "id of 4",
        "admin": False,
        "key": "k-1",
        "client": "127.0.0.1",
        "request": "r-1",
        "trace": "a" * 32,
        "error": None,
    }


def test_the_name_of_a_tenant_is_not_in_it() -> None:
    (line,) = lines_of({"caller": CALLER})
    assert "acme" not in json.dumps(line)


@pytest.mark.parametrize("client", ['"}\n{"forged": "1', "\x1b[31m", "example.org", "1.2.3.4\n"])
def test_nothing_but_an_address_stands_for_the_client(client: str) -> None:
    (line,) = lines_of({"client": client})
    assert line["client"] is None


def test_an_address_with_a_zone_is_one() -> None:
    (line,) = lines_of({"client": "fe80::1%\n"})
    assert line["client"] == "fe80::1"


def test_a_method_that_nobody_knows_is_not_repeated() -> None:
    (line,) = lines_of({"method": 'PO\nST"'})
    assert line["method"] == "other"


def test_a_stream_that_takes_nothing_does_not_hold_up_who_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pywasmtok.server.observe.line_writer._MOST_WAITING", 10)
    inside, go_on = threading.Event(), threading.Event()

    class Stuck(io.StringIO):
        def write(self, text: str) -> int:
            inside.set()
            go_on.wait(60)
            return super().write(text)

    stream = Stuck()
    log = AccessLog(stream, label=str)
    log.write(Exchange("GET"))
    assert inside.wait(60)
    for _ in range(15):
        log.write(Exchange("GET"))
    assert log.dropped == 5
    go_on.set()
    log.close()
    log._lines.thread.join(60)
    assert len(stream.getvalue().splitlines()) == 11


def test_a_stream_that_was_closed_costs_lines_only() -> None:
    stream = io.StringIO()
    stream.close()
    log = AccessLog(stream, label=str)
    log.write(Exchange("GET"))
    log.close()
    log._lines.thread.join(60)
    assert log.dropped == 1


def test_a_pipe_that_nobody_reads_holds_up_neither_writers_nor_the_end() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as taken, os.fdopen(writer, "w", encoding="utf-8") as stream:
        log = AccessLog(stream, label=str)
        # Together more than a pipe holds.
        for _ in range(10_000):
            log.write(Exchange("GET"))
        log._lines.close(0.01)
        # The stream is free for others: the thread has no lock of it.
        stream.flush()
        read_until_the_end(taken, log._lines.thread)
    assert log.dropped == 0


def read_until_the_end(taken: IO[bytes], writer: threading.Thread) -> None:
    while writer.is_alive():
        if select.select([taken], [], [], 0.01)[0]:
            assert os.read(taken.fileno(), 1 << 20)


def test_loggers_do_not_wait_for_a_pipe_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    pythons_own = logging.lastResort
    monkeypatch.setattr("pywasmtok.server.observe.line_writer._MOST_WAITING", 10)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as taken, os.fdopen(writer, "w", encoding="utf-8") as stream:
        with error_log(stream):
            handler = logging.lastResort
            quiet = logging.getLogger("pywasmtok.quiet")
            quiet.addHandler(logging.NullHandler())
            quiet.error("not this: it has a handler")
            log = logging.getLogger("pywasmtok.anything")
            log.warning("%s is said", "this")
            log.info("this is not")
            log.error("%d", "no number")
            assert os.read(taken.fileno(), 1 << 16) == b"this is said\n"
            lines: Any = getattr(handler, "lines")  # noqa: B009
            assert lines.dropped == 1
            # More than a pipe holds: the thread is in the midst of it.
            log.error("x" * (1 << 20))
            assert os.read(taken.fileno(), 1)
            for _ in range(100):
                log.error("more")
            assert lines.dropped == 91
            lines.close(0.01)
            read_until_the_end(taken, lines.thread)
        assert logging.lastResort is pythons_own


def test_a_time_is_that_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pywasmtok.server.observe.access_log.time.time", lambda: 1_700_000_000.0625)
    (line,) = lines_of({})
    assert line["time"] == "2023-11-14T22:13:20.062Z"
