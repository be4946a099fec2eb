"""Two kinds of processes: one for short requests, and one for those that take long.

Threads of one process share the GIL. Even a thread of low priority delays the event loop while it
holds the GIL, and the event loop itself reads large bodies. Processes share only the processors,
and the kernel prefers the processes of short requests.

The head of a request decides. Uploads, bodies that are large or of unknown length, and all requests
of a tenant whose calls have lately been long go to the processes of long requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from ..auth.identity import known_key
from ..requests.at_once import MOST_BYTES
from ..requests.head import Head
from .handover_socket import Ends, Link
from .slow_tenants import SlowTenants

if TYPE_CHECKING:
    from collections.abc import Callable

    from .handover_socket import Arrived

__all__ = ["LONG_STEPS_BACK", "WorkerKind"]

LONG_STEPS_BACK: Final = 5
"""Levels of priority that a process of the long ones is below the others."""

# The bodies of these are files.
_UPLOADS: Final = frozenset((b"PUT",))

# A length of more digits is above every bound.
_DIGITS: Final = len(str(MOST_BYTES))


class WorkerKind:
    """Of one process."""

    def __init__(self, long: bool, ends: Ends) -> None:
        self.long = long
        self.slow_tenants = SlowTenants()
        self._link = Link(ends)
        self._service: Any = None

    def serve(self, service: Any) -> None:
        """Called before the first request. Without keys there is one tenant, and no need to mark
        tenants."""
        self._service = service
        if service.config.needs_keys:
            service.work.saw_long = self.slow_tenants.saw

    def start(self, loop: Any, arrived: Arrived) -> None:
        self._link.start(loop, arrived)

    def stop(self) -> None:
        self._link.stop()

    @property
    def send(self) -> Callable[[int, bytes], bool]:
        return self._link.send

    def belongs_elsewhere(self, method: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """A request with this head; the names of headers are in lower case."""
        service = self._service
        if service is None or service.lifecycle.draining:
            return False
        return self._is_long(method, headers) != self.long

    def _is_long(self, method: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        if method in _UPLOADS:
            return True
        for name, value in headers:
            if name == b"content-length":
                if len(value) > _DIGITS or (value.isdigit() and int(value) > MOST_BYTES):
                    return True
            elif name == b"transfer-encoding":
                return True
        if not self.slow_tenants:
            return False
        found = known_key(self._service.keys, Head(headers))
        return (
            found is not None and found.tenant is not None and self.slow_tenants.has(found.tenant)
        )
