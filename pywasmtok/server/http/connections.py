"""The open connections of a process, counted from their acceptance on.

A connection is known once a request on it has shown a good key. Idle connections that are not
known must not shut others out: when few places are left, the oldest of them is closed for each new
connection. If there is none to close, new connections get the last places, for probes only.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..auth.identity import network_of
from ..config import is_loopback

if TYPE_CHECKING:
    from ..config import Bounds

__all__ = ["PROBES", "Admission", "Connections"]

PROBES: Final = frozenset({"/health", "/ready", "/metrics"})
"""What is answered while the server drains, and on its last connections."""

_RESERVED_PART: Final = 16
"""One of so many connections is kept for probes."""


class Admission(Enum):
    GOOD = "good"
    SPARE = "spare"
    """For a probe only, unless a place becomes free first."""
    FULL = "full"
    ADDRESS_FULL = "address_full"


class _Closable(Protocol):
    """A transport, or a handshake that will become one."""

    def abort(self) -> None: ...


class Connections:
    """For the event loop."""

    def __init__(self, bounds: Bounds, proxies: Iterable[str] = ()) -> None:
        self.bounds = bounds
        self._proxies = frozenset(proxies)
        self._networks = [found for one in self._proxies if (found := _network(one)) is not None]
        # Each with the network that it is counted for; "": none.
        self._open: dict[_Closable, str] = {}
        self._of: Counter[str] = Counter()
        # From the oldest on, each with whether it is idle.
        self._unknown: dict[_Closable, Callable[[], bool]] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_near(self) -> bool:
        """Whether only the places for probes are left."""
        most = self.bounds.connections
        reserved = max(1, most // _RESERVED_PART) if most > 1 else 0
        return len(self._open) >= most - reserved

    def admit(self, connection: Any, address: str | None, is_idle: Callable[[], bool]) -> Admission:
        """Counts the connection, unless it is refused."""
        network = self._counted_network(address)
        most = self.bounds.connections_per_address
        if network and most and self._of[network] >= most and not self._made_room(network):
            return Admission.ADDRESS_FULL
        is_spare = self.is_near and not self._made_room()
        if is_spare and len(self._open) >= self.bounds.connections:
            return Admission.FULL
        self._open[connection] = network
        self._unknown[connection] = is_idle
        if network:
            self._of[network] += 1
        return Admission.SPARE if is_spare else Admission.GOOD

    def replace(self, connection: Any, by: Any, is_idle: Callable[[], bool]) -> None:
        """A handshake has become a transport."""
        network = self._open.pop(connection, None)
        self._unknown.pop(connection, None)
        if network is None:
            # It was closed to make room.
            by.abort()
            return
        self._open[by] = network
        self._unknown[by] = is_idle

    def known(self, connection: Any) -> None:
        """A request on it was accepted."""
        self._unknown.pop(connection, None)

    def gone(self, connection: Any) -> None:
        network = self._open.pop(connection, None)
        self._unknown.pop(connection, None)
        if network:
            self._of[network] -= 1
            if not self._of[network]:
                del self._of[network]

    def _made_room(self, network: str | None = None) -> bool:
        """Closes the oldest idle connection that is not known. `network`: of this one."""
        for connection, is_idle in self._unknown.items():
            if (network is None or self._open[connection] == network) and is_idle():
                self.gone(connection)
                connection.abort()
                return True
        return False

    def _counted_network(self, address: str | None) -> str:
        """Proxies, and programs of this machine, bring the connections of many clients."""
        if address is None or is_loopback(address) or not self._proxies.isdisjoint((address, "*")):
            return ""
        if self._networks:
            found = ipaddress.ip_address(address.partition("%")[0])
            if any(found in network for network in self._networks):
                return ""
        return network_of(address)


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(name, strict=False)
    except ValueError:
        return None
