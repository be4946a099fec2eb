"""Whose request it is: keys, guesses, and pages of strangers in a browser on the same machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pywasmtok.server.auth.identity import Failures, Identity
from pywasmtok.server.config import Config
from pywasmtok.server.contract import LOCAL, PUBLIC, Caller, KeyRecord
from pywasmtok.server.errors import BadRequest, Forbidden, Unauthorized
from pywasmtok.server.requests.head import Head
from pywasmtok.tenants.errors import TooManyRequests

GOOD = "pwt_" + "a" * 43
ADMIN = "pwt_" + "b" * 43


class Keys:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def find(self, key: str) -> KeyRecord | None:
        self.asked.append(key)
        record = KeyRecord("k1", "", "acme", 0.0)
        return {GOOD: record, ADMIN: replace(record, id="k2", tenant=None)}.get(key)


class Service:
    def __init__(self, identity: bool) -> None:
        self.config = Config(identity=identity)
        self.keys = Keys()


def caller(headers: dict[str, str], identity: bool = True, **named: Any) -> Caller | None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    named = {"open_route": False, **named}
    return Identity(Service(identity)).caller(Head(raw), "10.0.0.1", **named)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {GOOD}"},
        {"authorization": f"bearer   {GOOD} "},
        {"x-api-key": GOOD},
        {"x-api-key": GOOD, "authorization": f"Bearer {GOOD}"},
    ],
)
def test_a_key_is_its_tenant(headers: dict[str, str]) -> None:
    assert caller(headers) == Caller("acme", key_id="k1")


def test_an_admins_key_is_nobodys_tenant() -> None:
    assert caller({"x-api-key": ADMIN}) == Caller(PUBLIC, admin=True, key_id="k2")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": ""},
        {"x-api-key": "pwt_wrong"},
        {"x-api-key": GOOD + "a"},
        {"x-api-key": GOOD[:-1]},
        {"x-api-key": "a" * 100_000},
        {"x-api-key": "ключ"},
        {"authorization": f"Basic {GOOD}"},
        {"authorization": GOOD},
        {"cookie": f"key={GOOD}"},
    ],
)
def test_anything_else_is_nobody(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthorized):
        caller(headers)


def test_the_refusal_says_the_same_of_no_key_and_of_a_wrong_one() -> None:
    said = set()
    for headers in ({}, {"x-api-key": "pwt_wrong"}):
        with pytest.raises(Unauthorized) as error:
            caller(headers)
        said.add(str(error.value))
    assert len(said) == 1
    assert "pwt_wrong" not in said.pop()


def test_two_keys_are_no_answer_to_who_asks() -> None:
    with pytest.raises(BadRequest, match="two different keys"):
        caller({"x-api-key": GOOD, "authorization": f"Bearer {ADMIN}"})


def test_what_is_open_needs_no_key() -> None:
    assert caller({}, open_route=True) is None


def test_a_long_key_is_never_hashed() -> None:
    service = Service(identity=True)
    with pytest.raises(Unauthorized):
        Identity(service).caller(Head([(b"x-api-key", b"a" * 100_000)]), None, open_route=False)
    assert service.keys.asked == [""]


def test_guessing_ends_in_too_many_requests_and_good_keys_go_on() -> None:
    identity = Identity(Service(identity=True))
    kinds = []
    for place in range(60):
        with pytest.raises((Unauthorized, TooManyRequests)) as error:
            identity.caller(
                Head([(b"x-api-key", b"guess%d" % place)]), "10.0.0.1", open_route=False
            )
        kinds.append(error.value.kind)
    assert kinds[0] == "unauthorized"
    assert "too_many_requests" in kinds
    for client in ("10.0.0.1", "10.0.0.2"):
        found = identity.caller(Head([(b"x-api-key", GOOD.encode())]), client, open_route=False)
        assert found is not None
    with pytest.raises(Unauthorized):
        identity.caller(Head([(b"x-api-key", b"guess")]), "10.0.0.2", open_route=False)


def test_wrong_keys_are_forgiven_with_time() -> None:
    failures = Failures(rate=1.0, burst=2.0)
    failures.count("a", 0.0)
    failures.count("a", 0.0)
    with pytest.raises(TooManyRequests) as error:
        failures.count("a", 0.0)
    assert 0 < error.value.retry_after <= 1
    failures.count("a", 1.0)


def test_addresses_are_forgotten_and_those_of_one_ipv6_host_are_one() -> None:
    failures = Failures(rate=0.001, burst=1.0, addresses=10)
    failures.count("2001:db8:1:2::1", 0.0)
    with pytest.raises(TooManyRequests):
        failures.count("2001:db8:1:2:ffff::9%eth0", 0.0)
    failures.count("::ffff:10.0.0.1", 0.0)
    for place in range(1000):
        failures.count(f"10.1.{place // 256}.{place % 256}", 0.0)
    failures.count("2001:db8:1:2::1", 0.0)


LOCAL_ADMIN = Caller(LOCAL, admin=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8080"},
        {"host": "localhost"},
        {"host": "LOCALHOST:1"},
        {"host": "[::1]:8080"},
        {"host": "tok.localhost:8080"},
        {},
        {"host": "localhost:1", "origin": "http://localhost:1", "sec-fetch-site": "same-origin"},
        {"host": "localhost:1", "sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"host": "localhost:1", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"host": "localhost:1", "authorization": "Bearer EMPTY"},
    ],
)
def test_without_keys_programs_of_this_machine_are_served(headers: dict[str, str]) -> None:
    assert caller(headers, identity=False) == LOCAL_ADMIN


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:8080"},
        {"host": "localhost.evil.example"},
        {"host": "10.0.0.5:8080"},
        {"host": "[::1"},
        {"host": ""},
        {"host": "evil.example@127.0.0.1.evil.example"},
        {"host": "localhost:1", "origin": "http://evil.example"},
        {"host": "localhost:1", "origin": "null"},
        {"host": "localhost:1", "origin": "http://localhost:2"},
        {"host": "localhost:1", "origin": "file://localhost:1"},
        {"host": "localhost:1", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"host": "localhost:1", "sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"origin": "http://evil.example"},
    ],
)
@pytest.mark.parametrize("open_route", [True, False])
def test_without_keys_pages_of_strangers_are_refused(
    headers: dict[str, str], open_route: bool
) -> None:
    with pytest.raises(Forbidden):
        caller(headers, identity=False, open_route=open_route)


def test_two_hosts_are_refused() -> None:
    with pytest.raises(BadRequest):
        Identity(Service(identity=False)).caller(
            Head([(b"host", b"localhost"), (b"host", b"evil.example")]), None, open_route=False
        )


@pytest.mark.parametrize(
    "name", ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "via"]
)
def test_without_keys_what_a_proxy_forwards_is_refused(name: str) -> None:
    with pytest.raises(Forbidden, match="proxy"):
        caller({"host": "localhost", name: "10.0.0.2"}, identity=False)
    assert caller({"x-api-key": GOOD, name: "10.0.0.2"}) == Caller("acme", key_id="k1")
