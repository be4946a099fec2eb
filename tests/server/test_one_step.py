"""What is answered in the protocol itself is answered, counted and logged as by the application, in
whatever pieces and whatever order it is sent."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds, Logs
from pywasmtok.server.contract import LOCAL
from pywasmtok.server.dialects import tokenize
from pywasmtok.server.dialects.requests import Sent
from pywasmtok.server.requests.endpoint import Call
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.service import Service

from .calls import recorded
from .live import Connection, service_of, serving

HOME = Path(__file__).parents[2] / "conformance" / "http"
OF_ITS_OWN = re.compile(rb"date: [^\r]*\r\n|x-request-id: [0-9a-f]{12}-[0-9a-f]+\r\n")
"""What no two answers have alike."""
BOUNDS = Bounds(header_bytes=4 << 10, header_seconds=300.0, body_seconds=300.0)


class Allowing:
    """In place of what is learned from how long calls take, which a busy machine may change."""

    deadline = 30.0
    allows = True

    def given(self, *_: Any) -> bool:
        return self.allows

    def saw(self, *_: Any) -> None:
        """It does not learn."""


class Both:
    """One service behind both ways, each on a port of its own."""

    def __init__(self, service: Service, quick: int, ordinary: int, app: Any) -> None:
        self.service = service
        self.app = app
        self.ports = quick, ordinary
        self.counted: list[dict[str, Any]] = []
        self.logged: list[dict[str, Any]] = []
        self.at_once = 0
        self.is_whole = True
        counts, answer = service.metrics.request, app.at_once.answer

        def request(exchange: Exchange) -> None:
            self.counted.append(recorded(exchange))
            counts(exchange)

        def write(exchange: Exchange) -> None:
            self.logged.append(recorded(exchange))

        def seen(*given: Any) -> bytes | Call:
            found: bytes | Call = answer(*given)
            self.at_once += isinstance(found, bytes)
            return found

        self.permission = Allowing()
        work: Any = service.work
        work._permission = self.permission
        service.metrics.request = request
        service.access_log = SimpleNamespace(write=write, close=lambda: None)
        app.at_once.answer = seen

    def ask(self, port: int, pieces: list[bytes]) -> tuple[bytes, Any, Any]:
        """All that is sent back until the server closes, without time and name of the request.

        A test that does not read until the end asks once more: a request is recorded behind its
        answer, and must not be among those of the next test."""
        self.counted.clear()
        self.logged.clear()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except OSError:
                    break
            answers, self.is_whole = _until_closed(connection)
        return OF_ITS_OWN.sub(b"", answers), list(self.counted), list(self.logged)

    def agree(self, *pieces: bytes) -> tuple[bytes, int]:
        """The answers, and how many of them were given by the protocol."""
        self.at_once = 0
        quick, *recorded = self.ask(self.ports[0], list(pieces))
        quick_is_whole, at_once = self.is_whole, self.at_once
        ordinary, *ordinarily = self.ask(self.ports[1], list(pieces))
        are_whole = quick_is_whole and self.is_whole
        known = None if are_whole else min(len(quick), len(ordinary))
        assert (quick[:known], recorded) == (ordinary[:known], ordinarily)
        assert self.at_once == at_once
        return quick, at_once


def _when_idle(work: Any) -> Any:
    """A thread counts its call when the answer is on its way already."""
    end = time.monotonic() + 10
    while work.numbers().running and time.monotonic() < end:
        time.sleep(0.01)
    return work.numbers()


def _until_closed(connection: socket.socket) -> tuple[bytes, bool]:
    """What comes, and whether that is all: what is sent to a closed connection resets it, and the
    system then drops what was not read."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        return b"".join(parts), False
    return b"".join(parts), True


@contextmanager
def both_of(**config: Any) -> Iterator[Both]:
    config = {"bounds": BOUNDS, "logs": Logs(access=False), **config}
    with service_of({"m": str(HOME / "tokenizer")}, **config) as service:
        app = create_app(service)
        ordinary: Any = create_app(service)
        ordinary.at_once = None
        with (
            serving(app, service.config) as quick_port,
            serving(ordinary, service.config) as ordinary_port,
        ):
            made = Both(service, quick_port, ordinary_port, app)
            # A tokenizer that has to be read first is no business of the event loop.
            made.ask(quick_port, [sent(PLAIN), LAST])
            yield made


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_of() as made:
        yield made


def sent(asked: tuple[str, Any], *lines: bytes, version: bytes = b"1.1") -> bytes:
    path, value = asked
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = [
        b"POST %b HTTP/%b" % (path.encode(), version),
        b"Host: 127.0.0.1:8080",
        b"Content-Type: application/json",
        *lines,
        b"Content-Length: %d" % len(body),
    ]
    return b"\r\n".join([*head, b"", body])


LAST = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PLAIN = "/tokenize", {"prompt": "Hello world"}
API = "/api/v1/tokenizers/m/"
EACH: list[tuple[str, Any]] = [
    PLAIN,
    ("/tokenize", {"content": "Hello", "with_pieces": True}),
    ("/tokenize", {"inputs": "naïve"}),
    ("/v1/tokenize", {"prompt": "Hello"}),
    ("/detokenize", {"tokens": [266, 65]}),
    ("/v1/detokenize", {"tokens": [266, 65]}),
    (f"{API}encode", {"text": "Hello"}),
    (f"{API}decode", {"ids": [266, 65]}),
    (f"{API}count", {"text": "Hello"}),
]
OCTETS = b"application/octet-stream"
AS_BYTES: list[bytes] = [
    sent((f"{API}encode", {"text": "naïve"}), b"Accept: " + OCTETS),
    sent((f"{API}decode", struct.pack("<2I", 266, 65))).replace(b"application/json", OCTETS),
]
ODD: list[bytes] = [
    sent(PLAIN, b"Connection: keep-alive", b"User-Agent: x", b"Accept: */*"),
    sent(PLAIN, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c"),
    sent(PLAIN, b"Expect: 100-continue"),
    sent(PLAIN, b"Expect: nothing"),
    sent(PLAIN, b"Origin: http://evil.example"),
    sent(PLAIN, b"traceparent: 00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01"),
    sent(PLAIN, b"Host: other.example"),
    sent(("/tokenize?x=1", {"prompt": "a"})),
    sent(("/tokenize#x", {"prompt": "a"})),
    sent(("/%74okenize", {"prompt": "a"})),
    sent(("http://localhost/tokenize", {"prompt": "a"})),
    sent((f"{API}encode?x=/encode", {"text": "a"})),
    sent(("/api/v1/tokenizers/a?b/encode", {"text": "a"})),
    sent(("/api/v1/tokenizers/nobody/encode", {"text": "a"})),
    sent(("/api/v1/tokenizers//encode", {"text": "a"})),
    sent(("/tokenize", {"prompt": "a", "model": "nobody"})),
    sent(("/tokenize", {"prompt": "a", "content": "b"})),
    sent(("/tokenize", b'{"prompt": "\xff"}')),
    sent(("/tokenize", b"")),
    sent(("/tokenize", {"prompt": "a " * 40_000})),
    sent(PLAIN).replace(b"POST", b"HEAD"),
    sent(PLAIN).replace(b"POST", b"GET"),
    sent(PLAIN).replace(b"POST", b"PUT"),
    b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'8\r\n{"prompt\r\n6\r\n":"a"}\r\n0\r\n\r\n',
    b"\r\n\r\n" + sent(PLAIN),
]
# Behind these the server closes: what is sent then may take the answer away.
LAST_ODD: list[bytes] = [
    sent(PLAIN, b"Connection: close"),
    sent(PLAIN, b"Transfer-Encoding: chunked"),
    sent(PLAIN, b"X-Long: " + b"a" * 5000),
    sent(PLAIN, b"Bad Name: a"),
    sent(PLAIN, version=b"1.0"),
    sent(PLAIN).replace(b"\r\n\r\n", b"\r\nContent-Length: 7\r\n\r\n"),
    b"nonsense\r\n\r\n",
    LAST,
]


@pytest.mark.parametrize("asked", EACH, ids=lambda asked: asked[0])
def test_what_is_short_is_answered_at_once(both: Both, asked: tuple[str, Any]) -> None:
    answers, at_once = both.agree(sent(asked), LAST)
    assert at_once == 1
    assert answers.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("asked", AS_BYTES)
def test_so_are_ids_as_bytes(both: Both, asked: bytes) -> None:
    answers, at_once = both.agree(asked, LAST)
    assert at_once == 1
    assert answers.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("asked", ODD)
def test_what_is_odd_is_answered_as_ever(both: Both, asked: bytes) -> None:
    both.agree(asked, LAST)


@pytest.mark.parametrize("asked", LAST_ODD)
def test_so_is_what_ends_a_connection(both: Both, asked: bytes) -> None:
    for pieces in ((sent(PLAIN), asked), (sent(PLAIN) + sent(PLAIN) + asked,)):
        answers, at_once = both.agree(*pieces)
        good = b"HTTP/1.1 200 OK\r\n"
        assert answers.startswith(good)
        assert answers.count(good) >= len(b"".join(pieces).split(sent(PLAIN))) - 1
        assert at_once


def test_one_of_those_that_come_together_is_answered_at_once(both: Both) -> None:
    together = b"".join(map(sent, EACH)) + LAST
    answers, at_once = both.agree(together)
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == len(EACH)
    assert at_once == 1


REQUESTS = st.sampled_from([*map(sent, EACH), *ODD])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=st.lists(REQUESTS, max_size=4), last=st.sampled_from(LAST_ODD), data=st.data())
def test_any_pieces_are_answered_alike(
    both: Both, requests: list[bytes], last: bytes, data: st.DataObject
) -> None:
    whole = b"".join(requests)
    cuts = data.draw(st.sets(st.integers(0, len(whole)), max_size=6))
    places = [0, *sorted(cuts), len(whole)]
    # The last one in one piece: what comes when the server has closed takes the answers away.
    both.agree(*(whole[a:b] for a, b in pairwise(places)), last)


def test_byte_by_byte(both: Both) -> None:
    whole = sent(PLAIN) + sent(EACH[-1]) + LAST
    answers, _ = both.agree(*(whole[place : place + 1] for place in range(len(whole))))
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 2


def test_a_path_without_a_name_is_not_for_the_default(both: Both) -> None:
    answers, _ = both.agree(sent(("/api/v1/tokenizers//encode", {"text": "a"})), LAST)
    assert answers.startswith(b"HTTP/1.1 404 ")


def test_who_wants_another_protocol_is_answered_in_this_one(both: Both) -> None:
    asked = sent(PLAIN, b"Connection: upgrade", b"Upgrade: frob")
    answers, _ = both.agree(asked + asked, asked, LAST)
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 3


def in_turn(port: int, pieces: list[bytes]) -> list[Any]:
    """Each is answered before the next one is sent."""
    answers = []
    with Connection(port) as connection:
        for piece in pieces:
            connection.send(piece)
            answers.append(connection.answer())
    return answers


TEXTS = st.text(max_size=400)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(st.integers(0, 2), TEXTS), min_size=2, max_size=8))
def test_who_asks_again_is_answered_alike(both: Both, texts: list[tuple[int, str]]) -> None:
    shapes = (("/tokenize", "prompt"), ("/v1/tokenize", "prompt"), (f"{API}encode", "text"))
    asked = [sent((shapes[way][0], {shapes[way][1]: text})) for way, text in texts]
    assert in_turn(both.ports[0], asked) == in_turn(both.ports[1], asked)


BODY = b'{"prompt":"a"}'


def with_length(length: bytes, body: bytes = BODY) -> bytes:
    return b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %b\r\n\r\n%b" % (
        *(length, body),
    )


@pytest.mark.parametrize(
    "odd",
    [
        with_length(b"014"),
        with_length(b"+14"),
        with_length(b" 14"),
        with_length(b"14 "),
        with_length(b"1_4"),
        with_length(b"\xb2"),
        with_length(b"0", b""),
        with_length(b"14", BODY + b" "),
        with_length(b"14\r\nX-A: b"),
        with_length(b"14\r\nContent-Length: 14"),
        with_length(b"14\r\nOrigin: http://evil.example"),
        with_length(b"14").replace(b"localhost", b"evil.example"),
        with_length(b"14").replace(b"1.1", b"1.0"),
        with_length(b"9", b'{"a": 1}\n'),
        b"\r\n" + with_length(b"14"),
    ],
)
def test_what_only_looks_like_the_last_head_is_read_anew(both: Both, odd: bytes) -> None:
    asked = [with_length(b"14"), with_length(b"14"), odd]
    assert in_turn(both.ports[0], asked) == in_turn(both.ports[1], asked)


def test_two_requests_are_never_taken_for_one(both: Both) -> None:
    """What a first pair teaches must not make the second one a single request."""
    pair = with_length(b"14") + with_length(b"14")
    for port in both.ports:
        with Connection(port) as connection:
            for _ in range(3):
                connection.send(pair)
                assert [connection.answer()[0] for _ in range(2)] == [200, 200]


def test_a_body_that_comes_later_is_waited_for(both: Both) -> None:
    whole = with_length(b"14")
    for port in both.ports:
        with Connection(port) as connection:
            for cut in (len(whole), len(whole) - 5, len(whole) - 14, 30, len(whole)):
                connection.send(whole[:cut])
                if cut < len(whole):
                    # The server has read the first part by the time that another is answered.
                    with Connection(port) as other:
                        other.send(whole)
                        assert other.answer()[0] == 200
                    connection.send(whole[cut:])
                assert connection.answer()[0] == 200


def test_a_key_that_was_removed_is_not_taken_again() -> None:
    with both_of(identity=True) as both:
        store = both.service.store
        for port in both.ports:
            key, record = make_key(None)
            store.put_key(record)
            asked = sent(PLAIN, b"Authorization: Bearer " + key.encode())
            with Connection(port) as connection:
                for _ in range(12):
                    connection.send(asked)
                    assert connection.answer()[0] == 200
                store.remove_key(record.id)
                connection.send(asked)
                assert connection.answer()[0] == 401


def test_a_kept_connection_has_the_depth_of_a_new_configuration() -> None:
    with both_of() as both, Connection(both.ports[0]) as connection:
        asked = sent(("/tokenize", {"prompt": "a", "x": [[[1]]]}))
        for _ in range(3):
            connection.send(asked)
            assert connection.answer()[0] == 200
        service = both.service
        bounds = msgspec.structs.replace(BOUNDS, json_depth=2)
        service.reconfigure(msgspec.structs.replace(service.config, bounds=bounds))
        connection.send(asked)
        assert connection.answer()[0] == 400


def test_a_connection_is_kept(both: Both) -> None:
    before = both.at_once
    with Connection(both.ports[0]) as connection:
        for _ in range(50):
            for asked in EACH:
                connection.send(sent(asked))
                assert connection.answer()[0] == 200
    assert both.at_once - before == 50 * len(EACH)
    both.ask(both.ports[0], [LAST])


def test_an_error_of_a_call_is_answered_by_it(both: Both) -> None:
    text = {"tokens": [0, 1 << 31]}
    assert both.agree(sent(("/v1/detokenize", text)), LAST)[1] == 1


def test_what_nobody_expected_says_nothing_of_the_text(
    both: Both, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*given: Any, **named: Any) -> None:
        raise ZeroDivisionError("MARKER")

    monkeypatch.setattr(both.service.work, "_run_here", fails)
    answers, at_once = both.agree(sent(PLAIN), LAST)
    assert at_once == 1
    assert answers.startswith(b"HTTP/1.1 500 ")
    assert b"MARKER" not in answers
    assert "ZeroDivisionError in " in caplog.text
    assert "MARKER" not in caplog.text


def test_who_may_not_have_more_is_refused_by_it() -> None:
    with both_of(limits={"bytes_per_second": 1, "burst_bytes": 1 << 20}) as both:
        tenant: Any = both.service.tenant(LOCAL)
        bucket = tenant.bucket
        bucket.take(max(0, bucket.level))
        both.at_once = 0
        with Connection(both.ports[0]) as connection:
            connection.send(sent(PLAIN))
            status, body = connection.answer()
    assert status == 429
    assert json.loads(body)["error"]["code"] == 429
    assert both.at_once == 1


def test_a_call_that_is_not_for_the_event_loop_goes_to_a_thread(both: Both) -> None:
    work: Any = both.service.work
    before = _when_idle(work)
    both.permission.allows = False
    try:
        answers, at_once = both.agree(sent(PLAIN), LAST)
    finally:
        both.permission.allows = True
    assert at_once == 0
    assert answers.startswith(b"HTTP/1.1 200 OK\r\n")
    assert _when_idle(work).threaded == before.threaded + 2
    assert work.numbers().inline == before.inline


def test_what_has_to_wait_is_read_once(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the head is the last one again, and the parser did not see it."""
    read = []

    class Counted(Sent):
        def __init__(self, data: bytes, *rest: Any) -> None:
            read.append(data)
            super().__init__(data, *rest)

    monkeypatch.setattr(tokenize, "Sent", Counted)
    asked = [sent(("/tokenize", {"prompt": f"number {number}"})) for number in range(4)]
    with Connection(both.ports[0]) as connection:
        for number, whole in enumerate(asked):
            both.permission.allows = number in (1, 2)
            try:
                connection.send(whole)
                assert connection.answer()[0] == 200
            finally:
                both.permission.allows = True
    both.ask(both.ports[0], [LAST])
    assert read == [whole.partition(b"\r\n\r\n")[2] for whole in asked]


def test_usage_is_the_same_on_both_ways(both: Both) -> None:
    spent = []
    for port in both.ports:
        before = both.service.usage(LOCAL)
        both.ask(port, [*map(sent, EACH), LAST])
        after = both.service.usage(LOCAL)
        spent.append(
            (
                after.requests - before.requests,
                after.text_bytes - before.text_bytes,
                after.tokens - before.tokens,
            )
        )
    assert spent[0] == spent[1]


def test_a_large_answer_is_sent_by_the_application_and_made_once(both: Both) -> None:
    before = both.service.usage(LOCAL)
    answers, at_once = both.agree(sent(("/tokenize", {"inputs": "a b " * 4000})), LAST)
    assert at_once == 0
    assert len(answers) > 200_000
    assert both.service.usage(LOCAL).requests == before.requests + 2


def test_a_server_that_drains_refuses(both: Both) -> None:
    both.service.lifecycle.draining = True
    try:
        answers, at_once = both.agree(sent(PLAIN))
    finally:
        both.service.lifecycle.draining = False
    assert at_once == 0
    assert answers.startswith(b"HTTP/1.1 503 ")


def test_who_does_not_read_is_dropped() -> None:
    asked = sent(("/tokenize", {"inputs": "a b " * 300}))
    with both_of(bounds=Bounds(header_seconds=1.5)) as both:
        with Connection(both.ports[0]) as connection:
            # Sending fails once the connection is gone.
            while connection.send(asked):
                pass
        assert both.at_once
        assert both.ask(both.ports[0], [sent(PLAIN), LAST])[0].startswith(b"HTTP/1.1 200 OK\r\n")
