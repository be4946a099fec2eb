"""Reads short texts and ids of the API in one step. None: the handlers read the request again, and
report errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ..requests.straight import Form, Short, strings_of
from . import texts
from .operation import OCTETS
from .shapes import Count, Decode, Encode, Id

if TYPE_CHECKING:
    from ..contract import Caller, ServiceLike
    from ..requests.straight import NamedWay

__all__ = ["ways"]


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    add_special_tokens: bool | msgspec.UnsetType = msgspec.UNSET


class _Ids(msgspec.Struct, forbid_unknown_fields=True):
    ids: list[Id]
    skip_special_tokens: bool | msgspec.UnsetType = msgspec.UNSET


_OCTETS: Final = OCTETS.encode("ascii")

_read_text: Final = msgspec.json.Decoder(_Text).decode
_read_ids: Final = msgspec.json.Decoder(_Ids).decode


def ways(service: ServiceLike) -> dict[tuple[str, Form], NamedWay]:
    """By the last word of the path below a tokenizer, and the forms of request and answer."""

    def encode_as(body: bytes, caller: Caller, name: str, as_octets: bool) -> Short | None:
        asked = _read_text(body)
        special = asked.add_special_tokens
        # The keys, each there once, and the text.
        if strings_of(body) != (2 if special is msgspec.UNSET else 3):
            return None
        served = service.find(caller, name)
        call = texts.encode_one(
            Encode(text=asked.text, add_special_tokens=special is not False), served, as_octets
        )
        cost = texts.size((asked.text,))
        short = Short("encode", "own", "encode", served, cost, cost <= texts.SHORT, call, True)
        return short._replace(media=_OCTETS) if as_octets else short

    def encode(body: bytes, caller: Caller, name: str) -> Short | None:
        return encode_as(body, caller, name, False)

    def encode_to_octets(body: bytes, caller: Caller, name: str) -> Short | None:
        return encode_as(body, caller, name, True)

    def decode(body: bytes, caller: Caller, name: str) -> Short | None:
        asked = _read_ids(body)
        skip = asked.skip_special_tokens
        if strings_of(body) != (1 if skip is msgspec.UNSET else 2):
            return None
        served = service.find(caller, name)
        call = texts.decode_one(
            Decode(ids=asked.ids, skip_special_tokens=skip is not False), served
        )
        cost = texts.size_of_ids(len(asked.ids))
        return Short("decode", "own", "decode", served, cost, cost <= texts.SHORT, call, True)

    def count(body: bytes, caller: Caller, name: str) -> Short | None:
        asked = _read_text(body)
        special = asked.add_special_tokens
        if strings_of(body) != (2 if special is msgspec.UNSET else 3):
            return None
        served = service.find(caller, name)
        call = texts.count_of(
            Count(text=asked.text, add_special_tokens=special is not False), served
        )
        cost = texts.size((asked.text,))
        return Short("count", "own", "count", served, cost, cost <= texts.SHORT, call, True)

    def decode_octets(body: bytes, caller: Caller, name: str) -> Short | None:
        if not texts.are_ids(body):
            return None
        served = service.find(caller, name)
        call = texts.decode_octets(body, served)
        cost = len(body)
        return Short("decode", "own", "decode", served, cost, cost <= texts.SHORT, call, True)

    json = Form()
    return {
        ("encode", json): encode,
        ("encode", Form(gives_octets=True)): encode_to_octets,
        ("decode", json): decode,
        ("decode", Form(takes_octets=True)): decode_octets,
        ("count", json): count,
    }
