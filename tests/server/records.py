"""Records for tests of stores, without tokenizers behind them."""

from __future__ import annotations

from hashlib import sha256

from pywasmtok.server.contract import AliasRecord, KeyRecord, TenantRecord, TokenizerRecord
from pywasmtok.tenants.contract import FileInfo
from pywasmtok.tenants.limits import TenantLimits

__all__ = ["alias", "digest", "key", "tenant", "tokenizer"]


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def tenant(name: str, **limits: int) -> TenantRecord:
    return TenantRecord(name, TenantLimits(**limits), 1.0)  # type: ignore[arg-type]


def key(id: str, owner: str | None, expires: float | None = None) -> KeyRecord:
    return KeyRecord(id, digest(id.encode()), owner, 2.0, expires)


def tokenizer(owner: str, data: bytes, created: float = 3.0) -> TokenizerRecord:
    info = FileInfo(digest(data), "tokenizer.json", len(data), 7, chat_template=False)
    return TokenizerRecord(owner, info, "{}", created)


def alias(owner: str, name: str, data: bytes) -> AliasRecord:
    return AliasRecord(owner, name, digest(data))
