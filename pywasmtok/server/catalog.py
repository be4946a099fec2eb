"""A copy of the store's records in memory, which follows their changes.

A request reads one `View` and never sees half of a change. Before each use of a view the number of
the store's last change is compared: a change that any process has acknowledged is in the next view.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..errors import TokenizerError, Unsupported
from ..tenants.errors import UnknownTokenizer
from .auth.keys import KeyIndex
from .contract import PUBLIC, KeyRecord, Listed, Store, TenantRecord, TokenizerRecord

if TYPE_CHECKING:
    from ..loading.sources.lazy import LazyFile
    from ..tenants.contract import FileInfo

__all__ = ["DEFAULT", "Catalog", "TenantFiles", "View"]

DEFAULT: Final = "default"
"""The name that is meant where a request names none."""

_POLL_SECONDS: Final = 0.05
# Other processes may write all the time: after so many attempts the last one counts.
_ATTEMPTS: Final = 8

_log = logging.getLogger("pywasmtok")

T = TypeVar("T")

Tokenizers = Mapping[str, TokenizerRecord]


@dataclass(frozen=True, slots=True)
class View:
    """The records at one moment."""

    generation: int = -1
    tenants: Mapping[str, TenantRecord] = field(default_factory=dict)
    keys: KeyIndex = field(default_factory=KeyIndex)
    tokenizers: Mapping[str, Tokenizers] = field(default_factory=dict)
    """By owner, then by digest."""
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Digests by owner, then by alias."""
    keys_of: Mapping[str, Sequence[KeyRecord]] = field(default_factory=dict)
    """By owner; an empty name: admins'."""

    def record(self, tenant: str, digest: str) -> TokenizerRecord | None:
        """The tenant's own, or else a public one."""
        for owner in (tenant, PUBLIC):
            found = self.tokenizers.get(owner, {}).get(digest)
            if found is not None:
                return found
        return None

    def resolve(self, tenant: str, name: str | None) -> tuple[str, TokenizerRecord]:
        """The tokenizer that a name means to a tenant, and the name that it has then."""
        if name is None:
            return self._unnamed(tenant)
        for owner in (tenant, PUBLIC):
            digest = self.aliases.get(owner, {}).get(name, name)
            found = self.tokenizers.get(owner, {}).get(digest)
            if found is not None:
                return name, found
        raise UnknownTokenizer(
            f"there is no tokenizer {name[:200]!r}", hint=self._those_that_are(tenant)
        )

    def listed(self, tenant: str) -> list[Listed]:
        """The tenant's own in the order of their age, then the public ones."""
        owners = (tenant,) if tenant == PUBLIC else (tenant, PUBLIC)
        return [one for owner in owners for one in self._of(owner)]

    def nameless(self, tenant: str) -> list[TokenizerRecord]:
        """To which no alias points, the oldest first."""
        named = set(self.aliases.get(tenant, {}).values())
        mine = self.tokenizers.get(tenant, {}).values()
        free = [record for record in mine if record.info.digest not in named]
        return sorted(free, key=lambda record: record.created)

    def _of(self, owner: str) -> list[Listed]:
        names: dict[str, list[str]] = {}
        for alias, digest in self.aliases.get(owner, {}).items():
            names.setdefault(digest, []).append(alias)
        records = sorted(self.tokenizers.get(owner, {}).values(), key=lambda one: one.created)
        return [
            Listed(
                record.info,
                tuple(sorted(names.get(record.info.digest, ()))),
                owner == PUBLIC,
                record.created,
            )
            for record in records
        ]

    def _unnamed(self, tenant: str) -> tuple[str, TokenizerRecord]:
        for owner in (tenant, PUBLIC):
            if DEFAULT in self.aliases.get(owner, {}):
                return self.resolve(owner, DEFAULT)
        listed = self.listed(tenant)
        # A file without a name was replaced, and stays for requests by its digest.
        listed = [one for one in listed if one.aliases] or listed
        digests = {one.info.digest for one in listed}
        if len(digests) == 1:
            names = [alias for one in listed for alias in one.aliases]
            return self.resolve(tenant, names[0] if names else digests.pop())
        hint = self._those_that_are(tenant)
        if listed:
            hint += ". Send one as `model`, or give one the further name `default`"
        raise UnknownTokenizer("the request does not say which tokenizer", hint=hint)

    def _those_that_are(self, tenant: str) -> str:
        names = {**self.aliases.get(tenant, {}), **self.aliases.get(PUBLIC, {})}
        if not names:
            return "There are none yet"
        some = sorted(names)[:10]
        more = ", ..." if len(names) > len(some) else ""
        return f"There is {', '.join(some)}{more}"


Changed = Callable[[View, View], None]


class Catalog:
    def __init__(self, store: Store, prepare: Changed, retire: Changed) -> None:
        """Both are called with the old view and the new one: `prepare` before the new view is
        visible to requests, `retire` afterwards."""
        self._store = store
        self._prepare = prepare
        self._retire = retire
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._watcher: threading.Thread | None = None
        self.revision = store.revision
        """Of the store, for a look at each request."""
        self.seen = -1
        """That of the store before `last` was read."""
        self.last = View()
        self._failing = False

    def refresh(self) -> None:
        """Reads the records if they have changed."""
        with self._lock:
            seen, old = self.revision(), self.last
            try:
                if self._store.generation() == old.generation:
                    return
                new = _read(self._store, old)
                self._prepare(old, new)
                self.last = new
                self._retire(old, new)
            finally:
                # Not before: until then other threads wait for the lock. After a failure the
                # watcher tries again, and not each request.
                self.seen = seen

    def follow(self) -> None:
        """Looks for changes of other processes, in a thread, so that requests rarely have to."""
        self._watcher = threading.Thread(target=self._follow, name="pywasmtok-catalog", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        self._end.set()
        if self._watcher is not None:
            self._watcher.join()

    def _follow(self) -> None:
        while not self._end.wait(_POLL_SECONDS):
            self.try_refresh()

    def try_refresh(self) -> None:
        """The last view stays in use where the records cannot be read."""
        try:
            self.refresh()
            self._failing = False
        except TokenizerError as error:
            # Logged once, not twenty times a second.
            if not self._failing:
                _log.error("the records cannot be read: %s", error)
            self._failing = True


class TenantFiles:
    """The files that one tenant may use, for its tokenizers."""

    def __init__(
        self,
        store: Store,
        view: Callable[[], View],
        tenant: str,
        is_allowed: Callable[[FileInfo], bool] = lambda info: True,
    ) -> None:
        self._is_allowed = is_allowed
        self._store = store
        self._view = view
        self._tenant = tenant

    def open(self, digest: str) -> tuple[bytes | LazyFile, dict[str, Any]]:
        record = self._view().record(self._tenant, digest)
        if record is None:
            raise KeyError(digest)
        if not self._is_allowed(record.info):
            raise Unsupported(
                "HuggingFace serves this tokenizer, and is switched off here",
                feature="encoder:hf",
                hint='The operator has said encoder = "core"',
            )
        return self._store.open_file(digest), json.loads(record.options)


def _read(store: Store, old: View) -> View:
    """The records as they are at one moment: reads again if they changed meanwhile. Only those of
    owners whose records have changed, where that is known."""
    for attempt in range(_ATTEMPTS):
        before = store.generation()
        owners = store.owners(old.generation, before)
        new = _all(store) if owners is None else _some(store, old, owners)
        if store.generation() == before or attempt == _ATTEMPTS - 1:
            break
    return replace(new, generation=before)


def _all(store: Store) -> View:
    tenants = {record.name: record for record in store.tenants()}
    keys: dict[str, list[KeyRecord]] = {}
    tokenizers: dict[str, dict[str, TokenizerRecord]] = {}
    aliases: dict[str, dict[str, str]] = {}
    for key in store.keys():
        keys.setdefault(key.tenant or "", []).append(key)
    for record in store.tokenizers():
        tokenizers.setdefault(record.tenant, {})[record.info.digest] = record
    for one in store.aliases():
        aliases.setdefault(one.tenant, {})[one.alias] = one.digest
    return View(-1, tenants, KeyIndex(chain(*keys.values()), tenants), tokenizers, aliases, keys)


def _some(store: Store, old: View, owners: set[str]) -> View:
    tenants, keys = dict(old.tenants), dict(old.keys_of)
    tokenizers, aliases = dict(old.tokenizers), dict(old.aliases)
    for owner in owners:
        tenant = store.tenants(owner)
        _put(tenants, owner, tenant[0] if tenant else None)
        _put(keys, owner, store.keys(owner))
        records = store.tokenizers(owner)
        _put(tokenizers, owner, {record.info.digest: record for record in records})
        _put(aliases, owner, {one.alias: one.digest for one in store.aliases(owner)})
    # Connections keep their last head as long as the index is the same.
    index = old.keys
    for owner in owners:
        before = old.tenants.get(owner), old.keys_of.get(owner)
        if (tenants.get(owner), keys.get(owner)) != before:
            index = KeyIndex(chain(*keys.values()), tenants)
            break
    return View(-1, tenants, index, tokenizers, aliases, keys)


def _put(table: dict[str, T], owner: str, found: T | None) -> None:
    if found:
        table[owner] = found
    else:
        table.pop(owner, None)
