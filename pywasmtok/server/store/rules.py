"""What both stores share: sums, refusals, and the listeners of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from ...errors import InvalidArgument
from ...tenants.contract import Usage
from ...tenants.errors import StorageFull, UnknownTokenizer
from ..contract import PUBLIC, AliasRecord, KeyRecord, TenantRecord, TokenizerRecord
from ..errors import NotFound
from ..names import check_alias, check_tenant, is_digest

__all__ = [
    "MOST_KEYS",
    "MOST_NAMES",
    "Changes",
    "added",
    "check_keys",
    "check_names",
    "check_record",
    "check_room",
    "no_such_file",
    "no_such_tenant",
    "no_such_tokenizer",
    "rotated",
]

MOST_NAMES: Final = 1024
"""Of a tenant's tokenizers: every process keeps all names in memory."""

# After its end a key is kept for so long: a clock may have been wrong.
_ENDED_SECONDS: Final = 86400.0

MOST_KEYS: Final = 1024
"""Of a tenant, or of all admins: every process keeps all keys in memory."""


class Changes:
    """What is the same in both: listeners that are called after this process has changed a record,
    to update their copies; and a tenant that is put whatever was there."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def change_tenant(
        self, name: str, made_from: Callable[[TenantRecord | None], TenantRecord]
    ) -> None:
        raise NotImplementedError

    def put_tenant(self, record: TenantRecord) -> None:
        self.change_tenant(record.name, lambda _: record)

    def listen(self, told: Callable[[], None]) -> None:
        self._listeners.append(told)

    def _changed(self) -> None:
        for told in self._listeners:
            told()


def check_record(record: TenantRecord | TokenizerRecord | AliasRecord) -> None:
    if isinstance(record, TenantRecord):
        check_tenant(record.name)
    elif isinstance(record, AliasRecord):
        check_alias(record.alias)
    elif not is_digest(record.info.digest):
        raise InvalidArgument(f"{record.info.digest[:80]!r} is no SHA-256")


def check_room(
    count: int, stored: int, more: int, most_bytes: int | None, most: int | None
) -> None:
    """`count` files of `stored` bytes are there, one of `more` bytes comes."""
    if most is not None and count + 1 > most:
        raise StorageFull.of(
            f"{count} tokenizers are stored, of {most} that may be",
            most,
            count + 1,
            hint="Delete one that is no longer used",
        )
    if most_bytes is not None and stored + more > most_bytes:
        raise StorageFull.of(
            f"{stored} bytes are stored of {most_bytes} that may be; this file has {more}",
            most_bytes,
            stored + more,
            hint="Delete tokenizers that are no longer used",
        )


def check_names(tenant: str, count: int) -> None:
    """`count` names are there, and a new one comes. The operator has as many as are wanted."""
    if tenant != PUBLIC and count >= MOST_NAMES:
        raise StorageFull(
            f"{count} names of tokenizers are stored, of {MOST_NAMES} that may be",
            hint="Delete one that is no longer used",
        )


def check_keys(count: int) -> None:
    """`count` keys are there, and a new one comes."""
    if count >= MOST_KEYS:
        raise StorageFull(
            f"{count} keys are stored, of {MOST_KEYS} that may be",
            hint="Delete keys that have ended; a rotation deletes those that ended a day ago",
        )


def rotated(
    keys: Iterable[KeyRecord], new: KeyRecord, seconds: float
) -> tuple[list[KeyRecord], list[KeyRecord]]:
    """Of the other keys of an owner: those that end `seconds` after `new` was made, and no longer
    later, and those that are removed because they ended a day before."""
    end, long_ended = new.created + seconds, new.created - _ENDED_SECONDS
    shorter, ended = [], []
    for old in keys:
        if old.tenant != new.tenant or old.id == new.id:
            continue
        if old.expires is not None and old.expires < long_ended:
            ended.append(old)
        elif old.expires is None or old.expires > end:
            shorter.append(replace(old, expires=end))
    return shorter, ended


def added(old: Usage, new: Usage) -> Usage:
    """Instances and their memory are of a moment, and not summed."""
    return replace(
        old,
        requests=old.requests + new.requests,
        refused=old.refused + new.refused,
        failed=old.failed + new.failed,
        text_bytes=old.text_bytes + new.text_bytes,
        tokens=old.tokens + new.tokens,
        seconds=old.seconds + new.seconds,
    )


def no_such_tenant(name: str) -> NotFound:
    return NotFound(f"there is no tenant {name!r}")


def no_such_tokenizer(name: str) -> UnknownTokenizer:
    return UnknownTokenizer(f"there is no tokenizer {name[:200]!r}")


def no_such_file(digest: str) -> UnknownTokenizer:
    return UnknownTokenizer(
        f"nothing is stored under {digest}", hint="Store the bytes of the file with its record"
    )
