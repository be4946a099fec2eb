"""A small service over the contract, for tests of what stands in front of it.

The tokenizers are real, and so is the store; tenants have no instances of their own, and work is
done in threads as it comes. What each part promises is tested with the part itself.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec

import pywasmtok
from pywasmtok.errors import TokenizerError
from pywasmtok.loading.sources.lazy import LazyFile
from pywasmtok.server.config import Config
from pywasmtok.server.contract import (
    LOCAL,
    PUBLIC,
    Caller,
    KeyRecord,
    Listed,
    Served,
    Store,
    TenantRecord,
    TokenizerRecord,
)
from pywasmtok.server.errors import Draining, NotFound
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.scheduling.executor import NotNowError
from pywasmtok.server.store.memory import MemoryStore
from pywasmtok.server.store.schedule import Checks
from pywasmtok.tenants import TenantLimits
from pywasmtok.tenants.contract import FileInfo, TenantLike, Usage
from pywasmtok.tenants.counts import Counts
from pywasmtok.tenants.errors import UnknownTokenizer

T = TypeVar("T")


class FakeTenant:
    def __init__(self, name: str, limits: TenantLimits) -> None:
        self.name = name
        self.limits = limits
        self.tokenizers: dict[str, pywasmtok.Tokenizer] = {}
        self.tokens = 0

    def add(self, data: bytes | LazyFile, **options: Any) -> FileInfo:
        whole = bytes(data)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            path.write_bytes(whole)
            tok = pywasmtok.create_tokenizer_from_file(path, limits=self.limits.calls, **options)
        how = json.dumps(options, sort_keys=True).encode()
        return self.keep(sha256(how + whole).hexdigest(), tok, len(whole))

    def keep(self, digest: str, tok: pywasmtok.Tokenizer, length: int) -> FileInfo:
        self.tokenizers[digest] = tok
        chats = tok.chat_templates.place is not None
        return FileInfo(digest, tok.format, length, tok.vocab_size, chats)

    def remove(self, digest: str) -> None:
        self.tokenizers.pop(digest, None)

    def tokenizer(self, digest: str) -> pywasmtok.Tokenizer:
        try:
            return self.tokenizers[digest]
        except KeyError:
            raise UnknownTokenizer(digest) from None

    def live(self, digest: str) -> pywasmtok.Tokenizer | None:
        return self.tokenizers.get(digest)

    def note(self, *, tokens: int = 0, seconds: float = 0.0, refused: int = 0) -> None:
        self.tokens += tokens

    def reading(
        self, size: int, start: bytes, *, bounded: bool = True
    ) -> AbstractContextManager[None]:
        return nullcontext()

    def admitted(self, cost: int) -> AbstractContextManager[None]:
        return nullcontext()

    def admit(self, cost: int) -> None:
        """There is always room."""

    def take_back(self, cost: int) -> None:
        """Nothing was taken."""

    def ended(
        self,
        cost: int,
        *,
        tokens: int = 0,
        seconds: float = 0.0,
        error: TokenizerError | None = None,
    ) -> None:
        self.tokens += tokens

    def usage(self) -> Usage:
        return Usage()


class FakeWork:
    """Counts, and does it in a thread."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    async def run(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool = False,
        about: str = "",
    ) -> T:
        self.calls.append((tenant.name, cost))
        return await asyncio.to_thread(call)

    def run_now(self, tenant: TenantLike, cost: int, call: Callable[[], T], about: str = "") -> T:
        raise NotNowError


class FakeLifecycle:
    def __init__(self) -> None:
        self.draining = False
        self.reload = None
        self._begun = asyncio.Event()

    def drain(self) -> None:
        self.draining = True
        self._begun.set()

    async def wait_draining(self) -> None:
        await self._begun.wait()

    def error(self) -> Draining:
        return Draining("the server is about to stop")

    @contextmanager
    def entered(self) -> Iterator[None]:
        yield


class FakeKeys:
    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> KeyRecord | None:
        asked = sha256(key.encode()).hexdigest()
        return next((one for one in self._store.keys() if one.hash == asked), None)

    def is_good(self, id: str) -> bool:
        return any(one.id == id for one in self._store.keys())


class FakeService:
    metrics: Any = None

    def __init__(self, config: Config | None = None, limits: TenantLimits | None = None) -> None:
        self.config = config or Config()
        self.limits = limits or TenantLimits()
        self.store: Store = MemoryStore()
        self.keys = FakeKeys(self.store)
        self.work: Any = FakeWork()
        self.counts = Counts()
        self.operations: list[str] = []
        self.lifecycle: Any = FakeLifecycle()
        self.checks = Checks(self.store, self.config.storage)
        self.public = FakeTenant(PUBLIC, self.limits)
        self._live: dict[str, FakeTenant] = {}
        self._lists: dict[str, list[Listed]] = {PUBLIC: []}
        self.store.put_tenant(TenantRecord(LOCAL, self.limits, 0.0))

    def add_public(self, name: str, tok: pywasmtok.Tokenizer) -> str:
        """One of the operator's own, already made."""
        digest = sha256(name.encode()).hexdigest()
        info = self.public.keep(digest, tok, len(tok.made_of[0]))
        self._lists[PUBLIC].append(Listed(info, (name,), True, 0.0))
        return digest

    def tenant(self, name: str) -> FakeTenant:
        record = next((one for one in self.store.tenants() if one.name == name), None)
        if record is None or record.disabled:
            raise NotFound(f"there is no tenant {name}")
        live = self._live.setdefault(name, FakeTenant(name, record.limits))
        live.limits = record.limits
        return live

    def find(self, caller: Caller, name: str | None) -> Served:
        named = [
            (digest, one)
            for one in self.listed(caller)
            for digest in (one.info.digest,)
            if name in (digest, *one.aliases)
        ]
        if name is None:
            named = [(one.info.digest, one) for one in self.listed(caller)]
        if not named:
            raise UnknownTokenizer(f"there is no tokenizer {name!r}")
        digest, one = named[0]
        tenant = self.tenant(caller.tenant)
        if one.public:
            tenant.tokenizers.setdefault(digest, self.public.tokenizer(digest))
        tok = tenant.tokenizer(digest)
        return Served(name or digest, digest, tenant, tok, one.info)

    def listed(self, caller: Caller) -> list[Listed]:
        aliases = self.store.aliases(caller.tenant)
        return [
            Listed(
                one.info,
                tuple(pointer.alias for pointer in aliases if pointer.digest == one.info.digest),
                False,
                one.created,
            )
            for one in self.store.tokenizers(caller.tenant)
        ] + self._lists[PUBLIC]

    def add(
        self, tenant: TenantLike, data: bytes, options: Mapping[str, Any], alias: str
    ) -> FileInfo:
        return tenant.add(data, **options)

    def keep(
        self,
        tenant: TenantLike,
        info: FileInfo,
        data: bytes,
        options: Mapping[str, Any],
        alias: str,
    ) -> str:
        self.store.put_tokenizer(
            TokenizerRecord(tenant.name, info, json.dumps(dict(options)), time.time()),
            data,
            alias,
            most_bytes=tenant.limits.stored_bytes,
            most=tenant.limits.tokenizers,
        )
        return info.digest

    def usage(self, name: str) -> Usage:
        calls = [cost for tenant, cost in self.work.calls if tenant == name]
        return replace(self.store.usage(name), requests=len(calls), text_bytes=sum(calls))

    def default_limits(self) -> TenantLimits:
        return self.limits

    async def run_for(
        self,
        tenant: TenantLike,
        cost: int,
        call: Callable[[], T],
        *,
        operation: str = "other",
    ) -> T:
        self.operations.append(operation)
        found: T = await self.work.run(tenant, cost, call)
        return found

    async def change(
        self,
        tenant: TenantLike,
        cost: int,
        prepare: Callable[[], Callable[[], T]],
        *,
        operation: str = "other",
    ) -> T:
        change = await self.run_for(tenant, cost, prepare, operation=operation)
        return await asyncio.to_thread(change)

    async def run(
        self,
        served: Served,
        cost: int,
        call: Callable[[], T],
        *,
        inline: bool = False,
        operation: str = "other",
    ) -> T:
        self.operations.append(operation)
        found: T = await self.work.run(served.tenant, cost, call, inline=inline)
        return found

    def run_now(
        self, served: Served, cost: int, call: Callable[[], T], *, operation: str = "other"
    ) -> T:
        raise NotNowError


def recorded(exchange: Exchange) -> dict[str, Any]:
    """What metrics and access log see of a request, without its name and its times."""
    found = msgspec.structs.asdict(exchange)
    assert found.pop("seconds") >= 0
    assert found.pop("request_id")
    for name in ("started", "bodies", "body", "held"):
        del found[name]
    return found
