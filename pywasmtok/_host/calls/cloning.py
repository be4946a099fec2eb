"""Where the instances of a pool come from, when each has a memory of its own."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from ...errors import CoreTrap, HostError, LimitExceeded, MemoryLimit, TokenizerError
from ..snapshots.image import Image
from ..snapshots.store import Key, Store
from ..wasm.core import Core
from ..wasm.instance import Instance
from ..wasm.memory_maps import NO_ROOM, of_clones
from ..wasm.status import Interrupted
from . import cancel, interrupt
from .deadline import current

if TYPE_CHECKING:
    from ...loading.sources.lazy import LazyFile

# Room for the input of an ordinary call, there from the start in every clone.
_FIRST_INPUT: Final = 64 * 1024

# The first text makes tables that an instance writes to while it encodes. Clones share them until
# they write. Without it each clone would begin with megabytes of its own.
_WARM_UP: Final = b"a"

# An instance that has grown by more than this in a call gives its memory back.
_BLOAT: Final = 64 * 1024 * 1024

_log = logging.getLogger("pywasmtok")


class ImageSource:
    """Clones of one instance that has loaded the file: a fault in one leaves the others alone."""

    def __init__(
        self,
        core: Core,
        file: bytes | LazyFile,
        options: bytes = b"",
        store: Store | None = None,
        memory_cap: int | None = None,
    ) -> None:
        self._core = core
        self._memory_cap = memory_cap
        self._owner = None if store is None else store.owner
        # Made to see whether a snapshot serves: the first caller gets it.
        self._first: Instance | None = None
        self.from_snapshot = False
        if store is None or len(file) < store.smallest:
            self._image = Image.of(_loaded(core, bytes(file), options, memory_cap))
            return
        key = Key.of(core, store.digest(file), options)
        image = store.load(key)
        if image is not None and self._serves(image):
            self._image = image
            self.from_snapshot = True
            return
        with nullcontext() if self._owner is None else self._owner.reading(file):
            instance = _loaded(core, bytes(file), options, memory_cap)
            about = _about(instance, len(file))
            self._image = store.keep(key, about, instance) or Image.of(instance, about)

    @property
    def about(self) -> Mapping[str, Any]:
        """Of the file: its `format`, its number of `tokens`."""
        return self._image.about

    @property
    def image(self) -> Image:
        return self._image

    @property
    def most_instances(self) -> int | None:
        return None if self._owner is None else self._owner.most_instances

    @property
    def stoppable(self) -> bool:
        return self._core.stoppable

    def limited(self, with_clock: bool, memory_cap: int | None) -> ImageSource:
        """The same tables for instances with other bounds."""
        # Bounds suggest untrusted input: so the code has checks.
        checked = self._core.checked()
        return self._on(checked.with_clock() if with_clock else checked, memory_cap)

    def with_stops(self) -> ImageSource:
        """The same tables for instances whose calls can be ended from outside."""
        return self._on(self._core.with_stops(), self._memory_cap)

    def _on(self, core: Core, memory_cap: int | None) -> ImageSource:
        other = copy(self)
        other._core, other._memory_cap, other._first = core, memory_cap, None
        # Fails at once if the memory is not enough.
        other._first = other.new_instance()
        return other

    def new_instance(self) -> Instance:
        first, self._first = self._first, None
        # Handlers may have been replaced since it was made.
        return first if first is not None and first.core.usable else self._clone()

    def _clone(self) -> Instance:
        if not self._core.usable:
            self._core = self._core.checked()
        maps = self._image.maps
        of_clones.take(maps)
        try:
            instance = self._image.clone(self._core, self._memory_cap)
        except BaseException as problem:
            of_clones.give_back(maps)
            if not isinstance(problem, OSError | MemoryError):
                raise
            raise HostError(
                f"no instance can be made: {problem}",
                feature=NO_ROOM,
                hint="A process has 65,530 memory maps by default: see vm.max_map_count",
            ) from None
        of_clones.give_back_with(instance, maps)
        if self._owner is not None:
            self._owner.made(instance, self._image)
        return instance

    def usable(self, instance: Instance) -> bool:
        return instance.core.usable

    def bloated(self, instance: Instance) -> bool:
        return instance.size > self._image.size + _BLOAT

    def broken(self, instance: Instance) -> bool:
        return False

    def after_fork(self, some_were_busy: bool) -> None:
        pass

    def _serves(self, image: Image) -> bool:
        try:
            self._image = image
            self._first = self._clone()
        except LimitExceeded:
            # Reading the file would need as much.
            raise
        except (TokenizerError, OSError, MemoryError) as problem:
            if self._owner is not None and getattr(problem, "feature", None) == NO_ROOM:
                # A tenant can do with fewer instances; reading the file would only take longer.
                raise
            _log.warning("a snapshot is not used: no instance can be made of it: %s", problem)
            return False
        return True


def _loaded(core: Core, file: bytes, options: bytes, memory_cap: int | None) -> Instance:
    instance = _with_file(core, file, options, memory_cap)
    if _warmed_up(instance):
        return instance
    # A text that cannot be encoded is no reason to refuse the file.
    return _with_file(core, file, options, memory_cap)


def _with_file(core: Core, file: bytes, options: bytes, memory_cap: int | None) -> Instance:
    while True:
        instance = Instance(core, memory_cap=memory_cap)
        try:
            seconds = seconds_left(core)
            token = None if interrupt.in_main_thread() else cancel.current()
            interrupt.run(instance, lambda one: _load(one, file, options), seconds, token)
        except Interrupted:
            cancel.check()
            # Either the deadline has passed, and the next iteration reports it; or the interrupt
            # was meant for another call of the engine, and this call starts again.
            continue
        return instance


def _load(instance: Instance, file: bytes, options: bytes) -> None:
    instance.open_session()
    instance.load(file, options)
    # A session's buffers are zeroed as it ends: the file itself does not stay in the image.
    instance.close_session()
    instance.open_session()
    instance.reserve(_FIRST_INPUT)


def _warmed_up(instance: Instance) -> bool:
    try:
        interrupt.run(
            instance, lambda one: one.encode_ids(_WARM_UP, 0), seconds_left(instance.core)
        )
    except (CoreTrap, Interrupted):
        return False
    except MemoryLimit:
        raise
    except TokenizerError:
        # Calls that encode a text raise the same error.
        pass
    return True


def seconds_left(core: Core) -> float | None:
    """Until the deadline of this thread, if there is one and the core can keep it."""
    end = current()
    return end.check() if end is not None and core.has_clock else None


def _about(instance: Instance, length: int) -> dict[str, Any]:
    """What the store says of an image to its users. Paths are left out: they may be private."""
    info = json.loads(instance.info())
    return {
        "format": info["format"],
        "tokens": info["vocab_size_with_added"],
        "file_bytes": length,
    }
