"""`/detokenize`: one request that three servers understand, and answer by another key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...errors import InvalidToken
from ...tokenizer.ids import MAX_ID
from ..errors import BadRequest
from .pieces import piece_bytes
from .requests import Detokenize, Sent, received
from .serving import json_bytes, respond, served_by

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...tokenizer.tokenizer import Tokenizer
    from ..contract import Served

__all__ = ["detokenize", "detokenize_v1", "of_all", "of_sglang"]

_LARGEST: Final = 2**63 - 1


async def detokenize(request: Request) -> Response:
    sent = await received(request)
    sent.one_of("tokens")
    if sent.has("skip_special_tokens") or _is_of_lists(sent):
        return await _sglang(request, sent)
    request.state.exchange.dialect = "vllm"
    asked = sent.read_as(Detokenize)
    ids = _checked(asked.tokens)
    served = served_by(request, asked.model)

    def call() -> bytes:
        return of_all(served, ids)

    return await respond(request, served, call, "decode")


def of_all(served: Served, ids: list[int]) -> bytes:
    """The request does not tell which server's client it is: each client reads its own key."""
    tok = served.tokenizer
    served.tokens = len(ids)
    return json_bytes(
        {
            "prompt": tok.decode(ids, skip_special_tokens=False),
            "text": tok.decode(ids, skip_special_tokens=True),
            "content": _content(tok, ids),
        }
    )


async def detokenize_v1(request: Request) -> Response:
    request.state.exchange.dialect = "sglang"
    sent = await received(request)
    sent.one_of("tokens")
    return await _sglang(request, sent)


async def _sglang(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "sglang"
    asked = sent.read_as(Detokenize)
    skip = asked.skip_special_tokens is not False
    served = served_by(request, asked.model)
    lists: list[list[int]] = []
    ids: list[int] = []
    if asked.tokens and isinstance(asked.tokens[0], list):
        lists = [_checked(some, place) for place, some in enumerate(asked.tokens)]
    else:
        ids = _checked(asked.tokens)

    def call() -> bytes:
        if not lists:
            return of_sglang(served, ids, skip)
        tok = served.tokenizer
        served.tokens = sum(len(some) for some in lists)
        return json_bytes({"text": tok.decode_batch(lists, skip_special_tokens=skip)})

    return await respond(request, served, call, "decode")


def of_sglang(served: Served, ids: list[int], skip: bool) -> bytes:
    served.tokens = len(ids)
    return json_bytes({"text": served.tokenizer.decode(ids, skip_special_tokens=skip)})


def _is_of_lists(sent: Sent) -> bool:
    return sent.starts("tokens", b"[") and sent.inside("tokens", b"[")


def _checked(tokens: int | Sequence[int | list[int]], item: int | None = None) -> list[int]:
    path = "$.tokens" if item is None else f"$.tokens[{item}]"
    ids: list[int] = []
    for place, number in enumerate([[]] if isinstance(tokens, int) else tokens):
        if not isinstance(number, int):
            raise BadRequest("ids and lists of ids cannot be mixed", path=path)
        if not 0 <= number <= _LARGEST:
            raise BadRequest("an id is from 0 to 2^63 - 1", path=f"{path}[{place}]")
        if number > MAX_ID:
            raise InvalidToken(f"no tokenizer has an id above {MAX_ID}", path=f"{path}[{place}]")
        ids.append(number)
    return ids


def _content(tok: Tokenizer, ids: list[int]) -> str:
    """llama.cpp puts the pieces of all tokens together, special ones and the first space too."""
    pieces = {number: piece_bytes(tok, number) for number in set(ids)}
    return b"".join(pieces[number] for number in ids).decode(errors="replace")
