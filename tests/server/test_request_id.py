"""`X-Request-ID`: taken or made, and in the answer and the log, whichever way the answer goes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator

import pytest
import small

from pywasmtok.server.app import create_app
from pywasmtok.server.observe.access_log import AccessLog
from pywasmtok.server.requests.request_id import request_id

from .live import Connection, service_of, serving
from .serving import until

Served = tuple[int, io.StringIO]

BODY = b'{"content":"Hello"}'


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b"a-1", b"a-1"),
        (b"0af7651916cd43dd8448eb211c80319c", b"0af7651916cd43dd8448eb211c80319c"),
        (b"Root=1-67891233-abcdef012345678912345678", b"Root=1-67891233-abcdef012345678912345678"),
        (b'a"}\r\n b', b"ab"),
        (b"x" * 500, b"x" * 128),
        (b"\x1b[31mred\xff", b"31mred"),
    ],
)
def test_what_is_kept_of_a_name(said: bytes, kept: bytes) -> None:
    assert request_id(said) == kept


@pytest.mark.parametrize("said", [None, b"", b'"\xff  '])
def test_a_name_is_made_where_there_is_none(said: bytes | None) -> None:
    made = {request_id(said) for _ in range(1000)}
    assert len(made) == 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_makes_other_names() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, request_id(None))
        os._exit(0)
    os.waitpid(child, 0)
    begin = os.read(read, 100).partition(b"-")[0]
    os.close(read)
    os.close(write)
    assert begin != request_id(None).partition(b"-")[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = small.write(tmp_path_factory.mktemp("small"))
    stream = io.StringIO()
    with service_of({"small": str(path)}) as service:
        service.access_log = AccessLog(stream, label=str)
        with serving(create_app(service), service.config) as port:
            yield port, stream


@pytest.mark.parametrize(
    ("begin", "status"),
    [
        # Answered by the protocol, and by the application.
        (b"POST /tokenize HTTP/1.1\r\nContent-Length: %d" % len(BODY), 200),
        (b"POST /tokenize HTTP/1.1\r\nX-Other: a\r\nContent-Length: %d" % len(BODY), 200),
        (b"POST /tokenize?a=b HTTP/1.1\r\nContent-Length: %d" % len(BODY), 200),
        (b"POST /nowhere HTTP/1.1\r\nContent-Length: %d" % len(BODY), 404),
        (
            b"POST /tokenize HTTP/1.1\r\nContent-Type: text/html\r\nContent-Length: %d" % len(BODY),
            415,
        ),
    ],
)
def test_an_answer_has_the_name_of_its_request(served: Served, begin: bytes, status: int) -> None:
    port, stream = served
    names = []
    with Connection(port) as connection:
        for more in (b"", b"", b"\r\nX-Request-ID: mine-7", b"\r\nX-Request-ID: mine-8"):
            connection.send(begin + b"\r\nHost: localhost" + more + b"\r\n\r\n" + BODY)
            found, name = named_answer(connection)
            assert found == status
            names.append(name)
    assert len(set(names)) == 4
    assert names[2:] == ["mine-7", "mine-8"]
    # A line is written behind the answer, by a thread of its own.
    until(
        lambda: (
            set(names) <= {json.loads(line)["request"] for line in stream.getvalue().splitlines()}
        )
    )


def named_answer(connection: Connection) -> tuple[int, str]:
    while b"\r\n\r\n" not in connection._rest:
        assert connection._more()
    head = connection._rest.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
    (line,) = [line for line in head if line.startswith(b"x-request-id: ")]
    status, _ = connection.answer()
    return status, line.partition(b": ")[2].decode()
