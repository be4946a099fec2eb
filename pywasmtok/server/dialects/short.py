"""Short requests of all dialects, read in one step: what nearly all requests look like.

None means that a request is of another kind, or wrong: then the handlers read it again from the
start, and say what is wrong. So nothing here may be taken for good that they would refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from ...tokenizer.ids import MAX_ID
from ..requests.straight import Short, strings_of
from .detokenize import of_all, of_sglang
from .serving import named
from .tokenize import llamacpp, sglang_one, tgi, vllm

if TYPE_CHECKING:
    from ..contract import Caller, ServiceLike
    from ..requests.straight import Way

__all__ = ["ways"]

Text = str | None | UnsetType
Flag = bool | None | UnsetType


class _Tokenize(msgspec.Struct):
    prompt: Text = UNSET
    content: Text = UNSET
    inputs: Text = UNSET
    model: Text = UNSET
    add_special_tokens: Flag = UNSET
    return_token_strs: Flag = UNSET
    add_special: Flag = UNSET
    parse_special: Flag = UNSET
    with_pieces: Flag = UNSET


class _Detokenize(msgspec.Struct):
    tokens: list[Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]]
    model: Text = UNSET
    skip_special_tokens: Flag = UNSET


_read_tokenize: Final = msgspec.json.Decoder(_Tokenize).decode
_read_detokenize: Final = msgspec.json.Decoder(_Detokenize).decode


def ways(service: ServiceLike) -> dict[str, Way]:
    def any_tokenize(body: bytes, caller: Caller) -> Short | None:
        asked = _read_tokenize(body)
        # What is counted here are keys, each there once, and their texts.
        if strings_of(body) != _strings_in(asked):
            return None
        prompt, content, inputs = asked.prompt, asked.content, asked.inputs
        # One that is null counts as not there.
        texts = [isinstance(text, str) for text in (prompt, content, inputs)]
        if sum(texts) != 1:
            return None
        served = named(service, caller, _named(asked.model))

        def call() -> bytes:
            if isinstance(prompt, str):
                special = asked.add_special_tokens is not False
                return vllm(served, prompt, special, asked.return_token_strs is True)
            if isinstance(content, str):
                return llamacpp(
                    served,
                    content,
                    asked.add_special is True,
                    asked.parse_special is not False,
                    asked.with_pieces is True,
                )
            assert isinstance(inputs, str)
            return tgi(served, inputs, None)

        dialect = "vllm" if texts[0] else "llamacpp" if texts[1] else "tgi"
        return Short("tokenize", dialect, "encode", served, len(body), True, call)

    def tokenize_v1(body: bytes, caller: Caller) -> Short | None:
        asked = _read_tokenize(body)
        prompt = asked.prompt
        if not isinstance(prompt, str) or strings_of(body) != _strings_in(asked):
            return None
        served = named(service, caller, _named(asked.model))

        def call() -> bytes:
            return sglang_one(served, prompt, asked.add_special_tokens is not False)

        return Short("tokenize", "sglang", "encode", served, len(body), True, call)

    def any_detokenize(body: bytes, caller: Caller) -> Short | None:
        return detokenize_as(body, caller, None)

    def detokenize_v1(body: bytes, caller: Caller) -> Short | None:
        return detokenize_as(body, caller, "sglang")

    def detokenize_as(body: bytes, caller: Caller, dialect: str | None) -> Short | None:
        asked = _read_detokenize(body)
        if strings_of(body) != _strings_in(asked):
            return None
        skip = asked.skip_special_tokens
        if dialect is None:
            dialect = "sglang" if isinstance(skip, bool) else "vllm"
        served = named(service, caller, _named(asked.model))
        for_sglang = dialect == "sglang"

        def call() -> bytes:
            if for_sglang:
                return of_sglang(served, asked.tokens, skip is not False)
            return of_all(served, asked.tokens)

        return Short("detokenize", dialect, "decode", served, len(body), True, call)

    return {
        "/tokenize": any_tokenize,
        "/v1/tokenize": tokenize_v1,
        "/detokenize": any_detokenize,
        "/v1/detokenize": detokenize_v1,
    }


def _strings_in(asked: msgspec.Struct) -> int:
    count = 0
    for value in msgspec.structs.astuple(asked):
        if value is not UNSET:
            count += 2 if type(value) is str else 1
    return count


def _named(model: Text) -> str | None:
    return model if isinstance(model, str) else None
