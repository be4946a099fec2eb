"""Texts to ids and back: encode, decode, count, fits, truncate."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, get_args

from starlette.datastructures import QueryParams

from ..errors import BadRequest
from ..requests.endpoint import Asked, Endpoint
from .answers import ids_of, in_parts, json_bytes
from .operation import Operation, Parameter
from .shapes import (
    Count,
    Counted,
    CountedBatch,
    Decode,
    Decoded,
    DecodedBatch,
    Encode,
    Encoded,
    EncodedBatch,
    Fits,
    Fitting,
    Truncate,
    Truncated,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Set

    from ...tokenizer.encoding import Encoding
    from ..contract import Caller, Served
    from ..requests.endpoint import Begun, Reader
    from ..requests.record import Exchange
    from ..service import Service

__all__ = ["endpoint", "names", "operations"]

INLINE_BYTES: Final = 4096
"""Bytes: a text of at most this size takes tens of microseconds."""

_ID_BYTES: Final = 4

_PIECE: Final = 64 << 10
"""Characters."""

_MASKS: Final = ("type_ids", "special_tokens_mask", "attention_mask")


def size(texts: Iterable[str | None]) -> int:
    """UTF-8 bytes."""
    return sum(
        len(text) if text.isascii() else _encoded(text) for text in texts if text is not None
    )


def _encoded(text: str) -> int:
    if len(text) <= _PIECE:
        return len(text.encode())
    # Between pieces, other threads can run.
    starts = range(0, len(text), _PIECE)
    return sum(len(text[start : start + _PIECE].encode()) for start in starts)


def size_of_ids(count: int) -> int:
    return count * _ID_BYTES


def names(said: str | list[str]) -> str | Set[str]:
    """The names of tokens; a text stands for itself, as in the library."""
    return said if isinstance(said, str) else frozenset(said)


def one_of(asked: Any, *fields: str) -> str:
    """The one of these that is there."""
    there = [name for name in fields if getattr(asked, name) is not None]
    if len(there) != 1:
        found = "none of them" if not there else " and ".join(there)
        raise BadRequest(f"one of {', '.join(fields)} is wanted, and there is {found}", path="$")
    return there[0]


def read_encode(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    asked = begun.json(data, Encode)
    as_octets = begun.head.wants_octets
    if as_octets and (asked.tokens or asked.offsets or asked.masks):
        raise BadRequest("bytes have no place for tokens, offsets and masks", path="$")
    kind = one_of(asked, "text", "texts", "segments")
    if kind != "segments" and asked.control != "special":
        raise BadRequest("only segments have a control", path="$.control")
    if kind == "texts":
        if asked.pair is not None:
            raise BadRequest("only a single text has a pair", path="$.pair")
        cost, answer = size(asked.texts or ()), encode_batch
    else:
        if kind == "segments" and (asked.pair is not None or asked.special != "all"):
            raise BadRequest(
                "segments have neither a pair nor a policy for special tokens", path="$"
            )
        parts = [part.text for part in asked.segments or ()]
        cost, answer = size((asked.text, asked.pair, *parts)), encode_one
    call = partial(answer, as_octets=as_octets)
    return Asked("encode", cost, asked, call, gives_octets=as_octets)


def encode_one(asked: Encode, served: Served, as_octets: bool) -> bytes:
    tok, special = served.tokenizer, asked.add_special_tokens
    if asked.segments is None:
        assert asked.text is not None
        found = tok.encode(asked.text, asked.pair, special, special=names(asked.special))
    else:
        parts = [(part.text, part.trusted) for part in asked.segments]
        found = tok.encode_segments(parts, special, control=names(asked.control))
    served.tokens = len(found)
    if as_octets:
        return found.buffer.tobytes()
    return json_bytes(
        Encoded(
            ids=ids_of(found.buffer),
            count=len(found),
            tokenizer=served.digest,
            **_details(asked, found),
        )
    )


def encode_batch(asked: Encode, served: Served, as_octets: bool) -> bytes:
    found = served.tokenizer.encode_batch(
        asked.texts or [], asked.add_special_tokens, special=names(asked.special)
    )
    bounds = found.bounds.tolist()
    counts = [end - start for start, end in pairwise(bounds)]
    served.tokens = bounds[-1]
    if as_octets:
        return array("I", [len(counts), *counts]).tobytes() + found.buffer.tobytes()
    flat = found.buffer
    ids = [ids_of(flat[start:end]) for start, end in pairwise(bounds)]
    wanted = _wanted(asked)
    details = [_details(asked, item) for item in found] if wanted else []
    fields = {name: [one[name] for one in details] for name in wanted}
    return json_bytes(EncodedBatch(ids=ids, counts=counts, tokenizer=served.digest, **fields))


def _wanted(asked: Encode) -> dict[str, str]:
    """The fields that are asked for beside ids, and the attributes of an encoding with them."""
    wanted: dict[str, str] = {}
    if asked.tokens:
        wanted["tokens"] = "tokens"
    if asked.offsets is not None:
        wanted["offsets"] = "byte_offsets" if asked.offsets == "bytes" else "offsets"
    if asked.masks:
        wanted.update((name, name) for name in _MASKS)
    return wanted


def _details(asked: Encode, found: Encoding) -> dict[str, Any]:
    # A list is written before the next one is made, so that the deadline ends either.
    return {name: _in_parts(getattr(found, source)) for name, source in _wanted(asked).items()}


def _in_parts(items: list[Any]) -> Any:
    return in_parts(len(items), lambda start, end: items[start:end])


def read_decode(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    if begun.is_octets:
        return _read_octets(data, begun)
    asked = begun.json(data, Decode)
    if one_of(asked, "ids", "batch") == "ids":
        return Asked("decode", size_of_ids(len(asked.ids or ())), asked, decode_one)
    cost = size_of_ids(sum(map(len, asked.batch or ())))
    return Asked("decode", cost, asked, decode_batch)


def _read_octets(data: bytes, begun: Begun) -> Asked:
    query = QueryParams(begun.query)
    skip = _flag(query.get("skip_special_tokens", "true"), "skip_special_tokens")
    unknown: Any = query.get("unknown_id")
    if unknown is not None and unknown not in get_args(Unknown):
        raise BadRequest(f"unknown_id={unknown!a:.40} is none of {', '.join(get_args(Unknown))}")
    if len(data) % _ID_BYTES:
        raise BadRequest(
            f"{len(data)} bytes are no ids: each has {_ID_BYTES}", offset=len(data) & -_ID_BYTES
        )
    ids: Any = memoryview(data).cast("I")
    asked = Decode(ids=ids, skip_special_tokens=skip, unknown_id=unknown)
    return Asked("decode", len(data), asked, decode_one)


def decode_one(asked: Decode, served: Served) -> bytes:
    ids: list[int] = asked.ids or []
    served.tokens = len(ids)
    text = served.tokenizer.decode(ids, asked.skip_special_tokens, unknown_id=asked.unknown_id)
    return json_bytes(Decoded(text=text, tokenizer=served.digest))


def decode_batch(asked: Decode, served: Served) -> bytes:
    lists: list[Any] = asked.batch or []
    served.tokens = sum(map(len, lists))
    texts = served.tokenizer.decode_batch(
        lists, asked.skip_special_tokens, unknown_id=asked.unknown_id
    )
    return json_bytes(DecodedBatch(texts=texts, tokenizer=served.digest))


def _flag(said: str, name: str) -> bool:
    if said not in ("true", "false"):
        raise BadRequest(f"{name}={said!a:.40} is neither true nor false")
    return said == "true"


def read_count(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    asked = begun.json(data, Count)
    one_of(asked, "text", "texts")
    return Asked("count", size((asked.text, *(asked.texts or ()))), asked, count)


def count(asked: Count, served: Served) -> bytes:
    texts = [asked.text] if asked.text is not None else asked.texts or []
    counts = served.tokenizer.count_batch(
        texts, asked.add_special_tokens, special=names(asked.special)
    )
    served.tokens = sum(counts)
    if asked.text is not None:
        return json_bytes(Counted(count=counts[0], tokenizer=served.digest))
    return json_bytes(CountedBatch(counts=counts, tokenizer=served.digest))


def read_fits(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    asked = begun.json(data, Fits)
    return Asked("fits", size((asked.text,)), asked, fits)


def fits(asked: Fits, served: Served) -> bytes:
    fitting = served.tokenizer.fits(
        asked.text, asked.n, asked.add_special_tokens, special=names(asked.special)
    )
    return json_bytes(Fitting(fits=fitting, tokenizer=served.digest))


def read_truncate(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    asked = begun.json(data, Truncate)
    return Asked("truncate", size((asked.text,)), asked, truncate)


def truncate(asked: Truncate, served: Served) -> bytes:
    found = served.tokenizer.truncate(
        asked.text, asked.n, asked.side, asked.add_special_tokens, special=names(asked.special)
    )
    served.tokens = found.count
    return json_bytes(
        Truncated(
            text=found.text,
            ids=ids_of(found.encoding.buffer),
            count=found.count,
            truncated=found.truncated,
            exact=found.exact,
            tokenizer=served.digest,
        )
    )


def endpoint(read: Reader, inline_cost: int = INLINE_BYTES, takes_octets: bool = False) -> Endpoint:
    """Of the tokenizer whose name is in the path."""
    return Endpoint(
        read,
        find,
        dialect="own",
        inline_cost=inline_cost,
        takes_octets=takes_octets,
        says_tokenizer=True,
    )


def find(service: Service, caller: Caller, name: str | None) -> Served:
    return service.find(caller, name)


_NAMED = "/tokenizers/{name}"

operations: Final = (
    Operation(
        "POST",
        f"{_NAMED}/encode",
        "encode",
        "The ids of a text, of a pair, of many texts, or of parts that are trusted or not",
        endpoint(read_encode),
        takes=Encode,
        gives=Encoded | EncodedBatch,
        gives_octets="The ids as u32, little-endian; for `texts` first their number and the number "
        "of ids of each",
        example={"text": "Hello world", "tokens": True},
        refuses=(404, 413, 429, 503, 504),
    ),
    Operation(
        "POST",
        f"{_NAMED}/decode",
        "decode",
        "The text of ids, or of many lists of ids",
        endpoint(read_decode, takes_octets=True),
        takes=Decode,
        takes_octets="The ids as u32, little-endian",
        gives=Decoded | DecodedBatch,
        example={"ids": [1, 2, 3]},
        parameters=(
            Parameter("skip_special_tokens", bool, "With a body of bytes; `true` if not given"),
            Parameter("unknown_id", Unknown, "With a body of bytes"),
        ),
        refuses=(404, 413, 429, 503, 504),
    ),
    Operation(
        "POST",
        f"{_NAMED}/count",
        "count",
        "How many ids a text has, or each of many",
        endpoint(read_count),
        takes=Count,
        gives=Counted | CountedBatch,
        example={"text": "Hello world"},
        refuses=(404, 413, 429, 503, 504),
    ),
    Operation(
        "POST",
        f"{_NAMED}/fits",
        "fits",
        "Whether a text has at most so many ids; the cost grows with the number, not with the text",
        endpoint(read_fits),
        takes=Fits,
        gives=Fitting,
        example={"text": "Hello world", "n": 8},
        refuses=(404, 413, 429, 503, 504),
    ),
    Operation(
        "POST",
        f"{_NAMED}/truncate",
        "truncate",
        "The longest beginning (or end) of a text that has at most so many ids",
        endpoint(read_truncate),
        takes=Truncate,
        gives=Truncated,
        example={"text": "Hello world, and all", "n": 2},
        refuses=(404, 413, 429, 503, 504),
    ),
)
