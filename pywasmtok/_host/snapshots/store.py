"""Snapshots on disk: the memory of instances that have loaded a tokenizer, for any process.

The first load of a file leaves one, and later loads map it instead of parsing. It is found by a
hash over all that the memory depends on. A snapshot is data for the sandbox, not code: a wrong one
could give wrong ids, and nothing else.

Every failure is a miss, with one warning, and none reaches the caller.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from ...errors import HostError, InvalidArgument
from ..linux import file_systems
from ..switches import is_off
from ..wasm import abi, config
from ..wasm.cache import Cache, Refused, is_key, require_private
from ..wasm.core import Core
from ..wasm.instance import Instance
from . import snapshot_file
from .image import Image, memory_of
from .snapshot_file import HEADER, Damaged, Header
from .snapshot_folder import Folder

if TYPE_CHECKING:
    from ...loading.sources.lazy import LazyFile

SWITCH: Final = "PYWASMTOK_SNAPSHOTS"
BOUND: Final = "PYWASMTOK_CACHE_MAX_BYTES"
DEFAULT_BOUND: Final = 2 * 1024**3
FOLDER: Final = "snapshots"

# Changes with what the host does to an instance before it takes the snapshot.
_GENERATION: Final = 1

# Smaller files are parsed in less time than it takes to find, check and map a snapshot.
SMALLEST_FILE: Final = 64 * 1024

# Windows reads and writes only where a file stands.
_HAS_PLACES: Final = hasattr(os, "pread") and hasattr(os, "pwrite")

_log = logging.getLogger("pywasmtok")


class Key(NamedTuple):
    """All that the memory of a loaded instance depends on."""

    parts: Mapping[str, Any]
    name: str

    @classmethod
    def of(cls, core: Core, digest: str, options: bytes) -> Key:
        """`digest` is the SHA-256 of the file. Limits and sidecars are among the options."""
        parts = {
            "file": digest,
            "options": hashlib.sha256(options).hexdigest(),
            "core": core.artifact.sha256,
            "abi": abi.ABI_VERSION,
            "memory_cap": config.MEMORY_CAP,
            "generation": _GENERATION,
        }
        return cls(parts, hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest())


class Entry(NamedTuple):
    """A snapshot in a store."""

    key: str
    bytes: int
    """What it takes on the disk."""
    last_use: float
    """Seconds since 1970."""
    about: Mapping[str, Any]
    """What it was made from; empty if that cannot be read."""
    problem: str | None
    """Why it is not used; None if nothing was found."""


class Owner(Protocol):
    """The tenant that instances are counted for."""

    @property
    def most_instances(self) -> int:
        """Of one tokenizer."""
        ...

    @property
    def load_deadline(self) -> float:
        """Seconds that parsing a file may take, whatever a call may."""
        ...

    def reading(self, file: bytes | LazyFile) -> AbstractContextManager[None]:
        """Reserves memory while a file is parsed."""
        ...

    def made(self, instance: Instance, image: Image) -> None: ...


class Store(Protocol):
    """Where an image is looked for before its file is parsed, and kept afterwards."""

    @property
    def smallest(self) -> int:
        """Smaller files are parsed each time."""
        ...

    @property
    def owner(self) -> Owner | None: ...

    def digest(self, file: bytes | LazyFile) -> str: ...
    def load(self, key: Key) -> Image | None: ...
    def keep(self, key: Key, about: Mapping[str, Any], instance: Instance) -> Image | None: ...


class SnapshotStore:
    """A directory of snapshots: for this user alone, and for any number of processes."""

    smallest = SMALLEST_FILE
    owner: Owner | None = None

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int = DEFAULT_BOUND) -> None:
        """The directory is made when there is something to store. What was used last is kept, as
        much as fits into `max_bytes`."""
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
            raise InvalidArgument(f"max_bytes must be a count of bytes, not {max_bytes!r}")
        self.directory = _path_of(directory)
        self.max_bytes = max_bytes

    @classmethod
    def for_user(cls) -> SnapshotStore | None:
        """This user's, as the environment says; None if there is none."""
        if is_off(SWITCH):
            return None
        # Opening the core has said what is wrong with it, if anything is.
        directory = Cache.for_user(warn=False).directory
        return None if directory is None else cls(directory / FOLDER, _bound())

    def __repr__(self) -> str:
        return f"SnapshotStore({str(self.directory)!r}, max_bytes={self.max_bytes})"

    def digest(self, file: bytes | LazyFile) -> str:
        """The SHA-256 of a file: of one that lies on the disk as it did, it may be known."""
        if isinstance(file, bytes):
            return hashlib.sha256(file).hexdigest()
        folder = self._folder()
        known = folder.known_digest(file.identity) if file.settled else None
        if known is not None:
            file.believe(known)
        digest = file.sha256()
        if known is None and file.settled:
            folder.note_digest(file.identity, digest)
        return digest

    def load(self, key: Key) -> Image | None:
        """The memory of an earlier load of the same; None if there is none that may be used."""
        if not _HAS_PLACES:
            return None
        folder = self._folder()
        path = folder.snapshot(key.name)
        try:
            folder.require()
            file = folder.open(key.name)
        except FileNotFoundError:
            return None
        except (OSError, Refused) as problem:
            _log.warning("a snapshot is not used: %s", problem)
            return None
        try:
            header = _read_header(file, path)
            if {name: header.about.get(name) for name in key.parts} != key.parts:
                raise Damaged("it is that of something else")
            state = os.fstat(file)
            # This also notes that it was used.
            verified = folder.was_verified(key.name, state)
            if file_systems.may_be_mapped(file):
                if not verified:
                    snapshot_file.verify(file, header)
                image = Image(header.layout, os.dup(file), about=header.about)
            else:
                parts = snapshot_file.read_parts(file, header)
                image = Image.of_memory(header.layout, parts, header.about)
            if not verified:
                folder.note_verified(key.name, state)
            return image
        except (OSError, Refused, Damaged) as problem:
            _log.warning("a snapshot is not used: %s: %s", path, problem)
            return None
        finally:
            os.close(file)

    def keep(self, key: Key, about: Mapping[str, Any], instance: Instance) -> Image | None:
        """Stores what the instance has loaded. The same memory, mapped out of the store where that
        is possible; None if it could not be stored."""
        layout, parts = memory_of(instance)
        if not _HAS_PLACES or HEADER + sum(run.length for run in layout.runs) > self.max_bytes:
            return None
        folder = self._folder()
        try:
            folder.make()
            folder.sweep()
            file, name = folder.new_file()
            try:
                header = snapshot_file.write(file, {**about, **key.parts}, layout, parts)
                folder.publish(file, name, key.name)
                image = _mapped(file, header) or Image.of_memory(layout, parts, header.about)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            finally:
                os.close(file)
            folder.evict(self.max_bytes, key.name)
        except (OSError, Refused) as problem:
            _log.warning("a snapshot could not be stored: %s", problem)
            return None
        return image

    def entries(
        self, *, verify: bool = False, read: Callable[[int], object] = lambda length: None
    ) -> list[Entry]:
        """What there is, the last used first. With `verify`, all checksums are compared; `read` is
        called after each part, with its length."""
        with self._typed_errors():
            found = self._folder().found()
        entries = []
        for one in found:
            # One may have been removed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                entries.append(Entry(*one, *self._examined(one.key, verify, read)))
        return entries

    def remove(self, key: str) -> None:
        """Processes that use it keep what they have."""
        if not isinstance(key, str) or not is_key(key):
            raise InvalidArgument(f"no key of a snapshot: {key!r}")
        with self._typed_errors():
            self._folder().remove(key)

    def clear(self) -> int:
        """Removes all snapshots; answers how many are gone."""
        folder, gone = self._folder(), 0
        with self._typed_errors():
            for one in folder.found():
                with contextlib.suppress(OSError):
                    folder.remove(one.key)
                    gone += 1
            folder.forget_digests()
            folder.sweep()
        return gone

    def describe(self) -> dict[str, Any]:
        about: dict[str, Any] = {"directory": str(self.directory), "max_bytes": self.max_bytes}
        try:
            with self._typed_errors():
                found = self._folder().found()
        except HostError as error:
            return {**about, "problem": error.message}
        return {**about, "count": len(found), "bytes": sum(one.bytes for one in found)}

    @contextlib.contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HostError(
                f"the folder of snapshots cannot be used: {error.strerror or error}",
                source=str(self.directory),
            ) from error

    def _folder(self) -> Folder:
        return Folder(self.directory)

    def _examined(
        self, key: str, verify: bool, read: Callable[[int], object]
    ) -> tuple[Mapping[str, Any], str | None]:
        folder = self._folder()
        about: Mapping[str, Any] = {}
        try:
            folder.require()
            file = folder.open(key)
            try:
                header = _read_header(file, folder.snapshot(key))
                about = header.about
                if verify:
                    snapshot_file.verify(file, header, read)
                    folder.note_verified(key, os.fstat(file))
            finally:
                os.close(file)
        except FileNotFoundError:
            raise
        except (OSError, Refused, Damaged) as problem:
            return about, str(problem)
        return about, None


def _path_of(directory: str | os.PathLike[str]) -> Path:
    try:
        path = os.fsdecode(os.fsencode(directory))
    except (TypeError, UnicodeEncodeError) as error:
        raise InvalidArgument(f"no path of a folder: {directory!r}") from error
    if "\0" in path:
        raise InvalidArgument("a path cannot hold a NUL byte")
    if not path:
        # It would be the current folder.
        raise InvalidArgument("an empty path")
    return Path(path)


def _read_header(file: int, path: Path) -> Header:
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode):
        raise Refused(f"{path} is no regular file")
    require_private(state, path)
    return snapshot_file.read_header(file, state.st_size)


def _mapped(file: int, header: Header) -> Image | None:
    """Through a descriptor that only reads: nothing of this process shall change it any more."""
    if not file_systems.may_be_mapped(file):
        return None
    own = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC)
    return Image(header.layout, own, about=header.about)


def _bound() -> int:
    given = os.environ.get(BOUND)
    if not given:
        return DEFAULT_BOUND
    if not (given.isascii() and given.isdigit()):
        _log.warning("%s=%s is no count of bytes: %d is taken", BOUND, given, DEFAULT_BOUND)
        return DEFAULT_BOUND
    return int(given)
