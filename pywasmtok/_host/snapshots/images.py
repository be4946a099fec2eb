"""Images that are mapped already, found by what they depend on: one of each in a process.

An image is the memory of an instance that has read a file and encoded nothing but `a`. It holds
tables, and no user's text. So it is the one thing that tenants share.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..wasm import fork
from .image import Image
from .store import Key, Owner, SnapshotStore

if TYPE_CHECKING:
    from ...loading.sources.lazy import LazyFile
    from ..wasm.instance import Instance

# Only the users of an image keep it alive: this table holds weak references.
_mapped: Final[weakref.WeakValueDictionary[str, Image]] = weakref.WeakValueDictionary()


class Images:
    """The images of this process before those on the disk, for the instances of one owner."""

    smallest = 0

    def __init__(self, disk: SnapshotStore | None, owner: Owner | None = None) -> None:
        self.disk = disk
        self.owner = owner

    def digest(self, file: bytes | LazyFile) -> str:
        if isinstance(file, bytes):
            return hashlib.sha256(file).hexdigest()
        return file.sha256() if self.disk is None else self.disk.digest(file)

    def load(self, key: Key) -> Image | None:
        image = _mapped.get(key.name)
        if image is None and self.disk is not None:
            image = self.disk.load(key)
            if image is not None:
                image.kept_on_disk = True
                image = _noted(key, image)
        return image

    def keep(self, key: Key, about: Mapping[str, Any], instance: Instance) -> Image:
        kept = None if self.disk is None else self.disk.keep(key, about, instance)
        if kept is None:
            return _noted(key, Image.of(instance, about))
        kept.kept_on_disk = True
        return _noted(key, kept)


def _noted(key: Key, image: Image) -> Image:
    """Of two threads that both made one, the first wins."""
    with fork.creation():
        return _mapped.setdefault(key.name, image)


def mapped() -> int:
    """How many images this process has mapped for tenants now."""
    return len(_mapped)
