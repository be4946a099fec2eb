"""One tenant: its tokenizers, and everything that no other tenant ever sees."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from .._locks import ForkSafeLock
from ..errors import (
    DeadlineExceeded,
    HostError,
    InputTooLarge,
    InvalidArgument,
    MemoryLimit,
    TemplateLimitExceeded,
    TokenizerError,
)
from ..tokenizer.limits import check_count
from .bucket import Clock
from .contract import FileInfo, Files, Usage
from .counters import Counters
from .errors import Overloaded, StorageFull, TooManyRequests, UnknownTokenizer
from .files import KeptFile, MemoryFiles
from .instances import Instances
from .limits import TenantLimits
from .loads import needed
from .options import Reading, joined
from .slots import Slots

if TYPE_CHECKING:
    from .._host.snapshots.image import Image
    from ..loading.sources.lazy import LazyFile
    from ..tokenizer.limits import Limits
    from ..tokenizer.tokenizer import Options, Recipe, Tokenizer
    from .pool import TenantPool

__all__ = ["Tenant", "typed"]

# Templates that its renderer keeps compiled, and its memory: each is at most 256 KiB of text.
_KEPT_TEMPLATES = 16

# Characters of an unknown name that an error shows.
_SHOWN = 80

# Errors of calls that were ended, as opposed to calls that were wrong.
_FAILED = (DeadlineExceeded, MemoryLimit, HostError, TemplateLimitExceeded)


class _Entry:
    """A file of the tenant. The tokenizer and the image can be dropped and made again."""

    __slots__ = ("file", "image", "info", "load", "lock", "outside", "reading", "tok")

    def __init__(self, file: KeptFile, reading: Reading) -> None:
        self.file = file
        self.reading = reading
        self.info: FileInfo | None = None
        # The options of the core. Finding them looks into the file, so they are found once.
        self.load: bytes | None = None
        self.tok: Tokenizer | None = None
        self.image: Image | None = None
        # A view of a tokenizer of HuggingFace. It is kept apart from `tok`, since it has no
        # instance and no deadline.
        self.outside: Tokenizer | None = None
        self.lock = ForkSafeLock()


class Left(NamedTuple):
    """What an eviction has freed."""

    instances: int
    memory: int


class Tenant:
    """Made by `TenantPool.add`. For any number of threads."""

    def __init__(
        self,
        name: str,
        limits: TenantLimits,
        files: Files | None,
        *,
        pool: TenantPool,
        clock: Clock,
    ) -> None:
        from .._host.snapshots.images import Images
        from .._host.template.pool import TemplatePools
        from ..chat.rendering.sandbox import SandboxRenderer

        self.name = name
        rate, burst = limits.bytes_per_second, limits.burst_bytes
        self.bucket = pool.counts.bucket(name, rate, burst, clock)
        self.slots = Slots(limits.concurrent)
        self.last_use = clock()
        self._clock = clock
        self._limits = limits
        self._files = files
        self._own_files = MemoryFiles() if files is None else None
        self._pool = pool
        self._counters = Counters()
        self._instances = Instances(limits, self.reading)
        self._images = Images(pool.snapshots, self._instances)
        self._renderers = TemplatePools(self._instances.made_renderer)
        self._sandbox = SandboxRenderer(self._renderers, _KEPT_TEMPLATES)
        self._entries: dict[str, _Entry] = {}
        self._lock = ForkSafeLock()

    @property
    def limits(self) -> TenantLimits:
        return self._limits

    def set_limits(self, limits: TenantLimits) -> None:
        """For calls from now on; streams and calls that have begun keep theirs."""
        self._limits = self._instances.limits = limits
        self.bucket.set(limits.bytes_per_second, limits.burst_bytes)
        self.slots.most = limits.concurrent
        for entry in list(self._entries.values()):
            # Bounds inside of files are among them.
            entry.load = entry.outside = None
            self._let_go(entry)

    # Files.

    def add(self, data: bytes | LazyFile, **options: Any) -> FileInfo:
        """Reads a file in a throw-away instance under the tenant's limits. What stays is the
        snapshot of its tables.

        options: `encoding`, `pattern`, `special_tokens`, `gguf_compat`, `apply_config` as in
        `create_tokenizer`; `chat_template`, a text or texts by name; `sidecars`, what stands beside
        the file, by file name; `parts`, name and length of each of several files in `data`;
        `encoder="hf"`: HuggingFace serves it, outside of any sandbox and for all tenants at once,
        which is for files of the program itself (docs/tenants.md).
        """
        limits = self._limits
        _check_file(data)
        reading = Reading(options)
        most = limits.calls.file_bytes
        if len(data) > most:
            raise InputTooLarge.of(
                f"a file of {len(data)} bytes; this tenant's may have {most}", most, len(data)
            )
        sha256 = _sha256(data)
        digest = joined(sha256, reading.text)
        known = self._entries.get(digest)
        if known is not None:
            return self._info(known)
        self._require_room(digest, len(data))
        entry = _Entry(KeptFile(digest, reading.text, len(data), lambda: data), reading)
        info = self._info(entry)
        if self._own_files is not None:
            # Checked again under the lock: other threads may have added files, this one too.
            with self._lock:
                self._require_room(digest, len(data))
                self._own_files.put(digest, data, reading.options)
        self._settle(entry, digest)
        with self._lock:
            self._entries.setdefault(digest, entry)
        return info

    def info(self, digest: str) -> FileInfo:
        return self._info(self._entry(digest))

    def digests(self) -> list[str]:
        """Of the files that were added or asked for since the tenant was made."""
        return list(self._entries)

    def reading(
        self, size: int, start: bytes, *, bounded: bool = True
    ) -> AbstractContextManager[None]:
        """Room for reading a file of this size that begins so; see `Loads.reading`. `add` and
        `tokenizer` reserve it themselves. A caller that has the bytes for longer reserves first."""
        return self._pool.loads.reading(
            self.name, needed(size, start, self._limits.calls.memory), bounded=bounded
        )

    def remove(self, digest: str) -> None:
        """Calls and streams that use it finish with it."""
        with self._lock:
            entry = self._entries.pop(digest, None)
            if self._own_files is not None:
                self._own_files.remove(digest)
        if entry is not None:
            self._let_go(entry)

    def tokenizer(self, digest: str) -> Tokenizer:
        """With the tenant's limits on each call, in instances that no other tenant ever uses. Made
        anew if it was evicted. UnknownTokenizer: the tenant has none such."""
        return self.live(digest) or self._tokenizer(self._entry(digest))

    def live(self, digest: str) -> Tokenizer | None:
        """The same where it is in memory, at no cost, and its calls have deadlines."""
        self.last_use = self._clock()
        entry = self._entries.get(digest)
        return None if entry is None else entry.tok

    # Calls.

    @contextmanager
    def admitted(self, cost: int) -> Iterator[None]:
        """Counts a call over so many bytes, or refuses it: TooManyRequests. How many run at once is
        another question: `entered`."""
        self.admit(cost)
        failed: TokenizerError | None = None
        try:
            yield
        except TokenizerError as error:
            failed = error
            told = typed(error)
            if told is error:
                raise
            raise told from None
        finally:
            self.ended(cost, error=failed)

    def admit(self, cost: int) -> None:
        """`admitted` in two halves, faster than a context manager: `ended` has to follow."""
        check_count("cost", cost)
        self.last_use = self._clock()
        try:
            self.bucket.take(cost)
        except TooManyRequests:
            self._counters.add(refused=1)
            raise

    def ended(
        self,
        cost: int,
        *,
        tokens: int = 0,
        seconds: float = 0.0,
        error: TokenizerError | None = None,
    ) -> None:
        failed = isinstance(error, _FAILED)
        self._counters.add(
            requests=1, failed=failed, text_bytes=cost, tokens=tokens, seconds=seconds
        )
        self.last_use = self._clock()

    def take_back(self, cost: int) -> None:
        """The call was not made: its bytes are returned, and nothing is counted."""
        self.bucket.give_back(cost)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """One of the calls that run at the same time, or TooManyRequests."""
        try:
            self.slots.enter()
        except TooManyRequests:
            self._counters.add(refused=1)
            raise
        try:
            yield
        finally:
            self.slots.leave()

    @contextmanager
    def turn(self, cost: int) -> Iterator[None]:
        """`entered` and `admitted` together, for a call over so many bytes; notes its time."""
        with self.entered(), self.admitted(cost):
            began = time.perf_counter()
            try:
                yield
            finally:
                self.note(seconds=time.perf_counter() - began)

    def note(self, *, tokens: int = 0, seconds: float = 0.0, refused: int = 0) -> None:
        """Adds numbers of a call that only its caller knows."""
        self._counters.add(tokens=tokens, seconds=seconds, refused=refused)

    def usage(self) -> Usage:
        instances = self._instances
        return self._counters.usage(len(instances), instances.memory)

    # Memory.

    @property
    def instances(self) -> Instances:
        return self._instances

    def evict(self) -> Left:
        """Drops tokenizers and instances. A tokenizer that a program still holds can be used: each
        of its calls then makes an instance of its own."""
        before = Left(len(self._instances), self._instances.memory)
        for entry in list(self._entries.values()):
            self._let_go(entry)
        self._renderers.clear()
        self._instances.memory = 0
        return before

    def _let_go(self, entry: _Entry) -> None:
        tok, entry.tok = entry.tok, None
        # An image on the disk is dropped, since it can be loaded again; others stay.
        if self._images.disk is not None and entry.image is not None and entry.image.kept_on_disk:
            entry.image = None
        if tok is None:
            return
        for one in (tok, tok.chat_encoder):
            core = None if one is None else one.core_backend
            if core is not None:
                core.core.retire()

    # Making.

    def _entry(self, digest: str) -> _Entry:
        entry = self._entries.get(digest)
        if entry is not None:
            return entry
        if self._files is None or not isinstance(digest, str):
            raise _unknown(digest)
        data, options = _opened(self._files, digest)
        files, reading = self._files, Reading(options)
        file = KeptFile(digest, reading.text, len(data), lambda: _opened(files, digest)[0])
        with self._lock:
            return self._entries.setdefault(digest, _Entry(file, reading))

    def _settle(self, entry: _Entry, digest: str) -> None:
        """Drops the bytes: from now on they are read from where the files are kept."""
        files = self._own_files if self._files is None else self._files
        assert files is not None
        entry.file.lies(lambda: _opened(files, digest)[0])

    def _tokenizer(self, entry: _Entry) -> Tokenizer:
        with entry.lock:
            tok = entry.tok or entry.outside
            if tok is None and entry.reading.by_hf:
                tok = entry.outside = self._by_hf(entry)
            elif tok is None:
                tok = entry.tok = self._made(entry)
            return tok

    def _by_hf(self, entry: _Entry) -> Tokenizer:
        """Only with bounds that can be checked in advance: nothing stops a call of another
        library."""
        from ..backends.hf import HFBackend
        from ..loading.factory import from_recipe
        from ..tokenizer.tokenizer import Options

        def whole() -> Tokenizer:
            options = Options("hf", "hf", _build(), True, 1, self._pool.snapshots or False)
            made = from_recipe(self._recipe(entry, options, None))
            for backend in (made.hybrid.encoder, made.hybrid.decoder):
                if isinstance(backend, HFBackend):
                    backend.gives_way = True
            return made

        counted = replace(self._limits.calls, deadline=None, memory=None)
        tok = self._pool.outside(entry.file.sha256(), whole).view(counted)
        tok.chat_sandbox = self._sandbox
        return tok

    def _made(self, entry: _Entry) -> Tokenizer:
        self._pool.before_making()
        try:
            return self._read(entry)
        except HostError as error:
            if error.feature != "address-space" or not self._pool.make_room():
                raise typed(_clean(error)) from None
        except TokenizerError as error:
            raise _clean(error) from None
        try:
            return self._read(entry)
        except TokenizerError as error:
            raise typed(_clean(error)) from None

    def _read(self, entry: _Entry) -> Tokenizer:
        from ..loading.factory import from_recipe
        from ..tokenizer.tokenizer import Options

        options = Options("core", "core", _build(), False, 1, self._images)
        tok = from_recipe(self._recipe(entry, options, self._limits.calls))
        tok.chat_sandbox = self._sandbox
        core = tok.core_backend
        assert core is not None
        entry.image = core.core.image
        return tok

    def _recipe(self, entry: _Entry, options: Options, limits: Limits | None) -> Recipe:
        from ..tokenizer.tokenizer import Recipe

        reading, load = entry.reading, entry.load
        if load is None:
            load = entry.load = reading.load(entry.file, self._limits.calls)
        return Recipe(
            entry.file, "tokenizer", options, load, reading.sidecars, reading.chat_template, limits
        )

    def _info(self, entry: _Entry) -> FileInfo:
        info = entry.info
        if info is None:
            tok = self._tokenizer(entry)
            core = tok.core_backend
            reading = entry.reading
            # Templates inside of files: only GGUF has them.
            inside = tok.format == "gguf" and (
                tok.chat_template if core is None else core.info.get("chat_templates")
            )
            info = entry.info = FileInfo(
                digest=entry.file.sha256(),
                format=tok.format,
                bytes=len(entry.file),
                tokens=tok.vocab_size if core is None else core.core.about["tokens"],
                chat_template=bool(
                    reading.chat_template or reading.sidecars.template_places or inside
                ),
                backend=tok.backend.encoder,
            )
        return info

    def _require_room(self, digest: str, more: int) -> None:
        """Checks the bounds of files that are kept here. A store elsewhere counts its own."""
        if self._own_files is None or digest in self._own_files:
            return
        limits = self._limits
        stored = self._own_files.stored + more
        if stored > limits.stored_bytes:
            raise StorageFull.of(
                f"{stored} bytes of files; this tenant may store {limits.stored_bytes}",
                limits.stored_bytes,
                stored,
                hint="Remove a tokenizer first",
            )
        count = len(self._own_files) + 1
        if count > limits.tokenizers:
            raise StorageFull.of(
                f"{count} tokenizers; this tenant may have {limits.tokenizers}",
                limits.tokenizers,
                count,
                hint="Remove one first",
            )


def _check_file(data: object) -> None:
    if not isinstance(data, bytes) and not hasattr(data, "sha256"):
        raise InvalidArgument(f"a file is bytes, not {type(data).__name__}")


def _sha256(data: bytes | LazyFile) -> str:
    return sha256(data).hexdigest() if isinstance(data, bytes) else data.sha256()


def _opened(files: Files, digest: str) -> tuple[bytes | LazyFile, Mapping[str, Any]]:
    """UnknownTokenizer also for a file that was removed since it was first asked for."""
    try:
        return files.open(digest)
    except KeyError:
        raise _unknown(digest) from None


def _unknown(digest: object) -> UnknownTokenizer:
    return UnknownTokenizer(
        f"no tokenizer {str(digest)[:_SHOWN]!r} here",
        hint="It has to be added first",
    )


def typed(error: TokenizerError) -> TokenizerError:
    """Lack of address space or memory maps concerns the process: it becomes `Overloaded`."""
    if isinstance(error, HostError) and error.feature == "address-space":
        return Overloaded(error.message, hint=error.hint)
    return error


def _clean(error: TokenizerError) -> TokenizerError:
    """Frames of a failed call hold its instance, and all that it has read."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def _build() -> str | None:
    """Tenants share no memory, whatever build the environment names."""
    from .._host.wasm import artifacts

    return artifacts.DEFAULT if artifacts.named(None) == artifacts.SHARED else None
