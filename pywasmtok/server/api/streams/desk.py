"""What streams of all requests share: the key that signs their states, and their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....tenants.counts import SOCKETS, STREAMS
from ....tenants.errors import TooManyRequests
from ...errors import Unauthorized
from .state import Seal
from .stream import OpenStream

if TYPE_CHECKING:
    from ...contract import Caller, Served
    from ...service import Service
    from ..shapes import Stream, StreamMessage

__all__ = ["Desk"]


@dataclass(slots=True)
class Desk:
    service: Service
    seal: Seal

    @classmethod
    def of(cls, service: Service) -> Desk:
        bounds = service.config.streams
        secret = service.store.secret("streams")
        seal = Seal(secret, seconds=bounds.state_seconds, most_bytes=bounds.state_bytes)
        return cls(service, seal)

    def require_key(self, caller: Caller) -> None:
        """Unauthorized: the key was removed or has expired. A stream lives much longer than its
        first request, and must end with the key."""
        if caller.key_id is not None and not self.service.keys.is_good(caller.key_id):
            raise Unauthorized(
                "the key that this began with is no longer good",
                hint="With another key of the tenant the stream can be gone on with",
            )

    def take(self, caller: Caller, served: Served) -> None:
        """Room for one more stream; `leave` gives it back."""
        self._enter(STREAMS, caller.tenant, served.tenant.limits.streams, "streams")

    @contextmanager
    def socket(self, caller: Caller) -> Iterator[None]:
        """Room for one more WebSocket, which takes one of the server's connections. There may be as
        many as streams, which each of them is for."""
        most = self.service.tenant(caller.tenant).limits.streams
        self._enter(SOCKETS, caller.tenant, most, "WebSockets")
        try:
            yield
        finally:
            self.service.counts.add(SOCKETS, caller.tenant, -1)

    def leave(self, caller: Caller, count: int = 1) -> None:
        self.service.counts.add(STREAMS, caller.tenant, -count)

    def _enter(self, kind: int, tenant: str, most: int, what: str) -> None:
        counts = self.service.counts
        with counts.lock:
            if counts.total(kind, tenant) < most:
                counts.add(kind, tenant, 1)
                return
        raise TooManyRequests.of(f"this tenant may have {most} {what} open at once", most, most + 1)

    def served(self, caller: Caller, name: str, asked: Stream | StreamMessage) -> Served:
        """What a new stream is over; a stream that goes on keeps what it began with."""
        if asked.state is None:
            return self.service.find(caller, name)
        standing = self.seal.opened(asked.state, caller.tenant, name)
        served = self.service.find(caller, standing.digest)
        served.name = name
        return served

    def opener(
        self, caller: Caller, served: Served, asked: Stream | StreamMessage
    ) -> Callable[[], OpenStream]:
        """For a thread."""
        if asked.state is None:
            return lambda: OpenStream.begin(served, asked)
        standing = self.seal.opened(asked.state, caller.tenant, served.name)
        return lambda: OpenStream.resume(served, standing)

    def state(self, caller: Caller, name: str, stream: OpenStream) -> str:
        return self.seal.closed(stream.standing(caller.tenant, name, self.seal.expires()))
