"""Keys: 256 random bits each, of which only a SHA-256 is kept."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from ..contract import KeyRecord, TenantRecord

__all__ = ["KeyIndex", "hash_of", "is_good", "is_key", "make_key", "record_of"]

_TENANTS: Final = "pwt_"
_ADMINS: Final = "pwt_admin_"
_KEY: Final = re.compile(r"pwt_(admin_)?[A-Za-z0-9_-]{43}")


def make_key(tenant: str | None, expires: float | None = None) -> tuple[str, KeyRecord]:
    """The key, to be shown once, and what is kept of it. None: an admin's."""
    key = (_ADMINS if tenant is None else _TENANTS) + secrets.token_urlsafe(32)
    return key, record_of(key, tenant, expires)


def record_of(key: str, tenant: str | None, expires: float | None = None) -> KeyRecord:
    hashed = hash_of(key)
    # The id is 48 of the 256 bits of the hash. The holder of a key can find it in a list, and the
    # id says nothing about the key.
    return KeyRecord(hashed[:12], hashed, tenant, time.time(), expires)


def is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def hash_of(key: str) -> str:
    return sha256(key.encode()).hexdigest()


class KeyIndex:
    """All keys, found by their hash. The time of a look-up does not depend on how much of a key is
    right, since a client cannot choose its hash."""

    def __init__(
        self, records: Iterable[KeyRecord] = (), tenants: Mapping[str, TenantRecord] | None = None
    ) -> None:
        """Keys of tenants that are not there or disabled open nothing."""
        good = {name for name, tenant in (tenants or {}).items() if not tenant.disabled}
        self._records = {
            record.hash: record
            for record in records
            if record.tenant is None or record.tenant in good
        }
        self._by_id = {record.id: record for record in self._records.values()}

    def find(self, key: str, now: float | None = None) -> KeyRecord | None:
        if not is_key(key):
            return None
        hashed = hash_of(key)
        record = self._records.get(hashed)
        if record is None or not hmac.compare_digest(record.hash, hashed):
            return None
        return record if is_good(record, now) else None

    def is_good(self, id: str, now: float | None = None) -> bool:
        """Whether a key that was found before would be found again."""
        record = self._by_id.get(id)
        return record is not None and is_good(record, now)


def is_good(record: KeyRecord, now: float | None = None) -> bool:
    """Whether it has not expired."""
    return record.expires is None or record.expires > (time.time() if now is None else now)
