"""What streams of all requests share: the key that signs their states, and how many are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....tenants.errors import TooManyRequests
from ...errors import Unauthorized
from .state import Seal
from .stream import OpenStream

if TYPE_CHECKING:
    from ...contract import Caller, Served, ServiceLike
    from ..shapes import Stream, StreamMessage

__all__ = ["Desk"]


@dataclass(slots=True)
class Desk:
    service: ServiceLike
    seal: Seal
    open: Counter[str] = field(default_factory=Counter)
    """Streams of each tenant, in this process."""
    sockets: Counter[str] = field(default_factory=Counter)
    """WebSockets of each; as many as streams, which each of them is for."""

    @classmethod
    def of(cls, service: ServiceLike) -> Desk:
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
        most = served.tenant.limits.streams
        if self.open[caller.tenant] >= most:
            raise TooManyRequests.of(f"{most} streams are open already", most, most + 1)
        self.open[caller.tenant] += 1

    @contextmanager
    def socket(self, caller: Caller) -> Iterator[None]:
        """Room for one more WebSocket, which takes one of the server's connections."""
        most = self.service.tenant(caller.tenant).limits.streams
        if self.sockets[caller.tenant] >= most:
            raise TooManyRequests.of(f"{most} WebSockets are open already", most, most + 1)
        self.sockets[caller.tenant] += 1
        try:
            yield
        finally:
            self.sockets[caller.tenant] -= 1
            if self.sockets[caller.tenant] <= 0:
                del self.sockets[caller.tenant]

    def leave(self, caller: Caller, count: int = 1) -> None:
        self.open[caller.tenant] -= count
        if self.open[caller.tenant] <= 0:
            del self.open[caller.tenant]

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
