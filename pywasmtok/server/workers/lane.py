"""Two kinds of processes: one for short requests, and one for those that take long.

Threads of one process share the interpreter. However low the priority of those that work for long,
the event loop waits whenever one of them holds it, and runs itself to read what is large. Processes
share nothing but the processors, of which the kernel gives those that answer the first turn.

Where a request belongs is said by its head: a body that is large or has no length, and an upload,
belong to the long ones; and everything of a tenant whose calls have lately been long.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from ..requests.straight import MOST_BYTES, key_of
from .handover_socket import Ends, Link
from .slow_tenants import Marks

if TYPE_CHECKING:
    from collections.abc import Callable

    from .handover_socket import Arrived

__all__ = ["LONG_STEPS_BACK", "Lane"]

LONG_STEPS_BACK: Final = 5
"""Levels of priority that a process of the long ones is below the others."""

# The bodies of these are files.
_UPLOADS: Final = frozenset((b"PUT",))

_KEYS: Final = frozenset((b"authorization", b"x-api-key"))

# More digits are more than anybody may send, by far.
_DIGITS: Final = len(str(MOST_BYTES))


class Lane:
    """Of one process."""

    def __init__(self, long: bool, ends: Ends) -> None:
        self.long = long
        self.marks = Marks()
        self._link = Link(ends)
        self._service: Any = None

    def serve(self, service: Any) -> None:
        """Before the first request. Where nobody shows a key, there is one tenant, and nothing to
        tell apart."""
        self._service = service
        if service.config.needs_keys:
            service.work.saw_long = self.marks.saw

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
        marks, keys = self.marks, dict[bytes, bytes]()
        for name, value in headers:
            if name == b"content-length":
                if len(value) > _DIGITS or (value.isdigit() and int(value) > MOST_BYTES):
                    return True
            elif name == b"transfer-encoding":
                return True
            elif marks and name in _KEYS:
                keys[name] = value
        if not keys:
            return False
        found = self._service.keys.find(key_of(keys))
        return found is not None and found.tenant is not None and marks.has(found.tenant)
