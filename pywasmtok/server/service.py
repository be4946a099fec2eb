"""What handlers of requests use: it joins records, tenants and work. One a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from ..errors import InvalidArgument, LoadError, TokenizerError
from ..loading.choice import choose_encoder
from ..loading.factory import CANNOT_SERVE, fall_back, hf_may_read, hf_reads
from ..tenants.contract import FileInfo, TenantLike, Usage
from ..tenants.counts import Counts
from ..tenants.errors import Overloaded, StorageFull, TooManyRequests, UnknownTokenizer
from ..tenants.limits import TenantLimits
from ..tenants.loads import START
from ..tenants.options import Reading, digest_of
from ..tenants.tenant import typed
from ..tokenizer.limits import LARGEST, Limits
from .auth.keys import KeyIndex
from .catalog import Catalog, TenantFiles, View
from .config import Config
from .contract import (
    LOCAL,
    PUBLIC,
    AliasRecord,
    Caller,
    Listed,
    Served,
    Store,
    TenantRecord,
    TokenizerRecord,
)
from .errors import NotFound
from .lifecycle import Lifecycle
from .limits import changed
from .names import check_alias
from .observe.usage import UsageWriter
from .scheduling.executor import NotNowError
from .store.rules import check_room
from .store.schedule import Checks

if TYPE_CHECKING:
    from ..loading.sources.lazy import LazyFile
    from ..tenants.pool import TenantPool
    from ..tokenizer.tokenizer import Tokenizer
    from .scheduling.executor import ThreadWork

__all__ = ["Service"]

T = TypeVar("T")

_log = logging.getLogger("pywasmtok")

# How often usage is written and memory is checked.
_UPKEEP_SECONDS: Final = 5.0

# Changes of the store at the same time. SQLite has one writer; files are written beside it.
_STORE_THREADS: Final = 4

# Names whose meaning is cached.
_MOST_FOUND: Final = 8192

# Of the operator's own files, which are read before the first request for them.
_PUBLIC_LIMITS: Final = {
    "calls": {
        "deadline": None,
        "memory": None,
        "max_text_bytes": None,
        "max_tokens": None,
        "max_file_bytes": 512 << 20,
    },
    "load_deadline": 300.0,
    "stored_bytes": LARGEST,
    "tokenizers": LARGEST,
}


class Service:
    def __init__(
        self,
        config: Config,
        store: Store,
        pool: TenantPool,
        work: ThreadWork,
        *,
        metrics: Any = None,
        access_log: Any = None,
        counts: Counts | None = None,
    ) -> None:
        """Owns all that it is given, and closes it."""
        self.config = config
        self.store = store
        self.pool = pool
        self.work = work
        self.metrics = metrics
        self.access_log = access_log
        self.counts = counts or Counts()
        self.lifecycle = Lifecycle(config.listen.drain_seconds)
        self._limits = changed(TenantLimits(), config.limits)
        self._catalog = Catalog(store, self._prepare, self._retire)
        # The cached meanings of names, for one view.
        self._found: tuple[View, dict[tuple[str, str | None], tuple[str, TenantLike, FileInfo]]]
        self._found = View(), {}
        self._usage = UsageWriter(store, self.counts)
        self.checks = Checks(store, config.storage, draining=lambda: bool(self.lifecycle.draining))
        self._may_be_hf = choose_encoder(config.encoder) != "core"
        # Digests that the operator has assigned to HuggingFace one by one.
        self._hf: set[str] = set()
        self._changes = ThreadPoolExecutor(_STORE_THREADS, "pywasmtok-store")
        self._end = threading.Event()
        self._upkeep: threading.Thread | None = None
        self._add_tenant(PUBLIC, changed(TenantLimits(), _PUBLIC_LIMITS))
        if not config.needs_keys:
            self._require_local()
        store.listen(self._catalog.refresh)
        self._catalog.refresh()

    # What requests ask.

    def _view(self) -> View:
        """The records as of the last change that any process has acknowledged."""
        catalog = self._catalog
        if catalog.revision() != catalog.seen:
            catalog.try_refresh()
        return catalog.last

    @property
    def keys(self) -> KeyIndex:
        """As of the last change that any process has acknowledged."""
        return self._view().keys

    def find(self, caller: Caller, name: str | None) -> Served:
        """By alias or digest, among the caller's tokenizers, then the public ones; None: the only
        one, or the one called `default`. UnknownTokenizer."""
        view = self._view()
        before, found = self._found
        if before is not view or len(found) > _MOST_FOUND:
            found = {}
            self._found = view, found
        meant = found.get((caller.tenant, name))
        if meant is None:
            tenant = self.tenant(caller.tenant)
            called, record = view.resolve(caller.tenant, name)
            meant = found[caller.tenant, name] = called, tenant, record.info
        called, tenant, info = meant
        again = partial(self.find, caller, name)
        return Served(called, info.digest, tenant, tenant.live(info.digest), info, again)

    def listed(self, caller: Caller) -> list[Listed]:
        """The caller's tokenizers, then the public ones."""
        return self._view().listed(caller.tenant)

    def tenant(self, name: str) -> TenantLike:
        """NotFound: there is none, or it is disabled."""
        record = self._view().tenants.get(name)
        if name == PUBLIC or (record is not None and not record.disabled):
            with contextlib.suppress(KeyError):
                return self.pool.get(name)
        if record is not None and record.disabled:
            raise NotFound(
                f"the tenant {name!r} is disabled",
                hint=f"An operator enables it: pywasmtok tenants limit {name} --enable",
            )
        raise NotFound(f"there is no tenant {name[:80]!r}")

    def run(
        self,
        served: Served,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool = False,
        operation: str = "other",
    ) -> Coroutine[Any, Any, T]:
        """`work.run` for the tenant of `served`; after it, its counters and the metrics know.
        `operation`: a name that the metrics have."""
        inline = inline and served.is_live
        return self._counted(
            served.tenant, cost, call, inline=inline, operation=operation, served=served
        )

    def run_now(
        self, served: Served, cost: int, call: Callable[[], T], *, operation: str = "other"
    ) -> T:
        """`run` with `inline`, without waiting for anything. NotNowError: nothing has been done.
        The event loop's own deadline, which is shorter than the tenant's, is around all of it."""
        tenant = served.tenant
        if not served.is_live:
            raise NotNowError
        tenant.admit(cost)
        failed: TokenizerError | None = None
        began = time.perf_counter()
        try:
            answer = self.work.run_now(tenant, cost, call, served.digest)
        except NotNowError:
            tenant.take_back(cost)
            raise
        except TokenizerError as error:
            failed = error
        except BaseException:
            tenant.ended(cost)
            raise
        took = time.perf_counter() - began
        tokens, served.tokens = served.tokens, 0
        tenant.ended(cost, tokens=tokens, seconds=took, error=failed)
        if self.metrics is not None:
            self.metrics.call(tenant.name, operation, cost, took, tokens=tokens, error=failed)
        if failed is not None:
            try:
                raise typed(failed)
            finally:
                # It knows this frame: together they would stay until garbage is collected.
                del failed
        return answer

    def run_for(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        operation: str = "other",
    ) -> Coroutine[Any, Any, T]:
        """`run` without a tokenizer."""
        return self._counted(tenant, cost, call, inline=False, operation=operation, served=None)

    async def change(
        self,
        tenant: TenantLike,
        cost: int,
        prepare: Callable[[], Callable[[], T]],
        *,
        operation: str = "other",
    ) -> T:
        """`run_for` of `prepare`, and then what it answers, which may wait for the store: so a slow
        or locked store holds no thread of calls. How much waits there is for the caller to
        bound."""

        def begin() -> Future[T]:
            # Also if the client has left by now: what was prepared is stored, or given up.
            return self._changes.submit(prepare())

        made = await self.run_for(tenant, cost, begin, operation=operation)
        return await asyncio.shield(asyncio.wrap_future(made))

    async def _counted(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool,
        operation: str,
        served: Served | None,
    ) -> T:
        took: float | None = None

        def timed() -> T:
            nonlocal took
            began = time.perf_counter()
            try:
                if served is None:
                    return call()
                # A file that is not in memory is read before: that has a deadline of its own.
                with served.tokenizer.as_one():
                    return call()
            finally:
                took = time.perf_counter() - began

        failed: TokenizerError | None = None
        about = "" if served is None else served.digest
        try:
            return await self.work.run(tenant, cost, timed, inline=inline, about=about)
        except TokenizerError as error:
            failed = error
            raise
        finally:
            # A call that was refused is none.
            if took is not None or not isinstance(failed, TooManyRequests | Overloaded):
                tokens, seconds = 0, took or 0.0
                if served is not None:
                    tokens, served.tokens = served.tokens, 0
                tenant.note(tokens=tokens, seconds=seconds)
                if self.metrics is not None:
                    self.metrics.call(
                        tenant.name, operation, cost, seconds, tokens=tokens, error=failed
                    )
            # It knows this frame: together they would stay until garbage is collected.
            del failed

    # What threads ask: these wait for the disk.

    def upload(
        self,
        tenant: TenantLike,
        data: bytes,
        options: Mapping[str, Any],
        alias: str | None,
        keep: Collection[str] = (),
    ) -> str:
        """`add` and `keep`. What no alias names any more makes room where there is none, except for
        what is in `keep`."""
        return self.keep(tenant, self.add(tenant, data, options, alias), data, options, alias, keep)

    def add(
        self, tenant: TenantLike, data: bytes, options: Mapping[str, Any], alias: str | None
    ) -> FileInfo:
        """Reads the file, in a sandbox; `keep` has to follow."""
        if alias is not None:
            check_alias(alias)
        if tenant.name != PUBLIC and "encoder" in options:
            raise InvalidArgument(
                "files of tenants are read by the core only",
                hint="encoder is for the operator's own tokenizers",
            )
        return self._added(tenant, data, options)

    def keep(  # noqa: PLR0917
        self,
        tenant: TenantLike,
        info: FileInfo,
        data: bytes,
        options: Mapping[str, Any],
        alias: str | None,
        keep: Collection[str] = (),
    ) -> str:
        """Stores the file, points the alias to it; the digest."""
        said = json.dumps(options, sort_keys=True) if options else "{}"
        record = TokenizerRecord(tenant.name, info, said, time.time())
        limits = tenant.limits
        while True:
            try:
                self.store.put_tokenizer(
                    record,
                    data,
                    alias,
                    most_bytes=limits.stored_bytes,
                    most=limits.tokenizers,
                )
                return info.digest
            except StorageFull as full:
                # A full disk has no limit of its own, and removing this tenant's files would not
                # help.
                if full.limit is None or not self._make_room(record, limits, keep):
                    tenant.remove(info.digest)
                    raise
            except TokenizerError:
                tenant.remove(info.digest)
                raise

    def usage(self, name: str) -> Usage:
        """All that is known: what is stored, and what this process has not yet written."""
        # The tenant may have been made by another process.
        self._view()
        return self._usage.of(name)

    def default_limits(self) -> TenantLimits:
        """Of tenants without limits of their own, as the configuration says."""
        return self._limits

    def reconfigure(self, config: Config) -> None:
        """From here on this one is used; only settings that need no restart differ."""
        self._limits = changed(TenantLimits(), config.limits)
        self.lifecycle.drain_seconds = config.listen.drain_seconds
        # The store may have decided this one.
        self.config = msgspec.structs.replace(config, identity=self.config.identity)

    def refresh(self) -> None:
        self._catalog.refresh()

    def publish(
        self,
        alias: str,
        data: bytes | LazyFile,
        options: Mapping[str, Any],
        encoder: str = "auto",
    ) -> None:
        """A tokenizer of the operator's, for all tenants."""
        self.name({alias: self.stored(alias, data, options, encoder)})

    def name(self, digests: Mapping[str, str]) -> None:
        """Gives names to tokenizers of the operator's."""
        named = self._view().aliases.get(PUBLIC, {})
        for alias, digest in digests.items():
            if named.get(alias) != digest:
                self.store.put_alias(AliasRecord(PUBLIC, alias, digest))

    def stored(
        self,
        alias: str,
        data: bytes | LazyFile,
        options: Mapping[str, Any],
        encoder: str = "auto",
        keep: Collection[str] = (),
    ) -> str:
        """The digest of a tokenizer of the operator's that is to get this name. Of one that is
        known already, only its snapshot is read; without a snapshot it is made now, before the
        first request for it. `encoder`: as `choose_encoder` answers. HuggingFace serves it under
        another digest. `keep`: stays, although it has no name yet."""
        check_alias(alias)
        by_hf = {**options, "encoder": "hf"}
        load = Reading(options).load(data, Limits())
        if encoder == "hf" or (encoder == "default" and hf_reads(bytes(data), load)):
            return self._stored(alias, data, by_hf, keep)
        try:
            return self._stored(alias, data, options, keep)
        except CANNOT_SERVE as error:
            if encoder == "core" or not hf_may_read(error, bytes(data), load):
                raise
            fall_back(partial(self._stored, alias, data, by_hf, keep), error, alias)
            return digest_of(data, by_hf)

    def load(self, alias: str, encoder: str) -> None:
        """Loads the tokenizer of the operator's that has this name in the store, if there is one.
        `encoder`: as for `stored`."""
        view = self._view()
        digest = view.aliases.get(PUBLIC, {}).get(alias, "")
        record = view.tokenizers.get(PUBLIC, {}).get(digest)
        if record is not None and (encoder != "core" or record.info.backend != "hf"):
            self._stored(alias, self.store.open_file(digest), json.loads(record.options), ())

    def _stored(
        self, alias: str, data: bytes | LazyFile, options: Mapping[str, Any], keep: Collection[str]
    ) -> str:
        public, digest = self.pool.get(PUBLIC), digest_of(data, options)
        if "encoder" in options:
            self._hf.add(digest)
        start = data[:START] if isinstance(data, bytes) else data.start(START)
        with public.reading(len(data), start, bounded=False):
            try:
                public.tokenizer(digest)
            except (UnknownTokenizer, LoadError):
                # Unknown, or damaged: the file is uploaded from these bytes.
                self.upload(public, bytes(data), options, None, keep)
            _compile_template(public.tokenizer(digest), alias)
        return digest

    # From beginning to end.

    def start(self) -> None:
        """From here on changes of other processes are followed, usage is written, and the store is
        checked."""
        self._catalog.follow()
        self.checks.start()
        self._upkeep = threading.Thread(target=self._keep_up, name="pywasmtok-upkeep", daemon=True)
        self._upkeep.start()

    def close(self) -> None:
        self._catalog.close()
        self.checks.close()
        self._end.set()
        if self._upkeep is not None:
            self._upkeep.join()
        self.work.close()
        self._changes.shutdown(cancel_futures=True)
        self._usage.write()
        for part in (self.metrics, self.access_log, self.pool, self.store):
            if part is not None:
                part.close()

    def _keep_up(self) -> None:
        while not self._end.wait(_UPKEEP_SECONDS):
            # This measures the memory, too.
            self.pool.evict()
            self._usage.write()

    def _added(self, tenant: TenantLike, data: bytes, options: Mapping[str, Any]) -> FileInfo:
        try:
            return tenant.add(data, **options)
        except LoadError:
            digest = digest_of(data, options)
            if self._view().record(tenant.name, digest) is None:
                raise
            # The file was valid before: the stored bytes are damaged, and these replace them.
            tenant.remove(digest)
            return tenant.add(data, **options)

    def _make_room(self, new: TokenizerRecord, limits: TenantLimits, keep: Collection[str]) -> bool:
        """Removes the oldest tokenizer without a name; none if the new one would not fit then."""
        view, added = self._view(), new.info.digest
        nameless = [one.info.digest for one in view.nameless(new.tenant)]
        nameless = [digest for digest in nameless if digest != added and digest not in keep]
        mine = view.tokenizers.get(new.tenant, {})
        stay = [one.info.bytes for digest, one in mine.items() if digest not in {added, *nameless}]
        try:
            check_room(len(stay), sum(stay), new.info.bytes, limits.stored_bytes, limits.tokenizers)
        except StorageFull:
            return False
        if not nameless:
            return False
        with contextlib.suppress(UnknownTokenizer):
            self.store.remove_tokenizer(new.tenant, nameless[0], nameless=True)
        self.refresh()
        return True

    def _require_local(self) -> None:
        if LOCAL not in [record.name for record in self.store.tenants()]:
            new = TenantRecord(LOCAL, self._limits, time.time())
            self.store.change_tenant(LOCAL, lambda old: old or new)

    def _add_tenant(self, name: str, limits: TenantLimits) -> None:
        files = TenantFiles(self.store, self._view, name, self._is_allowed)
        self._usage.watch(self.pool.add(name, limits, files))

    def _is_allowed(self, info: FileInfo) -> bool:
        return info.backend != "hf" or self._may_be_hf or info.digest in self._hf

    def _prepare(self, old: View, new: View) -> None:
        for name, record in new.tenants.items():
            before = old.tenants.get(name)
            if before is record:
                continue
            if before is not None and before.created != record.created:
                # Since the last look the tenant was removed, and another was made by its name.
                self._remove_tenant(name)
                before = None
            if before is None:
                self._add_tenant(name, record.limits)
            elif before.limits != record.limits:
                self.pool.set_limits(name, record.limits)

    def _retire(self, old: View, new: View) -> None:
        for name in set(old.tenants) - set(new.tenants):
            self._remove_tenant(name)
        gone = {
            owner: set(records) - set(new.tokenizers.get(owner, ()))
            for owner, records in old.tokenizers.items()
            if records is not new.tokenizers.get(owner)
        }
        for owner, digests in gone.items():
            # A public tokenizer may be loaded for every tenant.
            users = (*new.tenants, PUBLIC) if owner == PUBLIC and digests else (owner,)
            for name in users:
                self._forget(name, digests, new)

    def _remove_tenant(self, name: str) -> None:
        self._usage.forget(name)
        self.pool.remove(name)

    def _forget(self, name: str, digests: set[str], view: View) -> None:
        for digest in digests:
            if view.record(name, digest) is None:
                with contextlib.suppress(KeyError, UnknownTokenizer):
                    self.pool.get(name).remove(digest)


def _compile_template(tok: Tokenizer, alias: str) -> None:
    """Before the first request for it. One that does not compile harms requests for chats only."""
    from ..chat.face import Asked

    try:
        if tok.chat_template is not None:
            tok.chat_templates.ready(Asked())
    except TokenizerError as error:
        _log.warning("the chat template of %s cannot be used: %s", alias, error)
