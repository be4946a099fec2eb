"""A store in the memory of one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from operator import itemgetter

from ..._locks import ForkSafeLock
from ...tenants.contract import Usage
from ..contract import PUBLIC, AliasRecord, Checked, KeyRecord, TenantRecord, TokenizerRecord
from ..errors import Conflict
from .rules import (
    Changes,
    added,
    check_keys,
    check_names,
    check_record,
    check_room,
    no_such_file,
    no_such_tenant,
    no_such_tokenizer,
    rotated,
)

__all__ = ["MemoryStore"]


class MemoryStore(Changes):
    def __init__(self) -> None:
        super().__init__()
        self._lock = ForkSafeLock()
        self._number = [0]
        self.revision: Callable[[], int] = partial(itemgetter(0), self._number)
        self._tenants: dict[str, TenantRecord] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._revoked: set[str] = set()
        self._tokenizers: dict[tuple[str, str], TokenizerRecord] = {}
        self._aliases: dict[tuple[str, str], AliasRecord] = {}
        self._usage: dict[str, Usage] = {}
        self._secrets: dict[str, bytes] = {}
        self._files: dict[str, bytes] = {}
        self._file_of: dict[str, str] = {}

    def generation(self) -> int:
        return self._number[0]

    def owners(self, since: int, until: int) -> set[str] | None:
        return None

    def tenants(self, owner: str | None = None) -> list[TenantRecord]:
        with self._lock:
            found = [self._tenants[name] for name in sorted(self._tenants)]
        return [one for one in found if owner is None or one.name == owner]

    def change_tenant(
        self, name: str, made_from: Callable[[TenantRecord | None], TenantRecord]
    ) -> None:
        with self._lock:
            record = made_from(self._tenants.get(name))
            check_record(record)
            self._tenants[name] = record
            self._number[0] += 1
        self._changed()

    def remove_tenant(self, name: str) -> None:
        with self._lock:
            if self._tenants.pop(name, None) is None:
                raise no_such_tenant(name)
            self._keys = {k: key for k, key in self._keys.items() if key.tenant != name}
            self._aliases = {k: one for k, one in self._aliases.items() if one.tenant != name}
            self._tokenizers = {k: one for k, one in self._tokenizers.items() if one.tenant != name}
            self._usage.pop(name, None)
            self._forget_files()
            self._number[0] += 1
        self._changed()

    def keys(self, owner: str | None = None) -> list[KeyRecord]:
        with self._lock:
            found = [self._keys[id] for id in sorted(self._keys)]
        return [one for one in found if owner is None or (one.tenant or "") == owner]

    def put_key(self, record: KeyRecord, *, keep_others: float | None = None) -> None:
        with self._lock:
            if record.tenant is not None and record.tenant not in self._tenants:
                raise no_such_tenant(record.tenant)
            mine = [one for one in self._keys.values() if one.tenant == record.tenant]
            shorter, ended = ([], []) if keep_others is None else rotated(mine, record, keep_others)
            ids = {one.id for one in mine} - {one.id for one in ended}
            if record.id not in ids:
                check_keys(len(ids))
            if any(one.hash == record.hash and one.id != record.id for one in self._keys.values()):
                raise Conflict("this key is known under another id")
            for one in ended:
                self._revoke(one.id)
            for one in (*shorter, record):
                self._keys[one.id] = one
            self._number[0] += 1
        self._changed()

    def remove_key(self, id: str) -> None:
        with self._lock:
            if id not in self._keys:
                return
            self._revoke(id)
            self._number[0] += 1
        self._changed()

    def _revoke(self, id: str) -> None:
        removed = self._keys.pop(id)
        if removed.tenant is None:
            self._revoked.add(removed.hash)

    def was_revoked(self, hash: str) -> bool:
        with self._lock:
            return hash in self._revoked

    def tokenizers(self, tenant: str | None = None) -> list[TokenizerRecord]:
        with self._lock:
            found = [self._tokenizers[key] for key in sorted(self._tokenizers)]
        return [one for one in found if tenant is None or one.tenant == tenant]

    def put_tokenizer(
        self,
        record: TokenizerRecord,
        data: bytes | None,
        alias: str | None,
        *,
        most_bytes: int | None = None,
        most: int | None = None,
    ) -> None:
        check_record(record)
        pointer = None
        if alias is not None:
            pointer = AliasRecord(record.tenant, alias, record.info.digest)
            check_record(pointer)
        digest, tenant = record.info.digest, record.tenant
        with self._lock:
            if tenant != PUBLIC and tenant not in self._tenants:
                raise no_such_tenant(tenant)
            file = self._file_of.get(digest) if data is None else sha256(data).hexdigest()
            if file is None:
                raise no_such_file(digest)
            known = self._tokenizers.get((tenant, digest))
            if known is None:
                mine = [one for one in self._tokenizers.values() if one.tenant == tenant]
                stored = sum(one.info.bytes for one in mine)
                check_room(len(mine), stored, record.info.bytes, most_bytes, most)
            else:
                record = replace(record, created=known.created)
            if pointer is not None:
                self._check_names(pointer)
            if data is not None:
                self._files[file] = data
            self._file_of[digest] = file
            self._tokenizers[tenant, digest] = record
            if pointer is not None:
                self._aliases[tenant, pointer.alias] = pointer
            self._number[0] += 1
        self._changed()

    def remove_tokenizer(self, tenant: str, digest: str, *, nameless: bool = False) -> None:
        with self._lock:
            if (tenant, digest) not in self._tokenizers or (
                nameless and self._names(tenant, digest)
            ):
                raise no_such_tokenizer(digest)
            self._take_out(tenant, digest)
            self._number[0] += 1
        self._changed()

    def remove_name(self, tenant: str, alias: str) -> None:
        with self._lock:
            removed = self._aliases.pop((tenant, alias), None)
            if removed is None:
                raise no_such_tokenizer(alias)
            if not self._names(tenant, removed.digest):
                self._take_out(tenant, removed.digest)
            self._number[0] += 1
        self._changed()

    def open_file(self, digest: str) -> bytes:
        with self._lock:
            return self._files[self._file_of[digest]]

    def aliases(self, tenant: str | None = None) -> list[AliasRecord]:
        with self._lock:
            found = [self._aliases[key] for key in sorted(self._aliases)]
        return [one for one in found if tenant is None or one.tenant == tenant]

    def put_alias(self, record: AliasRecord) -> None:
        check_record(record)
        with self._lock:
            if (record.tenant, record.digest) not in self._tokenizers:
                raise no_such_tokenizer(record.digest)
            self._check_names(record)
            self._aliases[record.tenant, record.alias] = record
            self._number[0] += 1
        self._changed()

    def remove_alias(self, tenant: str, alias: str) -> None:
        with self._lock:
            if self._aliases.pop((tenant, alias), None) is None:
                raise no_such_tokenizer(alias)
            self._number[0] += 1
        self._changed()

    def add_usage(self, tenant: str, usage: Usage) -> None:
        with self._lock:
            # The usage of a tenant that was removed meanwhile is dropped.
            if tenant == PUBLIC or tenant in self._tenants:
                self._usage[tenant] = added(self._usage.get(tenant, Usage()), usage)

    def usage(self, tenant: str) -> Usage:
        with self._lock:
            return self._usage.get(tenant, Usage())

    def secret(self, name: str) -> bytes:
        with self._lock:
            return self._secrets.setdefault(name, os.urandom(32))

    def check(
        self, *, with_files: bool = True, pace: Callable[[int], object] = lambda length: None
    ) -> Checked:
        """Nothing is on a disk."""
        return Checked([], 0, 0, 0)

    def aside(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing to close."""

    def _names(self, tenant: str, digest: str) -> list[str]:
        found = self._aliases.values()
        return [one.alias for one in found if (one.tenant, one.digest) == (tenant, digest)]

    def _take_out(self, tenant: str, digest: str) -> None:
        del self._tokenizers[tenant, digest]
        for name in self._names(tenant, digest):
            del self._aliases[tenant, name]
        self._forget_files()

    def _check_names(self, record: AliasRecord) -> None:
        if (record.tenant, record.alias) not in self._aliases:
            check_names(record.tenant, sum(owner == record.tenant for owner, _ in self._aliases))

    def _forget_files(self) -> None:
        used = {digest for _, digest in self._tokenizers}
        self._file_of = {digest: f for digest, f in self._file_of.items() if digest in used}
        kept = set(self._file_of.values())
        self._files = {file: data for file, data in self._files.items() if file in kept}
