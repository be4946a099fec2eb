"""Connections are counted from their acceptance on, and idle ones do not shut others out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pywasmtok.server.app import create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Bounds, Config, Listen
from pywasmtok.server.http import connections
from pywasmtok.server.http.connections import Admission, Connections
from pywasmtok.server.http.options import uvicorn_options
from pywasmtok.server.http.protocol import refusal

from .live import Connection, service_of, serving

BODY = b'{"prompt":"Hello"}'
# No test waits for these: connections are closed for the places, not for the time.
PATIENT: dict[str, Any] = {"header_seconds": 300.0, "handshake_seconds": 300.0}


@contextmanager
def server(bounds: Bounds, **config: Any) -> Iterator[tuple[int, bytes]]:
    """The port, and a good request."""
    with service_of({"demo": "builtin:demo"}, bounds=bounds, **config) as service:
        key, record = make_key(None)
        service.store.put_key(record)
        service.refresh()
        head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
        request = head % key.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
        with serving(create_app(service), service.config) as port:
            yield port, request


def asked(connection: Connection, request: bytes) -> int:
    connection.send(request)
    return connection.answer()[0]


HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "begun", [b"", b"POST /tok", b"POST /tokenize HTTP/1.1\r\nHost: a\r\n\r\n"]
)
def test_idle_connections_without_a_key_shut_out_neither_probes_nor_keys(begun: bytes) -> None:
    with (
        server(Bounds(connections=8, **PATIENT), identity=True) as (port, request),
        ExitStack() as stack,
    ):
        first = stack.enter_context(Connection(port))
        assert asked(first, request) == 200
        idle = [stack.enter_context(Connection(port)) for _ in range(30)]
        for one in idle:
            one.send(begun)
        assert asked(stack.enter_context(Connection(port)), HEALTH) == 200
        assert asked(stack.enter_context(Connection(port)), request) == 200
        # The oldest one has gone, and the one with a key has not.
        assert idle[0].is_closed()
        assert asked(first, request) == 200


def test_the_last_places_are_for_probes() -> None:
    with (
        server(Bounds(connections=8, **PATIENT), identity=True) as (port, request),
        ExitStack() as stack,
    ):
        known = [stack.enter_context(Connection(port)) for _ in range(7)]
        assert [asked(one, request) for one in known] == [200] * 7
        for _ in range(3):
            with Connection(port) as late:
                assert asked(late, HEALTH) == 200
                # A probe does not keep the place.
                assert late.is_closed()
        with Connection(port) as late:
            assert asked(late, request) == 503
        assert [asked(one, request) for one in known] == [200] * 7


def test_an_address_has_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "is_loopback", lambda host: False)
    with (
        server(Bounds(connections_per_address=3, **PATIENT), identity=True) as (port, request),
        ExitStack() as stack,
    ):
        idle = [stack.enter_context(Connection(port)) for _ in range(3)]
        known = [stack.enter_context(Connection(port)) for _ in range(3)]
        # Idle ones of the same address make room.
        assert [asked(one, request) for one in known] == [200] * 3
        assert all(one.is_closed() for one in idle)
        with Connection(port) as late:
            status, body = late.answer()
            assert status == 429
            assert b"too many connections from this address" in body
            assert b'"retry_after":1.0' in body


def test_a_refusal_for_want_of_connections_says_when_to_ask_again() -> None:
    for status, again in ((400, False), (429, True), (503, True)):
        head, _, body = refusal(status, "no").partition(b"\r\n\r\n")
        assert (b"retry-after: 1" in head.split(b"\r\n")) is again
        assert ("retry_after" in json.loads(body)["error"]) is again


class Fake:
    def __init__(self) -> None:
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def admitted(counted: Connections, address: str | None, times: int) -> list[Admission]:
    return [counted.admit(Fake(), address, lambda: False) for _ in range(times)]


def test_whose_addresses_are_not_counted() -> None:
    bounds = Bounds(connections_per_address=1)
    counted = Connections(bounds, ["192.0.2.7", "198.51.100.0/24", "a proxy"])
    for address in ("127.0.0.1", "::1", "192.0.2.7", "198.51.100.9", None):
        assert admitted(counted, address, 3) == [Admission.GOOD] * 3
    bounded = [Admission.GOOD, Admission.ADDRESS_FULL]
    assert admitted(counted, "192.0.2.8", 2) == bounded
    # A host has a network of IPv6 addresses.
    assert admitted(counted, "2001:db8::1", 1) == [Admission.GOOD]
    assert admitted(counted, "2001:db8::2", 1) == [Admission.ADDRESS_FULL]
    assert admitted(counted, "2001:db8:0:1::2", 1) == [Admission.GOOD]
    assert admitted(Connections(bounds, ["*"]), "192.0.2.8", 3) == [Admission.GOOD] * 3
    off = Connections(Bounds(connections_per_address=0))
    assert admitted(off, "192.0.2.8", 3) == [Admission.GOOD] * 3


def test_what_is_gone_is_not_counted() -> None:
    counted = Connections(Bounds(connections=1, connections_per_address=1))
    one, transport = Fake(), Fake()
    assert counted.admit(one, "192.0.2.8", lambda: False) is Admission.GOOD
    counted.replace(one, transport, lambda: True)
    counted.gone(one)
    assert len(counted) == 1
    counted.known(transport)
    assert counted.admit(Fake(), "192.0.2.9", lambda: False) is Admission.FULL
    counted.gone(transport)
    counted.gone(transport)
    assert len(counted) == 0
    assert admitted(counted, "192.0.2.8", 1) == [Admission.GOOD]
    # A handshake that was closed to make room, and ends at the same moment.
    counted = Connections(Bounds(connections=1))
    counted.admit(one, "192.0.2.8", lambda: True)
    counted.admit(Fake(), "192.0.2.8", lambda: True)
    assert one.is_aborted
    counted.replace(one, transport, lambda: True)
    assert transport.is_aborted


def client_behind(peer: str, proxies: tuple[str, ...]) -> str:
    """Which client the application sees where this peer forwards a request."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    options = uvicorn_options(Config(listen=Listen(proxies=proxies)))
    trusted = options["forwarded_allow_ips"]
    headers = [(b"x-forwarded-for", b"203.0.113.5")]
    scope: Any = {"type": "http", "client": (peer, 1), "headers": headers}
    asyncio.run(ProxyHeadersMiddleware(app, trusted)(scope, None, None))  # type: ignore[arg-type]
    bounds = Bounds(connections_per_address=1)
    counted = Connections(bounds, trusted)
    is_counted = Admission.ADDRESS_FULL in admitted(counted, peer, 2)
    assert is_counted is (seen == [peer])
    return seen[0]


@pytest.mark.parametrize("before", ["", "::ffff:"])
def test_a_proxy_is_known_also_by_a_socket_for_both_families(before: str) -> None:
    proxies = "192.0.2.7", "198.51.100.9/24", "2001:db8::/32"
    for address in ("192.0.2.7", "198.51.100.1"):
        assert client_behind(before + address, proxies) == "203.0.113.5"
    for address in ("192.0.2.8", "198.51.101.1"):
        assert client_behind(before + address, proxies) == before + address
    assert client_behind("2001:db8::1", proxies) == "203.0.113.5"
    assert client_behind(f"{before}192.0.2.8", ("*",)) == "203.0.113.5"
    counted = Connections(Bounds(connections_per_address=1))
    assert admitted(counted, f"{before}127.0.0.1", 3) == [Admission.GOOD] * 3
