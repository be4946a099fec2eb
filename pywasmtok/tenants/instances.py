"""The instances of one tenant: how many there are, and what they take."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from .._locks import ForkSafeLock
from .loads import START

if TYPE_CHECKING:
    from .._host.snapshots.image import Image
    from ..loading.sources.lazy import LazyFile
    from .limits import TenantLimits

__all__ = ["Instances"]

# The least memory that an instance has written to, for systems that do not tell.
_ESTIMATE = 2 << 20

# A renderer of templates: its memory, what is reserved behind it, its store.
_MAPS_OF_A_RENDERER = 4


class _Made(NamedTuple):
    address: int
    shared: int
    """Bytes that it began with and has in common with others."""
    maps: int


class Instances:
    """The instances of a tenant. Code that makes one registers it; a freed one drops out itself."""

    def __init__(
        self,
        limits: TenantLimits,
        reading: Callable[[int, bytes], AbstractContextManager[None]],
    ) -> None:
        """`reading`: reserves memory for a file of this size that begins so."""
        self.limits = limits
        self._reading = reading
        self._lock = ForkSafeLock()
        # By identity: a weak reference takes the row away with its instance.
        self._made: weakref.WeakKeyDictionary[Any, _Made] = weakref.WeakKeyDictionary()
        self._measured_for: float | None = None
        self.memory = 0
        """Bytes of them that are not shared, as last measured."""

    # For `_host.snapshots.Owner`.

    @property
    def most_instances(self) -> int:
        return max(1, self.limits.concurrent)

    @property
    def load_deadline(self) -> float:
        return self.limits.load_deadline

    def reading(self, file: bytes | LazyFile) -> AbstractContextManager[None]:
        start = file[:START] if isinstance(file, bytes) else file.start(START)
        return self._reading(len(file), start)

    def made(self, instance: Any, image: Image) -> None:
        # The address is read now: later another thread may be in a call of the instance.
        shared = image.size if image.shared else 0
        self._note(instance, _Made(instance.base(), shared, image.maps))

    def made_renderer(self, instance: Any) -> None:
        self._note(instance, _Made(instance.base(), 0, _MAPS_OF_A_RENDERER))

    def _note(self, instance: Any, row: _Made) -> None:
        with self._lock:
            self._made[instance] = row

    def __len__(self) -> int:
        return len(self._made)

    def alive(self) -> list[Any]:
        """All of them. The list keeps them alive."""
        with self._lock:
            return list(self._made)

    @property
    def maps(self) -> int:
        """Memory maps that they take, at most."""
        with self._lock:
            return sum(row.maps for row in list(self._made.values()))

    def measured(self, last_use: float) -> int:
        """What they take; measured again only if they may have worked since."""
        if self._measured_for != last_use or not self.memory:
            self._measured_for = last_use
            self.measure()
        return self.memory

    def measure(self) -> int:
        """Bytes that they have written to. A call in another thread is not disturbed."""
        from .._host.linux.private_memory import own_bytes

        total = 0
        with self._lock:
            rows = list(self._made.items())
        while rows:
            # Held no longer than needed, so that an instance that ends meanwhile is freed.
            instance, row = rows.pop()
            size = instance.known_size
            own = own_bytes(row.address, size)
            total += max(_ESTIMATE, size - row.shared) if own is None else own
        self.memory = total
        return total
