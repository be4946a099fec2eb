"""Texts to ids and back: encode, decode, count, fits, truncate."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, get_args

from ..errors import BadRequest
from ..requests import body
from .answers import (
    ids_of,
    json_bytes,
    json_response,
    octets_response,
    wants_octets,
)
from .operation import OCTETS, Operation, Parameter
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

    from starlette.requests import Request
    from starlette.responses import Response

    from ...tokenizer.encoding import Encoding
    from ..contract import Served, ServiceLike

__all__ = [
    "SHORT",
    "are_ids",
    "count_of",
    "decode_octets",
    "decode_one",
    "encode_one",
    "names",
    "operations",
    "served_by",
    "size",
    "size_of_ids",
]

SHORT: Final = 4096
"""Bytes: a text of at most this size takes tens of microseconds."""

_ID_BYTES: Final = 4

_PIECE: Final = 64 << 10
"""Characters."""


def served_by(request: Request, service: ServiceLike) -> Served:
    """The tokenizer of the path, for the request's caller."""
    served = service.find(request.state.caller, request.path_params["name"])
    return served


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


async def cost_of(texts: Iterable[str | None]) -> int:
    """The same, off the event loop where it takes long: there each character is looked at."""
    there = [text for text in texts if text is not None]
    if sum(len(text) for text in there if not text.isascii()) <= _PIECE:
        return size(there)
    return await body.apart(partial(size, there))


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


async def encode(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Encode)
    served = served_by(request, service)
    as_octets = wants_octets(request)
    if as_octets and (asked.tokens or asked.offsets or asked.masks):
        raise BadRequest("bytes have no place for tokens, offsets and masks", path="$")
    if one_of(asked, "text", "texts", "segments") == "texts":
        cost = await cost_of(asked.texts or ())
        answer, short = _encode_batch(asked, served, as_octets), cost <= SHORT
    else:
        parts = [part.text for part in asked.segments or ()]
        cost = await cost_of((asked.text, asked.pair, *parts))
        answer, short = encode_one(asked, served, as_octets), cost <= SHORT
    found = await service.run(served, cost, answer, inline=short, operation="encode")
    return (
        octets_response(found, served.digest) if as_octets else json_response(found, served.digest)
    )


def encode_one(asked: Encode, served: Served, as_octets: bool) -> Any:
    if asked.segments is not None and (asked.pair is not None or asked.special != "all"):
        raise BadRequest("segments have neither a pair nor a policy for special tokens", path="$")
    if asked.segments is None and asked.control != "special":
        raise BadRequest("only segments have a control", path="$.control")

    def call() -> bytes:
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

    return call


def _encode_batch(asked: Encode, served: Served, as_octets: bool) -> Any:
    if asked.pair is not None:
        raise BadRequest("only a single text has a pair", path="$.pair")
    if asked.control != "special":
        raise BadRequest("only segments have a control", path="$.control")
    texts = asked.texts or []

    def call() -> bytes:
        found = served.tokenizer.encode_batch(
            texts, asked.add_special_tokens, special=names(asked.special)
        )
        bounds = found.bounds.tolist()
        counts = [end - start for start, end in pairwise(bounds)]
        served.tokens = bounds[-1]
        if as_octets:
            return array("I", [len(counts), *counts]).tobytes() + found.buffer.tobytes()
        flat = found.buffer
        ids = [ids_of(flat[start:end]) for start, end in pairwise(bounds)]
        details = [_details(asked, item) for item in found] if _wants_details(asked) else []
        fields = {name: [one[name] for one in details] for name in (details[0] if details else ())}
        return json_bytes(EncodedBatch(ids=ids, counts=counts, tokenizer=served.digest, **fields))

    return call


def _wants_details(asked: Encode) -> bool:
    return asked.tokens or asked.masks or asked.offsets is not None


def _details(asked: Encode, found: Encoding) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if asked.tokens:
        fields["tokens"] = found.tokens
    if asked.offsets is not None:
        fields["offsets"] = found.byte_offsets if asked.offsets == "bytes" else found.offsets
    if asked.masks:
        fields["type_ids"] = found.type_ids
        fields["special_tokens_mask"] = found.special_tokens_mask
        fields["attention_mask"] = found.attention_mask
    return fields


async def decode(request: Request, service: ServiceLike) -> Response:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == OCTETS:
        return await _decode_octets(request, service)
    asked = await body.read_json(request, Decode)
    served = served_by(request, service)
    single = one_of(asked, "ids", "batch") == "ids"
    count = len(asked.ids or ()) if single else sum(map(len, asked.batch or ()))

    def call_for_batch() -> bytes:
        tok, how, served.tokens = served.tokenizer, asked.unknown_id, count
        lists: list[Any] = list(asked.batch or ())
        texts = tok.decode_batch(lists, asked.skip_special_tokens, unknown_id=how)
        return json_bytes(DecodedBatch(texts=texts, tokenizer=served.digest))

    call = decode_one(asked, served) if single else call_for_batch
    cost = size_of_ids(count)
    return json_response(
        await service.run(served, cost, call, inline=cost <= SHORT, operation="decode"),
        served.digest,
    )


def decode_one(asked: Decode, served: Served) -> Callable[[], bytes]:
    def call() -> bytes:
        ids: list[int] = asked.ids or []
        served.tokens = len(ids)
        text = served.tokenizer.decode(ids, asked.skip_special_tokens, unknown_id=asked.unknown_id)
        return json_bytes(Decoded(text=text, tokenizer=served.digest))

    return call


async def _decode_octets(request: Request, service: ServiceLike) -> Response:
    query = request.query_params
    skip = _flag(query.get("skip_special_tokens", "true"), "skip_special_tokens")
    unknown = query.get("unknown_id")
    if unknown is not None and unknown not in get_args(Unknown):
        raise BadRequest(f"unknown_id={unknown!a:.40} is none of {', '.join(get_args(Unknown))}")
    data = await body.read(request, service.config.bounds.body_bytes)
    if not are_ids(data):
        raise BadRequest(
            f"{len(data)} bytes are no ids: each has {_ID_BYTES}", offset=len(data) & -_ID_BYTES
        )
    served = served_by(request, service)
    call, cost = decode_octets(data, served, skip, unknown), len(data)
    return json_response(
        await service.run(served, cost, call, inline=cost <= SHORT, operation="decode"),
        served.digest,
    )


def are_ids(data: bytes) -> bool:
    """Whole ones."""
    return not len(data) % _ID_BYTES


def decode_octets(
    data: bytes, served: Served, skip: bool = True, unknown: Any = None
) -> Callable[[], bytes]:
    def call() -> bytes:
        ids = memoryview(data).cast("I")
        served.tokens = len(ids)
        text = served.tokenizer.decode(ids, skip, unknown_id=unknown)
        return json_bytes(Decoded(text=text, tokenizer=served.digest))

    return call


def _flag(said: str, name: str) -> bool:
    if said not in ("true", "false"):
        raise BadRequest(f"{name}={said!a:.40} is neither true nor false")
    return said == "true"


async def count(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Count)
    served = served_by(request, service)
    single = one_of(asked, "text", "texts") == "text"
    cost = await cost_of((asked.text,) if single else asked.texts or ())
    return json_response(
        await service.run(
            served, cost, count_of(asked, served), inline=cost <= SHORT, operation="count"
        ),
        served.digest,
    )


def count_of(asked: Count, served: Served) -> Callable[[], bytes]:
    single = asked.text is not None
    texts = [asked.text or ""] if single else asked.texts or []

    def call() -> bytes:
        counts = served.tokenizer.count_batch(
            texts, asked.add_special_tokens, special=names(asked.special)
        )
        served.tokens = sum(counts)
        if single:
            return json_bytes(Counted(count=counts[0], tokenizer=served.digest))
        return json_bytes(CountedBatch(counts=counts, tokenizer=served.digest))

    return call


async def fits(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Fits)
    served = served_by(request, service)
    cost = await cost_of((asked.text,))

    def call() -> bytes:
        fitting = served.tokenizer.fits(
            asked.text, asked.n, asked.add_special_tokens, special=names(asked.special)
        )
        return json_bytes(Fitting(fits=fitting, tokenizer=served.digest))

    return json_response(
        await service.run(served, cost, call, inline=cost <= SHORT, operation="fits"), served.digest
    )


async def truncate(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Truncate)
    served = served_by(request, service)
    cost = await cost_of((asked.text,))

    def call() -> bytes:
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

    return json_response(
        await service.run(served, cost, call, inline=cost <= SHORT, operation="truncate"),
        served.digest,
    )


_NAMED = "/tokenizers/{name}"

operations: Final = (
    Operation(
        "POST",
        f"{_NAMED}/encode",
        "encode",
        "The ids of a text, of a pair, of many texts, or of parts that are trusted or not",
        encode,
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
        decode,
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
        count,
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
        fits,
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
        truncate,
        takes=Truncate,
        gives=Truncated,
        example={"text": "Hello world, and all", "n": 2},
        refuses=(404, 413, 429, 503, 504),
    ),
)
