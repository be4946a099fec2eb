"""`/tokenize` of four servers on one path, and `/v1/tokenize` of SGLang."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...errors import Unsupported
from ..api.answers import ids_of
from .pieces import pieces_of
from .requests import LlamaTokenize, Sent, TgiTokenize, Tokenize, TokenizeChat, received
from .serving import json_bytes, respond, served_by, text_of_chat

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...tokenizer.tokenizer import Tokenizer
    from ..contract import Served

__all__ = [
    "llamacpp",
    "max_model_len",
    "sglang_one",
    "spans",
    "tgi",
    "tokenize",
    "tokenize_v1",
    "vllm",
]

NO_LIMIT: Final = 2**31 - 1
"""Where the files of a model do not say how long its inputs may be."""


class Tokens(msgspec.Struct):
    """vLLM; SGLang's answer is the same without `token_strs`."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str | None] | None = None


class TokensOfMany(msgspec.Struct):
    tokens: list[list[int]]
    count: list[int]
    max_model_len: int


class TokensV1(msgspec.Struct):
    tokens: list[int]
    count: int
    max_model_len: int


class Span(msgspec.Struct):
    id: int
    text: str
    start: int
    stop: int


async def tokenize(request: Request) -> Response:
    sent = await received(request)
    match sent.one_of("prompt", "messages", "content", "inputs"):
        case "prompt" if sent.starts("prompt", b"["):
            return await _sglang(request, sent)
        case "prompt":
            return await _vllm(request, sent)
        case "messages":
            return await _vllm_chat(request, sent)
        case "content":
            return await _llamacpp(request, sent)
        case _:
            return await _tgi(request, sent)


async def tokenize_v1(request: Request) -> Response:
    request.state.exchange.dialect = "sglang"
    sent = await received(request)
    return await _sglang(request, sent)


async def _vllm(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "vllm"
    asked = sent.read_as(Tokenize)
    served = served_by(request, asked.model)

    def call() -> bytes:
        special = True if asked.add_special_tokens is None else asked.add_special_tokens
        return vllm(served, str(asked.prompt), special, asked.return_token_strs)

    return await respond(request, served, call)


async def _vllm_chat(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "vllm"
    asked = sent.read_as(TokenizeChat)
    served = served_by(request, asked.model)

    def call() -> bytes:
        text = text_of_chat(
            served,
            asked.messages,
            tools=asked.tools,
            chat_template=asked.chat_template,
            arguments=asked.chat_template_kwargs,
            add_generation_prompt=asked.add_generation_prompt is not False,
            continue_final_message=bool(asked.continue_final_message),
        )
        special = bool(asked.add_special_tokens)
        return vllm(served, text, special, asked.return_token_strs)

    return await respond(request, served, call)


def vllm(served: Served, text: str, special: bool, strings: bool | None) -> bytes:
    tok = served.tokenizer
    found = tok.encode(text, add_special_tokens=special)
    served.tokens = len(found)
    names = [tok.id_to_token(number) for number in found] if strings else None
    return json_bytes(Tokens(len(found), max_model_len(tok), ids_of(found.buffer), names))


async def _sglang(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "sglang"
    asked = sent.read_as(Tokenize)
    served = served_by(request, asked.model)
    special = True if asked.add_special_tokens is None else asked.add_special_tokens

    def call() -> bytes:
        if isinstance(asked.prompt, str):
            return sglang_one(served, asked.prompt, special)
        tok = served.tokenizer
        most = max_model_len(tok)
        many = [each.buffer for each in tok.encode_batch(asked.prompt, add_special_tokens=special)]
        counts = [len(ids) for ids in many]
        served.tokens = sum(counts)
        return json_bytes(TokensOfMany([ids_of(ids) for ids in many], counts, most))

    return await respond(request, served, call)


def sglang_one(served: Served, text: str, special: bool) -> bytes:
    tok = served.tokenizer
    one = tok.encode(text, add_special_tokens=special)
    served.tokens = len(one)
    return json_bytes(TokensV1(ids_of(one.buffer), len(one), max_model_len(tok)))


async def _llamacpp(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "llamacpp"
    asked = sent.read_as(LlamaTokenize)
    served = served_by(request, asked.model)

    def call() -> bytes:
        return llamacpp(
            served,
            asked.content,
            bool(asked.add_special),
            asked.parse_special is not False,
            bool(asked.with_pieces),
        )

    return await respond(request, served, call)


def llamacpp(served: Served, text: str, special: bool, parse: bool, pieces: bool) -> bytes:
    tok = served.tokenizer
    found = tok.encode(text, add_special_tokens=special, special="all" if parse else "none")
    served.tokens = len(found)
    if not pieces:
        return json_bytes({"tokens": ids_of(found.buffer)})
    ids = found.ids
    named = pieces_of(tok, ids)
    return json_bytes({"tokens": [{"id": one, "piece": named[one]} for one in ids]})


async def _tgi(request: Request, sent: Sent) -> Response:
    request.state.exchange.dialect = "tgi"
    asked = sent.read_as(TgiTokenize)
    served = served_by(request, asked.model)

    def call() -> bytes:
        most = asked.parameters.truncate if asked.parameters is not None else None
        return tgi(served, asked.inputs, most)

    return await respond(request, served, call)


def tgi(served: Served, text: str, most: int | None) -> bytes:
    found = spans(served.tokenizer, text, special=True)
    served.tokens = len(found)
    if most is not None and 0 < most < len(found):
        # The end of a prompt is what counts.
        found = found[-most:]
    return json_bytes(found)


def spans(tok: Tokenizer, text: str, *, special: bool) -> list[Span]:
    """Ids with the bytes of the text that each came from."""
    encoding = tok.encode(text, add_special_tokens=special)
    try:
        offsets = encoding.byte_offsets
    except Unsupported:
        return [Span(number, "", 0, 0) for number in encoding]
    data = text.encode()
    return [
        Span(number, data[start:stop].decode(errors="replace"), start, stop)
        for number, (start, stop) in zip(encoding, offsets, strict=True)
    ]


def max_model_len(tok: Tokenizer) -> int:
    config: dict[str, Any] = dict(tok.recipe.sidecars.of("tokenizer_config.json"))
    stated = config.get("model_max_length")
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 < stated < NO_LIMIT:
        return stated
    return NO_LIMIT
