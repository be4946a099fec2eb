"""Short texts and ids of the API, read in one step. None: the handlers read the request again from
the start, and say what is wrong with it, if anything is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ..straight import Short, strings_of
from . import texts
from .shapes import Count, Decode, Encode, Id

if TYPE_CHECKING:
    from ..contract import Caller, ServiceLike
    from ..straight import NamedWay

__all__ = ["ways"]


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    add_special_tokens: bool | msgspec.UnsetType = msgspec.UNSET


class _Ids(msgspec.Struct, forbid_unknown_fields=True):
    ids: list[Id]
    skip_special_tokens: bool | msgspec.UnsetType = msgspec.UNSET


_read_text: Final = msgspec.json.Decoder(_Text).decode
_read_ids: Final = msgspec.json.Decoder(_Ids).decode


def ways(service: ServiceLike) -> dict[str, NamedWay]:
    """By the last word of the path below a tokenizer."""

    def encode(body: bytes, caller: Caller, name: str) -> Short | None:
        asked = _read_text(body)
        special = asked.add_special_tokens
        # The keys, each there once, and the text.
        if strings_of(body) != (2 if special is msgspec.UNSET else 3):
            return None
        served = service.find(caller, name)
        call = texts.encode_one(
            Encode(text=asked.text, add_special_tokens=special is not False), served, False
        )
        cost = texts.size((asked.text,))
        return Short("encode", "own", "encode", served, cost, cost <= texts.SHORT, call, True)

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

    return {"encode": encode, "decode": decode, "count": count}
