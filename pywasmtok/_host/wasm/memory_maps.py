"""The memory maps of this process that clones take.

A process may have 65,530 by default. At that number nothing in it can be mapped any more: no
library is loaded, no thread is started. So clones get a share, and beyond it a typed error at once.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

from ...errors import HostLimit
from ..linux.private_memory import most_maps
from . import fork

if TYPE_CHECKING:
    from .instance import Instance

__all__ = ["NO_ROOM", "MemoryMaps", "of_clones"]

NO_ROOM: Final = "address-space"
"""The feature of errors where address space or memory maps are used up."""

_SHARE: Final = 0.9


class MemoryMaps:
    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._taken = 0
        # Numbers of what is gone. The garbage collector may end an instance at any instruction,
        # also under the lock: so it only appends.
        self._returned: deque[int] = deque()

    @property
    def most(self) -> int:
        if self._most is None:
            self._most = int(most_maps() * _SHARE)
        return self._most

    @property
    def taken(self) -> int:
        with fork.creation():
            while self._returned:
                self._taken -= self._returned.popleft()
            return self._taken

    def take(self, maps: int) -> None:
        """Raises `HostLimit` where there are not so many left."""
        with fork.creation():
            wanted = self.taken + maps
            if wanted > self.most:
                raise HostLimit.of(
                    f"the instances of this process would take {wanted} memory maps; they may take"
                    f" {self.most}",
                    self.most,
                    wanted,
                    feature=NO_ROOM,
                    hint="Close tokenizers that are not needed, share one instead of copying it,"
                    " or raise vm.max_map_count",
                )
            self._taken = wanted

    def give_back(self, maps: int) -> None:
        self._returned.append(maps)

    def give_back_with(self, instance: Instance, maps: int) -> None:
        """When the instance is gone."""
        weakref.finalize(instance, self.give_back, maps).atexit = False


of_clones: Final = MemoryMaps()
