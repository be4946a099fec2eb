"""Where the instances of a pool come from, when each has a memory of its own."""

from __future__ import annotations

from typing import Final

from . import interrupt
from .core import Core
from .image import Image
from .instance import Instance
from .status import Interrupted

# Room for the input of an ordinary call, there from the start in every clone.
_FIRST_INPUT: Final = 64 * 1024

# An instance that has grown by more than this in a call gives its memory back.
_BLOAT: Final = 64 * 1024 * 1024


class ImageSource:
    """Clones of one instance that has loaded the file: a fault in one leaves the others alone."""

    def __init__(self, core: Core, file: bytes, options: bytes = b"") -> None:
        self._core = core
        self._image = _loaded_image(core, file, options)

    def new_instance(self) -> Instance:
        return self._image.clone(self._core)

    def usable(self, instance: Instance) -> bool:
        return True

    def bloated(self, instance: Instance) -> bool:
        return instance.size > self._image.size + _BLOAT

    def broken(self, instance: Instance) -> bool:
        return False

    def after_fork(self, some_were_busy: bool) -> None:
        pass


def _loaded_image(core: Core, file: bytes, options: bytes) -> Image:
    while True:
        instance = Instance(core)
        try:
            interrupt.run(instance, lambda one: _load(one, file, options))
        except Interrupted:
            # Somebody cancelled another call, and this one was hit: nothing is wrong with it.
            continue
        return Image.of(instance)


def _load(instance: Instance, file: bytes, options: bytes) -> None:
    instance.open_session()
    instance.load(file, options)
    # A session's buffers are zeroed as it ends: the file itself does not stay in the image.
    instance.close_session()
    instance.open_session()
    instance.reserve(_FIRST_INPUT)
