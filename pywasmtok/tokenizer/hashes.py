"""Hashes of blocks of ids, for routers and caches: ours, and those of systems that serve models.

docs/hashes.md has the exact bytes and vectors for other languages. Only whole blocks are hashed:
ids behind the last one may still become part of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Final

from ..errors import BackendUnavailable, InvalidArgument
from .ids import as_bytes

if TYPE_CHECKING:
    from .ids import Ids

__all__ = [
    "block_hashes",
    "dynamo_block_hashes",
    "dynamo_sequence_hashes",
    "sglang_event_hash",
    "sglang_page_hashes",
    "vllm_block_hashes",
    "vllm_event_hash",
]

# Part of the contract: a new function would need a new name.
_BLOCK: Final = b"pywasmtok-blk-1"
_SALT: Final = b"pywasmtok-slt-1"

_DYNAMO_SEED: Final = 1337
_64_BITS: Final = (1 << 64) - 1


def block_hashes(
    token_ids: Ids, block_size: int, *, parent: int | None = None, salt: str = ""
) -> list[int]:
    """One number of 64 bits for each whole block, which speaks of all ids up to its end.

    `salt` keeps apart what must not share a cache: the fingerprint of the tokenizer, an adapter, a
    tenant. `parent`, the hash of the block before, goes on where an earlier call ended; the salt
    is in it already.
    """
    if parent is None:
        before = blake2b(_utf8(salt), digest_size=8, person=_SALT).digest() if salt else bytes(8)
    elif salt:
        raise InvalidArgument("the parent has the salt in it: give one of the two")
    else:
        before = _word(parent)
    found = []
    for block in _blocks(token_ids, block_size):
        before = blake2b(before + block, digest_size=8, person=_BLOCK).digest()
        found.append(int.from_bytes(before, "little"))
    return found


def dynamo_block_hashes(token_ids: Ids, block_size: int, *, lora: str = "") -> list[int]:
    """The local block hashes of Dynamo's router: XXH3-64 of each block alone. Needs `xxhash`."""
    xxh3 = _xxhash().xxh3_64_intdigest
    seed = _DYNAMO_SEED
    if lora:
        seed = (seed + xxh3(_utf8(lora))) & _64_BITS
    return [xxh3(block, seed) for block in _blocks(token_ids, block_size)]


def dynamo_sequence_hashes(token_ids: Ids, block_size: int, *, lora: str = "") -> list[int]:
    """The same, each joined with those before it: the sequence hashes of Dynamo's router."""
    xxh3 = _xxhash().xxh3_64_intdigest
    found: list[int] = []
    for local in dynamo_block_hashes(token_ids, block_size, lora=lora):
        joined = _word(found[-1]) + _word(local) if found else None
        found.append(local if joined is None else xxh3(joined, _DYNAMO_SEED))
    return found


def vllm_block_hashes(
    token_ids: Ids,
    block_size: int,
    *,
    hash_seed: str,
    parent: bytes | None = None,
    lora: str = "",
    cache_salt: str = "",
) -> list[bytes]:
    """The block hashes of vLLM with `--prefix-caching-hash-algo sha256_cbor`, for text alone.

    `hash_seed` is the environment variable PYTHONHASHSEED of the engine; without it an engine
    starts from random bytes, and its hashes are unknown. `lora` is the name of the adapter.
    """
    before = sha256(_cbor_text(hash_seed)).digest() if parent is None else _bytes(parent)
    found = []
    first = parent is None
    for block in _blocks(token_ids, block_size):
        keys = [lora] if lora else []
        if first and cache_salt:
            keys.append(cache_salt)
        first = False
        extra = b"".join(map(_cbor_text, keys))
        before = sha256(
            b"\x83"
            + (_cbor_head(2, len(before)) + before)
            + (_cbor_head(4, block_size) + _cbor_numbers(block))
            + (_cbor_head(4, len(keys)) + extra if keys else b"\xf6")
        ).digest()
        found.append(before)
    return found


def vllm_event_hash(block_hash: bytes) -> int:
    """The number that vLLM's events carry with VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES."""
    return int.from_bytes(_bytes(block_hash), "big") & _64_BITS


def sglang_page_hashes(token_ids: Ids, page_size: int, *, parent: str = "") -> list[str]:
    """The page hashes of SGLang's hierarchical cache: SHA-256, in hexadecimal digits."""
    before = _digits(parent)
    found = []
    for page in _blocks(token_ids, page_size):
        before = sha256(before + page).digest()
        found.append(before.hex())
    return found


def sglang_event_hash(page_hash: str) -> int:
    """The signed number of 64 bits that SGLang's events carry."""
    return int.from_bytes(_digits(page_hash)[:8], "big", signed=True)


def _blocks(token_ids: Ids, block_size: int) -> Iterator[bytes]:
    """Whole blocks, as little-endian u32."""
    if not isinstance(block_size, int) or isinstance(block_size, bool) or block_size < 1:
        raise InvalidArgument(f"a block has 1 or more ids, not {block_size!r:.40}")
    data = as_bytes(token_ids)
    size = 4 * block_size
    return (data[at : at + size] for at in range(0, len(data) - size + 1, size))


def _word(number: int) -> bytes:
    try:
        return number.to_bytes(8, "little")
    except (AttributeError, OverflowError):
        raise InvalidArgument(f"a hash is a number of 64 bits, not {number!r:.40}") from None


def _bytes(found: bytes) -> bytes:
    if not isinstance(found, bytes):
        raise InvalidArgument(f"a hash of vLLM is bytes, not {found!r:.80}")
    return found


def _digits(found: str) -> bytes:
    try:
        return bytes.fromhex(found)
    except (TypeError, ValueError):
        raise InvalidArgument(f"a hash of SGLang has hexadecimal digits: {found!r:.80}") from None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InvalidArgument(f"not a text that has UTF-8: {text!a:.60}") from None


def _cbor_head(major: int, number: int) -> bytes:
    """RFC 8949: the shortest form, which is the canonical one."""
    for size, mark in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if size == 1 and number < mark:
            return bytes((major << 5 | number,))
        if number < 1 << 8 * size:
            return bytes((major << 5 | mark,)) + number.to_bytes(size, "big")
    raise InvalidArgument(f"{number} does not fit into 64 bits")


def _cbor_text(text: str) -> bytes:
    data = _utf8(text)
    return _cbor_head(3, len(data)) + data


def _cbor_numbers(block: bytes) -> bytes:
    return b"".join([_cbor_head(0, number) for number in memoryview(block).cast("I")])


def _xxhash() -> Any:
    try:
        import xxhash
    except ImportError as error:
        raise BackendUnavailable(
            f"the package xxhash cannot be imported: {error}",
            hint="Run: pip install 'pywasmtok[hashes]'",
        ) from error
    return xxhash
