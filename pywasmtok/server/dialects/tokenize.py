"""`/tokenize` of four servers on one path, and `/v1/tokenize` of SGLang."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...errors import Unsupported
from ..api.answers import ids_of, in_parts, json_bytes
from .pieces import pieces_of
from .requests import Form, LlamaTokenize, Sent, TgiTokenize, Tokenize, TokenizeChat
from .serving import text_of_chat

if TYPE_CHECKING:
    from ...tokenizer.tokenizer import Tokenizer
    from ..contract import Served
    from ..requests.endpoint import Asked, Begun
    from ..requests.record import Exchange

__all__ = ["max_model_len", "read_tokenize", "read_tokenize_v1", "spans"]

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


def vllm(asked: Tokenize, served: Served) -> bytes:
    special = asked.add_special_tokens is not False
    return _vllm(served, str(asked.prompt), special, asked.return_token_strs)


def vllm_chat(asked: TokenizeChat, served: Served) -> bytes:
    text = text_of_chat(
        served,
        asked.messages,
        tools=asked.tools,
        chat_template=asked.chat_template,
        arguments=asked.chat_template_kwargs,
        add_generation_prompt=asked.add_generation_prompt is not False,
        continue_final_message=bool(asked.continue_final_message),
    )
    return _vllm(served, text, bool(asked.add_special_tokens), asked.return_token_strs)


def _vllm(served: Served, text: str, special: bool, strings: bool | None) -> bytes:
    tok = served.tokenizer
    found = tok.encode(text, add_special_tokens=special)
    served.tokens = len(found)
    names = _names(tok, found.ids) if strings else None
    return json_bytes(Tokens(len(found), max_model_len(tok), ids_of(found.buffer), names))


def _names(tok: Tokenizer, ids: list[int]) -> Any:
    named = {number: tok.id_to_token(number) for number in set(ids)}
    return in_parts(len(ids), lambda start, end: [named[number] for number in ids[start:end]])


def sglang(asked: Tokenize, served: Served) -> bytes:
    special = asked.add_special_tokens is not False
    tok = served.tokenizer
    most = max_model_len(tok)
    if isinstance(asked.prompt, str):
        one = tok.encode(asked.prompt, add_special_tokens=special)
        served.tokens = len(one)
        return json_bytes(TokensV1(ids_of(one.buffer), len(one), most))
    many = [each.buffer for each in tok.encode_batch(asked.prompt, add_special_tokens=special)]
    counts = [len(ids) for ids in many]
    served.tokens = sum(counts)
    return json_bytes(TokensOfMany([ids_of(ids) for ids in many], counts, most))


def llamacpp(asked: LlamaTokenize, served: Served) -> bytes:
    tok = served.tokenizer
    special = "none" if asked.parse_special is False else "all"
    found = tok.encode(asked.content, add_special_tokens=bool(asked.add_special), special=special)
    served.tokens = len(found)
    if not asked.with_pieces:
        return json_bytes({"tokens": ids_of(found.buffer)})
    ids = found.ids
    named = pieces_of(tok, ids)

    def some(start: int, end: int) -> list[dict[str, Any]]:
        return [{"id": one, "piece": named[one]} for one in ids[start:end]]

    return json_bytes({"tokens": in_parts(len(ids), some)})


def tgi(asked: TgiTokenize, served: Served) -> bytes:
    most = asked.parameters.truncate if asked.parameters is not None else None
    return json_bytes(spans(served, asked.inputs, special=True, most=most))


_FORMS: Final = {
    "prompt": Form("vllm", Tokenize, vllm),
    "messages": Form("vllm", TokenizeChat, vllm_chat),
    "content": Form("llamacpp", LlamaTokenize, llamacpp),
    "inputs": Form("tgi", TgiTokenize, tgi),
}
_SGLANG: Final = Form("sglang", Tokenize, sglang)


def read_tokenize(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    sent = Sent(data, begun, exchange)
    key = sent.one_of(_FORMS)
    is_list = key == "prompt" and sent.starts("prompt", b"[")
    return sent.read_as(_SGLANG if is_list else _FORMS[key])


def read_tokenize_v1(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    return Sent(data, begun, exchange).read_as(_SGLANG)


def spans(served: Served, text: str, *, special: bool, most: int | None = None) -> Any:
    """For a field of an answer: ids with the bytes of the text that each came from. `most`: so many
    of the last ones, for the end of a prompt is what counts."""
    encoding = served.tokenizer.encode(text, add_special_tokens=special)
    served.tokens = len(encoding)
    first = max(0, len(encoding) - most) if most is not None and most > 0 else 0
    ids = encoding.ids[first:]
    try:
        places = encoding.byte_offsets[first:]
    except Unsupported:
        places = [(0, 0)] * len(ids)
    data = text.encode()

    def some(begin: int, end: int) -> list[Span]:
        return [
            Span(number, data[start:stop].decode(errors="replace"), start, stop)
            for number, (start, stop) in zip(ids[begin:end], places[begin:end], strict=True)
        ]

    return in_parts(len(ids), some)


def max_model_len(tok: Tokenizer) -> int:
    stated = tok.recipe.sidecars.of("tokenizer_config.json").get("model_max_length")
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 < stated < NO_LIMIT:
        return stated
    return NO_LIMIT
