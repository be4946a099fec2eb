"""The caller of a request: the tenant of its key, and what may come without one.

Without keys the server listens on loopback only. There any program of this machine is a caller. One
of these programs is a browser, and it runs pages from other sites. So a request must name this
machine as its Host, which a page that rebinds its own name to 127.0.0.1 cannot do; and if it names
the page that it came from, that page must be ours.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ...tenants.errors import TooManyRequests
from ..config import is_loopback
from ..contract import LOCAL, PUBLIC, Caller
from ..errors import BadRequest, Forbidden, Unauthorized
from .keys import is_key

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from ..contract import KeyRecord

__all__ = [
    "LONGEST_KEY",
    "Failures",
    "Identity",
    "is_of_proxy",
    "names_this_machine",
    "need_admin",
]

Headers = Iterable[tuple[bytes, bytes]]

LONGEST_KEY: Final = 256

# Headers that proxies add: the sender is then not a program of this machine.
_OF_PROXIES: Final = {b"forwarded", b"x-real-ip", b"via"}


class Identity:
    def __init__(self, service: Any) -> None:
        self._service = service
        self._needs_keys: bool = service.config.needs_keys
        self._failures = Failures()

    def caller(self, headers: Headers, client: str | None, *, open_route: bool) -> Caller | None:
        """Unauthorized, Forbidden or TooManyRequests; None: the route is open and needs no key."""
        if not self._needs_keys:
            check_browser(headers)
            return Caller(LOCAL, admin=True)
        if open_route:
            return None
        key = key_of(headers)
        found = None if key is None else self._found(key)
        if found is not None:
            if found.tenant is None:
                return Caller(PUBLIC, admin=True, key_id=found.id)
            return Caller(found.tenant, key_id=found.id)
        # A valid key is never refused because of other clients of the same address. Guessing one of
        # 256 bits is hopeless: this bound only keeps it cheap for the server.
        if key is not None:
            self._failures.count(client)
        raise Unauthorized(
            "a valid key is needed",
            hint="Send it as `Authorization: Bearer KEY` or `x-api-key: KEY`",
        )

    def _found(self, key: str) -> KeyRecord | None:
        found: KeyRecord | None = self._service.keys.find(key)
        if found is None and is_key(key) and self._service.has_news():
            found = self._service.keys.find(key)
        return found


def need_admin(connection: HTTPConnection) -> Caller:
    caller: Caller | None = connection.state.caller
    if caller is None or not caller.admin:
        raise Forbidden("only an admin's key may do this")
    return caller


def key_of(headers: Headers) -> str | None:
    """The one key that a request shows, wherever it shows it."""
    keys: set[bytes] = set()
    for name, value in headers:
        if name == b"x-api-key":
            keys.add(value.strip())
        elif name == b"authorization":
            scheme, _, rest = value.strip().partition(b" ")
            if scheme.lower() != b"bearer":
                raise Unauthorized("Authorization must be `Bearer KEY`")
            keys.add(rest.strip())
    keys.discard(b"")
    if not keys:
        return None
    if len(keys) > 1:
        raise BadRequest("the request shows two different keys")
    key = keys.pop()
    if len(key) > LONGEST_KEY or not key.isascii():
        return ""
    return key.decode("ascii")


def is_of_proxy(name: bytes) -> bool:
    return name in _OF_PROXIES or name.startswith(b"x-forwarded-")


def check_browser(headers: Headers) -> None:
    """Refuses requests that a page of another site could make a browser on this machine send."""
    host: str | None = None
    origins: list[str] = []
    site = mode = ""
    for name, value in headers:
        if name == b"host":
            if host is not None:
                raise BadRequest("the request names two hosts")
            host = value.decode("latin-1")
        elif name == b"origin":
            origins.append(value.decode("latin-1"))
        elif name == b"sec-fetch-site":
            site = value.decode("latin-1")
        elif name == b"sec-fetch-mode":
            mode = value.decode("latin-1")
        elif is_of_proxy(name):
            raise Forbidden(
                f"the request came through a proxy ({name.decode('latin-1')}), and this server has"
                " no keys",
                hint="Serve with keys: --admin-key-file FILE, or identity = true",
            )
    # HTTP/1.0 has no Host, and no browser speaks it.
    if host is not None and not names_this_machine(host):
        raise Forbidden(
            "this server has no keys and answers to names of this machine only",
            hint="Ask for localhost or 127.0.0.1, or serve with keys",
        )
    foreign = [origin for origin in origins if host is None or not _same(origin, host)]
    if foreign or (site in ("cross-site", "same-site") and mode != "navigate"):
        raise Forbidden("pages of other sites may not use a server without keys")


@lru_cache(maxsize=256)
def names_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name) or name.endswith(".localhost")


def _same(origin: str, host: str) -> bool:
    scheme, separator, rest = origin.partition("://")
    return bool(separator) and scheme in ("http", "https") and rest.lower() == host.lower()


class Failures:
    """How many wrong keys an address may show: `rate` a second in the long run, `burst` at once."""

    def __init__(self, rate: float = 5.0, burst: float = 20.0, addresses: int = 4096) -> None:
        self._rate = rate
        self._burst = burst
        self._most = addresses
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, client: str | None, now: float | None = None) -> None:
        """One more wrong key. TooManyRequests: it was one too many."""
        now = time.monotonic() if now is None else now
        who = _network(client)
        left, since = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        allowed = left >= 1.0
        self._left[who] = (left - 1.0 if allowed else left, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        if not allowed:
            raise _too_many((1.0 - left) / self._rate)


def _too_many(seconds: float) -> TooManyRequests:
    """An error that a frame of its own traceback refers to is freed by the garbage collector only,
    and a client can cause many of these. So no function that raises one keeps it in a variable."""
    error = TooManyRequests("too many wrong keys came from this address")
    error.retry_after = seconds
    return error


def _network(client: str | None) -> str:
    """An IPv6 host has 2^64 addresses of its own, and counts as one."""
    if client is None or ":" not in client:
        return client or ""
    try:
        address = ipaddress.IPv6Address(client.partition("%")[0])
    except ValueError:
        return client
    return str(address.ipv4_mapped or ipaddress.IPv6Network((address, 64), strict=False))
