"""The reader of short requests: no router, no timers, no objects of a framework in between.

It takes small requests that are complete on arrival and valid, with common headers that have their
usual meaning. All other requests go through the application unchanged: before the call into the
sandbox this reader has no side effect. Both give the same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ...errors import TokenizerError
from ..auth.identity import LONGEST_KEY, is_of_proxy, names_this_machine
from ..contract import LOCAL, PUBLIC, Caller
from ..observe import trace

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

    from ..contract import Served, ServiceLike

__all__ = [
    "MOST_BYTES",
    "Form",
    "NamedWay",
    "Screened",
    "Short",
    "Straight",
    "Way",
    "again",
    "head_of",
    "key_of",
    "strings_of",
    "taken",
]

# Larger bodies have rarely arrived completely with their head.
MOST_BYTES: Final = 64 << 10

_DIGITS: Final = 6

_PREFIX: Final = "/api/v1/tokenizers/"
_JSON: Final = frozenset((b"application/json", b"application/json; charset=utf-8"))
_OCTETS: Final = b"application/octet-stream"
_READ: Final = frozenset(
    (
        *(b"host", b"content-type", b"content-length", b"accept", b"authorization", b"x-api-key"),
        b"traceparent",
    )
)
_PASSED_OVER: Final = frozenset(
    (
        *(b"user-agent", b"accept-encoding", b"accept-language", b"connection", b"keep-alive"),
        *(b"cache-control", b"pragma", b"via", b"forwarded", b"x-request-id", b"x-real-ip"),
        *(b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"cookie"),
    )
)


class Short(NamedTuple):
    """A request that was read, and the call that answers it."""

    route: str
    """As in `exchange.route_class`."""
    dialect: str
    operation: str
    served: Served
    cost: int
    inline: bool
    call: Callable[[], bytes]
    says_tokenizer: bool = False
    """Whether the answer has the digest in a header."""
    media: bytes = b"application/json"
    """Of the answer."""


class Form(NamedTuple):
    """The content type of a request and of its answer: JSON, or ids as bytes."""

    takes_octets: bool = False
    gives_octets: bool = False


Headers = Iterable[tuple[bytes, bytes]]
Way = Callable[[bytes, Caller], Short | None]
NamedWay = Callable[[bytes, Caller, str], Short | None]


class Screened(NamedTuple):
    """A request of which all but the body is known."""

    read: Callable[[bytes], Short | None]
    caller: Caller
    trace: trace.Trace | None


_AS_JSON: Final = Form()


class Straight:
    def __init__(
        self,
        service: ServiceLike,
        ways: Mapping[str, Way],
        named_ways: Mapping[tuple[str, Form], NamedWay],
    ) -> None:
        """`ways`: by path; `named_ways`: of our own API, by the last word of the path and form."""
        self._service: Any = service
        self._lifecycle = service.lifecycle
        self._needs_keys: bool = service.config.needs_keys
        self.most = min(MOST_BYTES, service.config.bounds.body_bytes)
        self._local = Caller(LOCAL, admin=True)
        self._ways = ways
        self._named_ways = named_ways
        self._last_words = frozenset(last for last, _ in self._named_ways)

    def screened(self, scope: Scope) -> Screened | None:
        """None: the application takes the request."""
        if (
            scope["method"] != "POST"
            or scope["query_string"]
            or scope["root_path"]
            or b"%" in (scope.get("raw_path") or b"%")
        ):
            return None
        return self.of_head(scope["path"], scope["headers"])

    def of_head(self, path: str, headers: Headers) -> Screened | None:
        """The same for a POST without a query, of which nothing is quoted in the path."""
        way, name, last = self._ways.get(path), "", ""
        if way is None:
            if not path.startswith(_PREFIX):
                return None
            name, _, last = path[len(_PREFIX) :].partition("/")
            if last not in self._last_words or not name:
                return None
        found = None if self._is_off() else self._heads(headers)
        if found is None:
            return None
        caller, form, traced = found
        if way is not None:
            return Screened(_reader(way, caller), caller, traced) if form == _AS_JSON else None
        named = self._named_ways.get((last, form))
        if named is None:
            return None
        return Screened(_named_reader(named, caller, name), caller, traced)

    def _is_off(self) -> bool:
        # With OpenTelemetry loaded, requests go through the application, where spans are made.
        return self._lifecycle.draining or "opentelemetry.trace" in sys.modules

    def still_good(self, screened: Screened) -> bool:
        """Whether a head that was accepted before is accepted now: keys expire, and servers
        drain."""
        key_id = screened.caller.key_id
        good = key_id is None or self._service.keys.is_good(key_id)
        return good and not self._is_off()

    def _heads(self, headers: Headers) -> tuple[Caller, Form, trace.Trace | None] | None:
        said: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in _READ:
                if name in said:
                    return None
                said[name] = value
            elif name not in _PASSED_OVER or (not self._needs_keys and is_of_proxy(name)):
                return None
        length = said.get(b"content-length", b"")
        if len(length) > _DIGITS or not length.isdigit() or int(length) > self.most:
            return None
        form = _form(said.get(b"content-type", b"application/json"), said.get(b"accept", b""))
        caller = None if form is None else self._caller(said)
        if form is None or caller is None:
            return None
        return caller, form, trace.read(said.get(b"traceparent"))

    def _caller(self, said: dict[bytes, bytes]) -> Caller | None:
        """The caller, where its key is valid; None: the application decides, and refuses."""
        if not self._needs_keys:
            host = said.get(b"host")
            is_ours = host is not None and names_this_machine(host.decode("latin-1"))
            return self._local if is_ours else None
        found = self._service.keys.find(key_of(said))
        if found is None:
            return None
        if found.tenant is None:
            return Caller(PUBLIC, admin=True, key_id=found.id)
        return Caller(found.tenant, key_id=found.id)


def _form(content_type: bytes, accept: bytes) -> Form | None:
    """None: the application reads the headers with more care."""
    takes_octets = content_type == _OCTETS
    if not takes_octets and content_type not in _JSON:
        return None
    gives_octets = accept == _OCTETS
    if not gives_octets and b"octet" in accept:
        return None
    return Form(takes_octets, gives_octets)


def key_of(said: dict[bytes, bytes]) -> str:
    """The key; empty, which is no key, unless it is there exactly once in the usual form."""
    shown, key = said.get(b"authorization"), said.get(b"x-api-key")
    if shown is not None:
        if key is not None or shown[:7] != b"Bearer ":
            return ""
        key = shown[7:]
    if key is None or len(key) > LONGEST_KEY or not key.isascii():
        return ""
    return key.decode("ascii")


def _reader(way: Way, caller: Caller) -> Callable[[bytes], Short | None]:
    def read(body: bytes) -> Short | None:
        try:
            return way(body, caller)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TokenizerError):
            return None

    return read


def _named_reader(way: NamedWay, caller: Caller, name: str) -> Callable[[bytes], Short | None]:
    return _reader(lambda body, caller: way(body, caller, name), caller)


def strings_of(body: bytes) -> int:
    """How many strings are in JSON, keys too; -1: a simple count cannot tell.

    A reader that finds the same number in the decoded object has read all of it: no key came twice,
    and no field was skipped.
    """
    quotes = body.count(b'"')
    if b"\\" in body:
        if b'\\\\"' in body:
            return -1
        quotes -= body.count(b'\\"')
    return quotes >> 1


def taken(receive: Receive) -> tuple[bytes | None, Receive]:
    """The body, if all of it is there now, without waiting; and the `receive` for the rest. If the
    body is None, that `receive` begins with the messages that have come already."""
    asked = receive().__await__()
    try:
        waiting = asked.send(None)
    except StopIteration as ended:
        message = ended.value
    else:
        return None, _first(_Begun(asked, waiting), receive)
    if message["type"] == "http.request" and not message.get("more_body", False):
        return message.get("body", b""), receive
    return None, _first(_Come(message), receive)


def again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body again."""
    return _first(_Come({"type": "http.request", "body": body, "more_body": False}), receive)


def head_of(short: Short, answer: bytes) -> list[tuple[bytes, bytes]]:
    rest = [(b"content-length", b"%d" % len(answer)), (b"content-type", short.media)]
    if not short.says_tokenizer:
        return rest
    return [(b"x-tokenizer", short.served.digest.encode()), (b"vary", b"accept"), *rest]


def _first(first: Awaitable[Any], then: Receive) -> Receive:
    left: list[Awaitable[Any]] = [first]

    async def receive() -> Any:
        return await (left.pop() if left else then())

    return receive


class _Come:
    """A message that has come already."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._message
        yield


class _Begun:
    """A coroutine that waits already, for `waiting`: its task learns of that at the first step."""

    def __init__(self, asked: Any, waiting: Any) -> None:
        self._asked = asked
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, Any]:
        asked, waiting = self._asked, self._waiting
        while True:
            try:
                try:
                    told = yield waiting
                except BaseException as error:
                    waiting = asked.throw(error)
                else:
                    waiting = asked.send(told)
            except StopIteration as ended:
                return ended.value
