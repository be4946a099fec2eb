"""What no honest client sends: each is refused in time, and others are served meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import small

from pywasmtok.server import dialects
from pywasmtok.server.app import create_app
from pywasmtok.server.config import Bounds

from .live import Connection, service_of, serving
from .serving import until

BOUNDS = Bounds(
    body_bytes=1 << 20,
    body_seconds=300.0,
    body_bytes_per_second=1 << 20,
    header_bytes=16 << 10,
    header_seconds=300.0,
    connections=40,
)
# A client that is paused on a busy machine seems to take its time, too.
IMPATIENT = msgspec.structs.replace(BOUNDS, body_seconds=0.5, header_seconds=0.5)
BODY = b'{"content":"Hello"}'
GOOD = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
    len(BODY),
    BODY,
)
HEAD = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def served(folder: Path, bounds: Bounds) -> Iterator[int]:
    path = small.write(folder)
    with (
        service_of({"small": str(path)}, bounds=bounds) as service,
        serving(create_app(service, dialects.routes(service)), service.config) as port,
    ):
        yield port
        until(lambda: is_served(port))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(tmp_path_factory.mktemp("small"), BOUNDS) as port:
        yield port


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(tmp_path_factory.mktemp("small"), IMPATIENT) as port:
        yield port


def is_served(port: int) -> bool:
    with Connection(port) as connection:
        connection.send(GOOD)
        status, body = connection.answer()
        return status == 200 and "tokens" in json.loads(body)


def answer_to(port: int, data: bytes) -> int:
    with Connection(port) as connection:
        connection.send(data)
        return connection.answer()[0]


# Callers who take their time.


@pytest.mark.parametrize(
    "begin",
    [b"", b"P", b"POST /tokenize HT", HEAD, HEAD + b"X-Name: val", b"\r\n"],
)
def test_a_head_that_does_not_come_ends_the_connection(impatient: int, begin: bytes) -> None:
    with Connection(impatient) as connection:
        connection.send(begin)
        until(lambda: is_served(impatient))
        assert connection.is_closed()


def test_a_head_that_drips_ends_the_connection(impatient: int) -> None:
    with Connection(impatient) as connection:
        connection.send(HEAD)
        while connection.send(b"X-A: b\r\n"):
            time.sleep(0.05)
        until(lambda: is_served(impatient))


def test_empty_lines_after_a_request_do_not_keep_a_connection(impatient: int) -> None:
    with Connection(impatient) as connection:
        connection.send(GOOD)
        assert connection.answer()[0] == 200
        while connection.send(b"\r\n"):
            time.sleep(0.05)


def test_a_body_that_drips_is_refused(impatient: int) -> None:
    with Connection(impatient) as connection:
        connection.send(HEAD + b"Content-Length: 1000\r\n\r\n")
        connection.send(b'{"content":')
        status, body = connection.answer()
        assert status == 408
        assert b"slow_body" in body
        # Nobody waits for the rest.
        assert connection.is_closed()


def test_a_body_that_nobody_reads_does_not_keep_a_connection(impatient: int) -> None:
    with Connection(impatient) as connection:
        connection.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n")
        assert connection.answer()[0] == 404
        while connection.send(b"a"):
            time.sleep(0.2)


def test_a_caller_who_does_not_read_is_dropped(impatient: int) -> None:
    text = json.dumps({"inputs": "a b " * 60_000}).encode()
    request = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
    with Connection(impatient) as connection:
        for _ in range(3):
            connection.send(request)
        # Whoever reads nothing is not told; sending fails once the connection is gone.
        while connection.send(b"\r\n"):
            time.sleep(0.05)
    until(lambda: is_served(impatient))


# Callers who send too much.


def test_a_body_that_says_that_it_is_too_large(port: int) -> None:
    with Connection(port) as connection:
        connection.send(HEAD + b"Content-Length: 1073741824\r\n\r\n")
        status, body = connection.answer()
        assert status == 413
        assert b"body_too_large" in body


def test_a_body_that_is_larger_than_may_be(port: int) -> None:
    with Connection(port) as connection:
        connection.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(40):
            if not connection.send(chunk):
                break
        assert connection.answer()[0] == 413
        assert is_served(port)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"X-A: b\r\n" * 1000, 431),
        (b"X-A: " + b"b" * 20_000 + b"\r\n", 431),
        (b"X" * 20_000 + b": b\r\n", 431),
        (b"".join(b"X-%d: %s\r\n" % (place, b"b" * 900) for place in range(20)), 431),
    ],
)
def test_header_floods(port: int, head: bytes, status: int) -> None:
    assert answer_to(port, HEAD + head + b"Content-Length: 0\r\n\r\n") == status


@pytest.mark.parametrize("endless", [b"X-A: b\r\n", b"X-A: " + b"b" * 1000, b"b" * 1000])
def test_endless_headers(port: int, endless: bytes) -> None:
    with Connection(port) as connection:
        connection.send(HEAD + (b"X-B: " if b":" not in endless else b""))
        sent = 0
        while connection.send(endless * 64):
            sent += 64 * len(endless)
            assert sent < 100 << 20
    assert is_served(port)


def test_a_long_path(port: int) -> None:
    assert answer_to(port, b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n\r\n") == 414


@pytest.mark.parametrize(
    ("begin", "endless"), [(b"1;", b"a" * 60_000), (b"0\r\n", b"X-A: b\r\n" * 8000)]
)
def test_endless_extensions_and_trailers(port: int, begin: bytes, endless: bytes) -> None:
    with Connection(port) as connection:
        connection.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + begin)
        for _ in range(200):
            if not connection.send(endless):
                break
        else:
            pytest.fail("12 MB of nothing were taken")
    assert is_served(port)


def test_trailers_change_nothing(port: int) -> None:
    body = b"%x\r\n%s\r\n0\r\nContent-Encoding: gzip\r\nX-Api-Key: a\r\n\r\n" % (len(BODY), BODY)
    with Connection(port) as connection:
        connection.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + GOOD)
        assert [connection.answer()[0] for _ in range(2)] == [200, 200]


def test_a_flood_of_connections_is_bounded(impatient: int) -> None:
    connections = [Connection(impatient) for _ in range(BOUNDS.connections + 20)]
    try:
        refused = connections[-1].answer()
        assert refused[0] in (0, 503)
    finally:
        for connection in connections:
            connection.socket.close()
    until(lambda: is_served(impatient))


# Callers who send many at once.


def test_requests_in_a_row_are_answered_in_order(port: int) -> None:
    bodies = [json.dumps({"content": "a" * place}).encode() for place in range(1, 20)]
    requests = [HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies]
    with Connection(port) as connection:
        connection.send(b"".join(requests))
        counts = [len(json.loads(connection.answer()[1])["tokens"]) for _ in bodies]
        assert counts == list(range(1, 20))


def test_a_flood_of_requests_in_a_row_is_bounded(port: int) -> None:
    with Connection(port) as connection:
        connection.send(GOOD * 2000)
        statuses = []
        while (status := connection.answer()[0]) != 0:
            statuses.append(status)
        assert len(statuses) < 2000
        assert set(statuses) <= {200, 400}
        assert statuses.count(400) <= 1
    assert is_served(port)


def test_what_is_no_request_waits_for_the_answer_before_it(port: int) -> None:
    with Connection(port) as connection:
        connection.send(GOOD + b"nonsense\r\n\r\n")
        assert [connection.answer()[0] for _ in range(2)] == [200, 400]
        assert connection.is_closed()


# What is no HTTP, or HTTP that two readers understand differently.


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /tokenize HTTP/3.0\r\n\r\n",
        b"FROB /tokenize HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GOOD.replace(b"Host: localhost\r\n", b""),
        GOOD.replace(b"Host: localhost", b"Host: localhost\r\nHost: localhost"),
        GOOD.replace(b"Host: localhost", b"Host: localhost\r\nhost: evil.example"),
        GOOD.replace(b"HTTP/1.1", b"HTTP/0.9"),
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Content Length: 5\r\n\r\nhello",
        HEAD + b"X-A: b\r\n folded\r\nContent-Length : 5\r\n\r\nhello",
        HEAD + b"X-A: a\x00b\r\nContent-Length: 0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(port: int, data: bytes) -> None:
    with Connection(port) as connection:
        connection.send(data)
        status, body = connection.answer()
        assert status in (400, 405)
        assert json.loads(body)["error"]
        assert is_served(port)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
        (GOOD.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: localhost\r\n", b""), 200),
        (GOOD.replace(b"POST /tokenize", b"POST http://evil.example/tokenize"), 200),
        (GOOD.replace(b"/tokenize", b"/%74okenize"), 200),
        (GOOD.replace(b"localhost", b"evil.example"), 403),
        (GOOD.replace(b"POST", b"GET"), 405),
        (GOOD.replace(b"POST", b"DELETE"), 405),
        (GOOD.replace(b"POST", b"OPTIONS"), 405),
        (GOOD.replace(b"/tokenize", b"//tokenize"), 404),
        (GOOD.replace(b"/tokenize", b"/tokenize/"), 404),
        (GOOD.replace(b"/tokenize", b"/TOKENIZE"), 404),
        (GOOD.replace(b"/tokenize", b"/x/../tokenize"), 404),
        (GOOD.replace(b"/tokenize", b"/%2e%2e/tokenize"), 404),
        (GOOD.replace(b"/tokenize", b"/tokenize;a=b"), 404),
        (GOOD.replace(b"/tokenize", b"/tokenize%00"), 400),
        (GOOD.replace(b"/tokenize", b"/%ff"), 400),
        (GOOD.replace(b"/tokenize", b"/%c0%af"), 400),
        (GOOD.replace(b"/tokenize", b"/%0d%0aX-A:%20b"), 400),
    ],
)
def test_spellings_of_a_request(port: int, data: bytes, status: int) -> None:
    assert answer_to(port, data) == status


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_json(port: int, depth: int) -> None:
    for body in (b'{"content":' + b"[" * depth, b'{"messages":[{"a":' + b'{"a":' * depth):
        assert answer_to(port, HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) == 400


def test_a_caller_who_leaves_harms_nobody(port: int) -> None:
    for data in (HEAD, HEAD + b"Content-Length: 100\r\n\r\n{", GOOD, GOOD[:-3]):
        for _ in range(5):
            with Connection(port) as connection:
                connection.send(data)
    until(lambda: is_served(port))


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
INFO = b"GET /info HTTP/1.1\r\nHost: localhost\r\n"


def with_body(head: bytes, body: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("size", [1 << 20, 7, 1])
@pytest.mark.parametrize(
    ("offer", "status"),
    [
        (with_body(HEAD + OFFER, BODY), 200),
        (with_body(HEAD + b"Connection: upgrade\r\nUpgrade: websocket, frob\r\n", BODY), 200),
        (HEAD + OFFER + b"Transfer-Encoding: chunked\r\n\r\n13\r\n" + BODY + b"\r\n0\r\n\r\n", 200),
        # A body is no request, whatever it says.
        (with_body(HEAD + OFFER, HIDDEN), 400),
        (INFO + OFFER + b"\r\n", 200),
        (INFO + OFFER + b"X-A: %b\r\n\r\n" % (b"a" * 8000), 200),
    ],
)
def test_a_request_that_offers_another_protocol_is_served_in_this_one(
    port: int, offer: bytes, status: int, size: int
) -> None:
    data = offer + offer + GOOD
    with Connection(port) as connection:
        for at in range(0, len(data), size):
            assert connection.send(data[at : at + size])
        assert [connection.answer()[0] for _ in range(3)] == [status, status, 200]


def test_more_offers_than_may_wait_are_refused(port: int) -> None:
    with Connection(port) as connection:
        connection.send((INFO + OFFER + b"\r\n") * 60)
        statuses = [connection.answer()[0] for _ in range(40)]
    assert statuses.index(400) < 40
    assert set(statuses[: statuses.index(400)]) == {200}


@pytest.mark.parametrize("target", [b"localhost:443", b"/"])
def test_it_is_no_proxy(port: int, target: bytes) -> None:
    with Connection(port) as connection:
        connection.send(b"CONNECT %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target + HIDDEN)
        assert connection.answer()[0] == 400
        assert connection.answer()[0] == 0


HANDSHAKE = (
    b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"", 404),
        (b"X-A: b\r\n" * 1000, 431),
        (b"Origin: http://evil.example\r\n", 404),
        (b"Sec-WebSocket-Version: 1\r\n", 0),
        (b"Content-Length: 0\r\n", 404),
        (b"Content-Length: 5\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n", 400),
        (b"X-A: %b\r\n" % (b"b" * 8300), 400),
    ],
)
def test_handshakes_of_sockets_have_the_same_bounds(port: int, more: bytes, status: int) -> None:
    with Connection(port) as connection:
        connection.send(HANDSHAKE + more + b"\r\n")
        found = connection.answer()[0]
        assert found == status or (status == 0 and found in (400, 404, 426))
        assert connection.is_closed()
    assert is_served(port)


def test_a_socket_does_not_begin_before_the_last_answer(port: int) -> None:
    with Connection(port) as connection:
        connection.send(INFO + b"\r\n" + HANDSHAKE + b"\r\n")
        assert connection.answer()[0] == 200
        status, body = connection.answer()
        assert status == 400
        assert b"before the last response" in body
        assert connection.is_closed()


def test_expectations(port: int) -> None:
    with Connection(port) as connection:
        connection.send(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert connection.answer()[0] == 100
        connection.send(BODY)
        assert connection.answer()[0] == 200
