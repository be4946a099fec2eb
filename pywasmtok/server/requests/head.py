"""The headers of a request. All code that needs one of them reads it here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..errors import UnsupportedMedia

__all__ = ["OCTETS", "Head", "Headers", "check_json_type"]

Headers = Iterable[tuple[bytes, bytes]]

OCTETS: Final = "application/octet-stream"

_COMMON: Final = frozenset(
    (
        *(b"host", b"content-type", b"content-length", b"accept", b"authorization", b"x-api-key"),
        *(b"user-agent", b"accept-encoding", b"accept-language", b"connection", b"keep-alive"),
        *(b"cache-control", b"pragma", b"via", b"forwarded", b"x-request-id", b"x-real-ip"),
        *(b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"cookie"),
        b"traceparent",
    )
)


class Head:
    __slots__ = ("_all", "_first")

    def __init__(self, headers: Headers) -> None:
        """The names are in lower case."""
        self._all = tuple(headers)
        self._first = dict(reversed(self._all))

    def get(self, name: bytes) -> bytes | None:
        """Where the header comes several times, the first one counts."""
        return self._first.get(name)

    def all(self, name: bytes) -> list[bytes]:
        return [value for each, value in self._all if each == name] if name in self._first else []

    @property
    def names(self) -> Iterable[bytes]:
        return self._first.keys()

    @property
    def is_common(self) -> bool:
        """Whether each header is one that most clients send, and comes once."""
        return len(self._first) == len(self._all) and self._first.keys() <= _COMMON

    @property
    def content_type(self) -> str | None:
        said = self._first.get(b"content-type")
        return None if said is None else said.decode("latin-1")

    @property
    def sends_octets(self) -> bool:
        return (self.content_type or "").partition(";")[0].strip().lower() == OCTETS

    @property
    def wants_octets(self) -> bool:
        """Whether `accept` names bytes and not JSON: a request that names both gets JSON."""
        accept = self._first.get(b"accept", b"").decode("latin-1")
        return OCTETS in accept and "application/json" not in accept


def check_json_type(said: str | None) -> None:
    """UnsupportedMedia. Also a protection against pages of other sites: a browser sends JSON to
    another origin only after a preflight request."""
    if said is None:
        return
    media, _, rest = said.partition(";")
    media = media.strip().lower()
    if media != "application/json" and not (
        media.startswith("application/") and media.endswith("+json")
    ):
        raise UnsupportedMedia(
            f"Content-Type {media[:80]!r} is not taken here", hint="Send application/json"
        )
    charset = rest.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    if charset not in ("", "utf-8", "utf8"):
        raise UnsupportedMedia(f"charset {charset[:40]!r} is not taken", hint="JSON is UTF-8")
