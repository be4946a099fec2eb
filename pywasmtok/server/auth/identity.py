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
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ...errors import TokenizerError
from ...tenants.errors import TooManyRequests
from ..config import is_loopback
from ..contract import LOCAL, PUBLIC, Caller
from ..errors import BadRequest, Forbidden, Unauthorized

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from ..contract import KeyRecord
    from ..requests.head import Head

__all__ = ["Failures", "Identity", "known_key", "need_admin", "network_of"]

_LONGEST_KEY: Final = 256

# Headers that proxies add: the sender is then not a program of this machine.
_OF_PROXIES: Final = {b"forwarded", b"x-real-ip", b"via"}

_LOCAL: Final = Caller(LOCAL, admin=True)


class Identity:
    def __init__(self, service: Any) -> None:
        self._service = service
        self._needs_keys: bool = service.config.needs_keys
        self._failures = Failures()

    def known(self, head: Head) -> Caller | None:
        """The caller, without waiting and without counting anything. None: `caller` decides, and
        refuses."""
        if self._needs_keys:
            found = known_key(self._service.keys, head)
            return None if found is None else _caller_of(found)
        try:
            check_browser(head)
        except TokenizerError:
            return None
        return _LOCAL

    def caller(self, head: Head, client: str | None, *, open_route: bool) -> Caller | None:
        """Unauthorized, Forbidden or TooManyRequests; None: the route is open and needs no key."""
        if not self._needs_keys:
            check_browser(head)
            return _LOCAL
        if open_route:
            return None
        key = key_of(head)
        found = None if key is None else self._service.keys.find(key)
        if found is not None:
            return _caller_of(found)
        # A valid key is never refused because of other clients of the same address. Guessing one of
        # 256 bits is hopeless: this bound only keeps it cheap for the server.
        if key is not None:
            self._failures.count(client)
        raise Unauthorized(
            "a valid key is needed",
            hint="Send it as `Authorization: Bearer KEY` or `x-api-key: KEY`",
        )


def _caller_of(found: KeyRecord) -> Caller:
    if found.tenant is None:
        return Caller(PUBLIC, admin=True, key_id=found.id)
    return Caller(found.tenant, key_id=found.id)


def known_key(keys: Any, head: Head) -> KeyRecord | None:
    """The record of a request's key among `keys`."""
    try:
        key = key_of(head)
    except TokenizerError:
        return None
    found: KeyRecord | None = None if key is None else keys.find(key)
    return found


def need_admin(connection: HTTPConnection) -> Caller:
    caller: Caller | None = connection.state.caller
    if caller is None or not caller.admin:
        raise Forbidden("only an admin's key may do this")
    return caller


def key_of(head: Head) -> str | None:
    """The one key that a request shows, wherever it shows it."""
    keys = {value.strip() for value in head.all(b"x-api-key")}
    for value in head.all(b"authorization"):
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
    if len(key) > _LONGEST_KEY or not key.isascii():
        return ""
    return key.decode("ascii")


def check_browser(head: Head) -> None:
    """Refuses requests that a page of another site could make a browser on this machine send."""
    hosts = head.all(b"host")
    if len(hosts) > 1:
        raise BadRequest("the request names two hosts")
    for name in head.names:
        if name in _OF_PROXIES or name.startswith(b"x-forwarded-"):
            raise Forbidden(
                f"the request came through a proxy ({name.decode('latin-1')}), and this server has"
                " no keys",
                hint="Serve with keys: --admin-key-file FILE, or identity = true",
            )
    # HTTP/1.0 has no Host, and no browser speaks it.
    host = hosts[0].decode("latin-1") if hosts else None
    if host is not None and not _names_this_machine(host):
        raise Forbidden(
            "this server has no keys and answers to names of this machine only",
            hint="Ask for localhost or 127.0.0.1, or serve with keys",
        )
    origins = [origin.decode("latin-1") for origin in head.all(b"origin")]
    foreign = [origin for origin in origins if host is None or not _same(origin, host)]
    is_cross = not {b"cross-site", b"same-site"}.isdisjoint(head.all(b"sec-fetch-site"))
    if foreign or (is_cross and head.all(b"sec-fetch-mode") != [b"navigate"]):
        raise Forbidden("pages of other sites may not use a server without keys")


@lru_cache(maxsize=256)
def _names_this_machine(host: str) -> bool:
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
        who = network_of(client)
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


def network_of(client: str | None) -> str:
    """An IPv6 host has 2^64 addresses of its own, and counts as one."""
    if client is None or ":" not in client:
        return client or ""
    try:
        address = ipaddress.IPv6Address(client.partition("%")[0])
    except ValueError:
        return client
    return str(address.ipv4_mapped or ipaddress.IPv6Network((address, 64), strict=False))
