"""`/detokenize`: one request that three servers understand, and answer by another key."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidToken
from ...tokenizer.ids import MAX_ID
from ..api.answers import json_bytes
from ..errors import BadRequest
from .pieces import piece_bytes
from .requests import Detokenize, Form, Sent

if TYPE_CHECKING:
    from ...tokenizer.tokenizer import Tokenizer
    from ..contract import Served
    from ..requests.endpoint import Asked, Begun
    from ..requests.record import Exchange

__all__ = ["read_detokenize", "read_detokenize_v1"]

_LARGEST: Final = 2**63 - 1


def of_all(asked: Detokenize, served: Served) -> bytes:
    """The request does not tell which server's client it is: each client reads its own key."""
    tok, ids = served.tokenizer, _flat(asked)
    served.tokens = len(ids)
    return json_bytes(
        {
            "prompt": tok.decode(ids, skip_special_tokens=False),
            "text": tok.decode(ids, skip_special_tokens=True),
            "content": _content(tok, ids),
        }
    )


def sglang(asked: Detokenize, served: Served) -> bytes:
    tok, skip = served.tokenizer, asked.skip_special_tokens is not False
    if not _is_of_lists(asked):
        ids = _flat(asked)
        served.tokens = len(ids)
        return json_bytes({"text": tok.decode(ids, skip_special_tokens=skip)})
    lists: Any = asked.tokens
    served.tokens = sum(map(len, lists))
    return json_bytes({"text": tok.decode_batch(lists, skip_special_tokens=skip)})


_ALL: Final = Form("vllm", Detokenize, of_all, "decode")
_SGLANG: Final = Form("sglang", Detokenize, sglang, "decode")


def read_detokenize(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    return _read(data, begun, exchange, _ALL)


def read_detokenize_v1(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    return _read(data, begun, exchange, _SGLANG)


def _read(data: bytes, begun: Begun, exchange: Exchange, form: Form) -> Asked:
    sent = Sent(data, begun, exchange)
    sent.one_of(("tokens",))
    if sent.has("skip_special_tokens") or (
        sent.starts("tokens", b"[") and sent.inside("tokens", b"[")
    ):
        form = _SGLANG
    found = sent.read_as(form)
    asked: Detokenize = found.request
    if not _is_of_lists(asked):
        _check(asked.tokens)
    else:
        for place, some in enumerate(asked.tokens):
            _check(some, place)
    return found


def _is_of_lists(asked: Detokenize) -> bool:
    return bool(asked.tokens) and isinstance(asked.tokens[0], list)


def _flat(asked: Detokenize) -> list[int]:
    ids: Any = asked.tokens
    return ids  # type: ignore[no-any-return]


def _check(tokens: int | Sequence[int | list[int]], item: int | None = None) -> None:
    numbers: Any = [[]] if isinstance(tokens, int) else tokens
    # TypeError: a list is among them.
    with suppress(TypeError):
        if not numbers or (min(numbers) >= 0 and max(numbers) <= MAX_ID):
            return
    path = "$.tokens" if item is None else f"$.tokens[{item}]"
    for place, number in enumerate(numbers):
        if not isinstance(number, int):
            raise BadRequest("ids and lists of ids cannot be mixed", path=path)
        if not 0 <= number <= _LARGEST:
            raise BadRequest("an id is from 0 to 2^63 - 1", path=f"{path}[{place}]")
        if number > MAX_ID:
            raise InvalidToken(f"no tokenizer has an id above {MAX_ID}", path=f"{path}[{place}]")


def _content(tok: Tokenizer, ids: list[int]) -> str:
    """llama.cpp puts the pieces of all tokens together, special ones and the first space too."""
    pieces = {number: piece_bytes(tok, number) for number in set(ids)}
    return b"".join(pieces[number] for number in ids).decode(errors="replace")
