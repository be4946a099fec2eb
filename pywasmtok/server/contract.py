"""The records of the server, the interface of its stores, and a request on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..tenants.errors import UnknownTokenizer

if TYPE_CHECKING:
    from ..loading.sources.lazy import LazyFile
    from ..tenants.contract import FileInfo, TenantLike, Usage
    from ..tenants.limits import TenantLimits
    from ..tokenizer.tokenizer import Tokenizer

__all__ = [
    "LOCAL",
    "PUBLIC",
    "AliasRecord",
    "Caller",
    "Checked",
    "KeyRecord",
    "Listed",
    "Served",
    "Store",
    "TenantRecord",
    "TokenizerRecord",
]

PUBLIC = "public"
"""The owner of the operator's own tokenizers, which every tenant may use and none may change."""

LOCAL = "local"
"""The tenant of all requests while identity is off."""


# Records: what survives a restart.


@dataclass(frozen=True, slots=True)
class KeyRecord:
    id: str
    """Public: what a list of keys shows."""
    hash: str
    """SHA-256 of the key, hexadecimal. Keys have 256 random bits, so nothing slower is needed."""
    tenant: str | None
    """None: an admin's key, which belongs to no tenant."""
    created: float
    expires: float | None = None
    """Seconds since 1970: a key that was rotated stays good until then."""


@dataclass(frozen=True, slots=True)
class TenantRecord:
    name: str
    """`[a-z0-9][a-z0-9._-]{0,62}`"""
    limits: TenantLimits
    created: float
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class TokenizerRecord:
    tenant: str
    info: FileInfo
    options: str
    """How the file is read, as JSON."""
    created: float


@dataclass(frozen=True, slots=True)
class AliasRecord:
    tenant: str
    alias: str
    """A name in paths of requests: `[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}`"""
    digest: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of records and files found."""

    problems: list[str]
    set_aside: int
    """Records and files."""
    files: int
    """That were read, of `bytes` in all."""
    bytes: int


class Store(Protocol):
    """Records and files. Called from threads, several at once and in several processes. What a
    call has answered survives a kill -9 right after. Errors are `TokenizerError`s (`StorageFull`
    when the disk is)."""

    def generation(self) -> int:
        """A number that changes with each change of a record by any process, but for usage."""
        ...

    @property
    def revision(self) -> Callable[[], int]:
        """Another such number, cheap enough for every request. It changes before the call that
        changes a record returns."""
        ...

    def owners(self, since: int, until: int) -> set[str] | None:
        """Whose records changed between these numbers of `generation`: names of tenants, `public`,
        and an empty name for admins' keys. None: it is not known."""
        ...

    def tenants(self, owner: str | None = None) -> list[TenantRecord]: ...
    def put_tenant(self, record: TenantRecord) -> None: ...
    def change_tenant(
        self, name: str, made_from: Callable[[TenantRecord | None], TenantRecord]
    ) -> None:
        """Puts what `made_from` makes of the record (None: there is none), in one transaction: no
        other change comes between."""
        ...

    def remove_tenant(self, name: str) -> None:
        """With its keys, aliases, tokenizers, usage, and files that no other tenant has."""
        ...

    def keys(self, owner: str | None = None) -> list[KeyRecord]: ...
    def put_key(self, record: KeyRecord, *, keep_others: float | None = None) -> None:
        """`keep_others`: in the same transaction, the other keys of the same tenant, or of admins,
        end after so many seconds, if not sooner; those that ended a day ago are removed."""
        ...

    def remove_key(self, id: str) -> None: ...

    def was_revoked(self, hash: str) -> bool:
        """Whether this was an admin's key that was removed."""
        ...

    def tokenizers(self, tenant: str | None = None) -> list[TokenizerRecord]: ...
    def put_tokenizer(
        self,
        record: TokenizerRecord,
        data: bytes | None,
        alias: str | None,
        *,
        most_bytes: int | None = None,
        most: int | None = None,
    ) -> None:
        """The file first, then the record and the alias in one transaction: a reader that sees the
        record finds the file. The transaction counts the tenant's bytes, too: `StorageFull`."""
        ...

    def remove_tokenizer(self, tenant: str, digest: str, *, nameless: bool = False) -> None:
        """With its names. `nameless`: only if it has none."""
        ...

    def remove_name(self, tenant: str, alias: str) -> None:
        """With the last name, the tokenizer, in one transaction."""
        ...

    def open_file(self, digest: str) -> bytes | LazyFile:
        """KeyError: there is none. A file whose bytes have another hash is a LoadError, reported,
        and never served."""
        ...

    def aliases(self, tenant: str | None = None) -> list[AliasRecord]: ...
    def put_alias(self, record: AliasRecord) -> None:
        """Points it somewhere else, atomically. UnknownTokenizer: the tenant has no such file."""
        ...

    def remove_alias(self, tenant: str, alias: str) -> None: ...

    def add_usage(self, tenant: str, usage: Usage) -> None:
        """Adds to what is there; called every few seconds and at the end."""
        ...

    def usage(self, tenant: str) -> Usage: ...
    def secret(self, name: str) -> bytes:
        """32 random bytes, made when first asked for; the same for all processes ever after."""
        ...

    def check(
        self, *, with_files: bool = True, pace: Callable[[int], object] = lambda length: None
    ) -> Checked:
        """Reads all, and sets aside what is damaged. `pace` is called after each part, with its
        length; what it raises ends the check."""
        ...

    def aside(self) -> int:
        """How many things are set aside, for the operator to look at."""
        ...

    def listen(self, told: Callable[[], None]) -> None:
        """`told` is called after each change that is made through this object, in its thread."""
        ...

    def close(self) -> None: ...


# A request on its way.


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request, as its key states it."""

    tenant: str
    admin: bool = False
    key_id: str | None = None
    """None: identity is off, which it may only be on loopback."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tokenizer as its owner sees it in a list."""

    info: FileInfo
    aliases: tuple[str, ...]
    public: bool
    created: float


class Served:
    """A tokenizer for one request: what it was when the request came, also if it is swapped."""

    __slots__ = ("_again", "_tokenizer", "digest", "info", "name", "tenant", "tokens")

    def __init__(  # noqa: PLR0917
        self,
        name: str,
        digest: str,
        tenant: TenantLike,
        tokenizer: Tokenizer | None,
        info: FileInfo,
        again: Callable[[], Served] | None = None,
    ) -> None:
        """`tokenizer`: None where it is not in memory. `again`: what the name means by now."""
        self._again = again
        self.name = name
        self.digest = digest
        self.tenant = tenant
        self.info = info
        self.tokens = 0
        """Tokens that the request has encoded or decoded, set by its handler, for usage."""
        self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Tokenizer:
        """May read the file first: for the call that `run` makes, not for the event loop."""
        if self._tokenizer is None:
            try:
                self._tokenizer = self.tenant.tokenizer(self.digest)
            except UnknownTokenizer:
                # Not in memory, swapped and removed since the request came.
                now = None if self._again is None else self._again()
                if now is None or now.digest == self.digest:
                    raise
                self.digest, self.info = now.digest, now.info
                self._tokenizer = now.tokenizer
        return self._tokenizer

    @property
    def is_live(self) -> bool:
        """Whether it is in memory already."""
        return self._tokenizer is not None
