"""A cache of the beginnings of prompts.

Prompts of a conversation begin alike, and those of one application do. A text is cut into blocks
where the tokenizer's own definition proves that cutting changes no id (docs/fitting.md), and the
ids of each block are kept. A prompt that begins like an earlier one finds the blocks they share,
and only the rest is encoded. A block is found by its text itself, not by a hash of it, so a hit is
never wrong; and where nothing can be proved, nothing is cached.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from .._locks import ForkSafeLock
from ..errors import InvalidArgument, TokenizerError
from .arguments import check_text
from .encoding import Encoding

if TYPE_CHECKING:
    from ..backends.core import CoreBackend
    from .tokenizer import Tokenizer

__all__ = ["CacheStats", "PrefixCache"]

# Characters of a block. Small ones find more of a beginning that ends somewhere; each costs a
# microsecond or two to find.
_BLOCK = 4096
# How far before the end of a block a cut is looked for; it is nearly always a few characters away.
_NEAR = 128
# What an entry costs beside its text and its ids: measured, and compared in a test.
_OVERHEAD = 480


class CacheStats(NamedTuple):
    """What a cache has done since it was made."""

    hits: int
    """Blocks that were there."""
    misses: int
    """Blocks that were not, and were encoded."""
    hit_chars: int
    """Characters that did not have to be encoded."""
    bypassed: int
    """Texts of tokenizers that have no cuts."""
    evicted: int
    entries: int
    bytes: int
    """What the entries take, keys and all."""


class _Entry:
    __slots__ = ("after", "cost", "ids")

    def __init__(self, ids: bytes, cost: int) -> None:
        self.ids = ids
        self.cost = cost
        # Length of the block that followed, and the characters around its end. A cut depends on
        # these alone: where they stand again, it need not be looked for.
        self.after: tuple[int, str] | None = None


class _Served(NamedTuple):
    """What is known of a tokenizer."""

    identity: Hashable
    backend: CoreBackend | None
    reason: str | None
    prefix: bytes = b""
    suffix: bytes = b""


class _Tenant:
    __slots__ = ("bytes", "entries")

    def __init__(self) -> None:
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self.bytes = 0


class PrefixCache:
    """Shared by any number of tokenizers, threads and tenants; at most `max_bytes` large.

    `cache.encode(tok, text)` answers what `tok.encode(text)` does. What one tenant has cached is
    never seen, and never evicted unless it takes the most room, by another one.
    """

    def __init__(self, max_bytes: int) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
            raise InvalidArgument(f"max_bytes must be a count of bytes, not {max_bytes!r}")
        self.max_bytes = max_bytes
        self._tenants: dict[str, _Tenant] = {}
        self._served: weakref.WeakKeyDictionary[Tokenizer, _Served] = weakref.WeakKeyDictionary()
        self._lock = ForkSafeLock()
        self._bytes = 0
        self._hits = self._misses = self._hit_chars = self._bypassed = self._evicted = 0

    def encode(
        self,
        tok: Tokenizer,
        text: str,
        add_special_tokens: bool = True,
        *,
        special: str = "all",
        tenant: str = "",
    ) -> Encoding:
        """`tok.encode(text)`, with what is known of its beginning."""
        check_text(text)
        _check_tenant(tenant)
        served = self._look_at(tok)
        backend = served.backend
        if backend is None or len(text) <= _BLOCK or special not in ("all", "none"):
            if backend is None:
                with self._lock:
                    self._bypassed += 1
            return tok.encode(text, add_special_tokens=add_special_tokens, special=special)
        if tok.closed:
            return tok.encode(text)
        special_is_text = special == "none"
        scope = (served.identity, special_is_text)

        def encode() -> Encoding:
            try:
                ids = self._ids(backend, scope, tenant, text, special_is_text)
            except TokenizerError:
                # The plain way has the right error for this text, or a fallback.
                return tok.encode(text, add_special_tokens=add_special_tokens, special=special)
            if add_special_tokens:
                ids = b"".join((served.prefix, ids, served.suffix))
            return Encoding(ids, backend, text, None, add_special_tokens, special_is_text)

        return tok.encode_within_bounds(text, encode)

    def reason(self, tok: Tokenizer) -> str | None:
        """Why nothing is cached for this tokenizer. None: it is served."""
        return self._look_at(tok).reason

    @property
    def stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(
                hits=self._hits,
                misses=self._misses,
                hit_chars=self._hit_chars,
                bypassed=self._bypassed,
                evicted=self._evicted,
                entries=sum(len(tenant.entries) for tenant in self._tenants.values()),
                bytes=self._bytes,
            )

    def clear(self, tenant: str | None = None) -> None:
        """Forgets what was cached: of one tenant, or of all (None). Calls without a tenant have the
        tenant ""."""
        if tenant is not None:
            _check_tenant(tenant)
        with self._lock:
            for name in list(self._tenants) if tenant is None else [tenant]:
                gone = self._tenants.pop(name, None)
                if gone is not None:
                    self._bytes -= gone.bytes

    def _look_at(self, tok: Tokenizer) -> _Served:
        try:
            served = self._served.get(tok)
        except TypeError:
            raise InvalidArgument(f"a Tokenizer is needed, not {type(tok).__name__}") from None
        if served is None:
            served = self._served[tok] = _serve(tok)
        return served

    def _ids(
        self,
        backend: CoreBackend,
        scope: Hashable,
        tenant: str,
        text: str,
        special_is_text: bool,
    ) -> bytes:
        parts: list[bytes | None] = []
        missing: list[tuple[int, Hashable, str, int]] = []
        previous: _Entry | None = None
        place = hits = hit_chars = 0
        while len(text) - place > _BLOCK:
            size = self._block_at(backend, previous, text, place)
            if not size:
                break
            block = text[place : place + size]
            key = (scope, place > 0, block)
            entry = self._find(tenant, key)
            if entry is None:
                missing.append((len(parts), key, block, place))
                parts.append(None)
            else:
                hits += 1
                hit_chars += size
                parts.append(entry.ids)
            if previous is not None and previous.after is None:
                end = place + size
                previous.after = (size, text[end - 2 : end + 2])
            previous = entry
            place += size
        core = backend.core
        rest = text[place:]
        if place:
            fresh = core.continue_batch(
                [block for _, _, block, at in missing if at] + [rest], special_is_text
            )
            parts.append(fresh.pop())
            if missing and not missing[0][3]:
                fresh.insert(0, core.encode_ids(missing[0][2], False, special_is_text))
        else:
            fresh = []
            parts.append(core.encode_ids(rest, False, special_is_text))
        for (number, _, _, _), ids in zip(missing, fresh, strict=True):
            parts[number] = ids
        with self._lock:
            self._hits += hits
            self._misses += len(missing)
            self._hit_chars += hit_chars
            for (_, name, block, _), ids in zip(missing, fresh, strict=True):
                self._keep(tenant, name, block, ids)
        return b"".join(part for part in parts if part is not None)

    def _block_at(
        self, backend: CoreBackend, previous: _Entry | None, text: str, place: int
    ) -> int:
        """How long the block is that begins here; 0: none does."""
        if previous is not None and previous.after is not None:
            size, around = previous.after
            end = place + size
            if text[end - 2 : end + 2] == around:
                return size
        for reach in (_NEAR, _BLOCK - 2):
            start = place + _BLOCK - reach
            found, _ = backend.core.last_cut(text[start : place + _BLOCK + 2], reach)
            if found > 1:
                return start + found - place
        return 0

    def _find(self, tenant: str, key: Hashable) -> _Entry | None:
        with self._lock:
            own = self._tenants.get(tenant)
            entry = None if own is None else own.entries.get(key)
            if own is not None and entry is not None:
                own.entries.move_to_end(key)
            return entry

    def _keep(self, tenant: str, key: Hashable, block: str, ids: bytes) -> None:
        """Under the lock."""
        cost = sys.getsizeof(block) + sys.getsizeof(ids) + _OVERHEAD
        if cost > self.max_bytes:
            return
        own = self._tenants.get(tenant)
        if own is None:
            own = self._tenants[tenant] = _Tenant()
        if key in own.entries:
            return
        own.entries[key] = _Entry(ids, cost)
        own.bytes += cost
        self._bytes += cost
        while self._bytes > self.max_bytes:
            self._evict()

    def _evict(self) -> None:
        name, largest = max(self._tenants.items(), key=lambda item: item[1].bytes)
        _, gone = largest.entries.popitem(last=False)
        largest.bytes -= gone.cost
        self._bytes -= gone.cost
        self._evicted += 1
        if not largest.entries:
            del self._tenants[name]


def _check_tenant(tenant: object) -> None:
    if not isinstance(tenant, str):
        raise InvalidArgument(f"a tenant is str, not {type(tenant).__name__}")


def _serve(tok: Tokenizer) -> _Served:
    backend = tok.core_backend
    if backend is None:
        return _Served(None, None, f"{tok.backend.encoder} encodes, which proves no cuts")
    _, reason = backend.core.last_cut("a", 0)
    if reason:
        return _Served(None, None, reason)
    frame = backend.info.get("frame")
    if frame is None:
        return _Served(None, None, "post-processor: it does more than put ids around a text")
    from array import array

    prefix, suffix = (array("I", frame[side]).tobytes() for side in ("prefix", "suffix"))
    return _Served(_identity_of(tok), backend, None, prefix, suffix)


def _identity_of(tok: Tokenizer) -> Hashable:
    """Equal only for tokenizers that give the same ids for every text."""
    from hashlib import sha256

    data, load = tok.made_of
    return sha256(data).digest(), load, tok.backend.encoder
