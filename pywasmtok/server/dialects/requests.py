"""What the requests of each server look like, and how to tell them apart.

A field that is null counts as one that is not there: many clients send every field that they know.
Fields that are of no use to a tokenizer (`temperature`, `tool_choice`) are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..errors import BadRequest
from ..requests import body

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..requests.strict_json import Whole

__all__ = [
    "ApplyTemplate",
    "ChatTokenize",
    "Detokenize",
    "LlamaTokenize",
    "Sent",
    "TgiTokenize",
    "Tokenize",
    "TokenizeChat",
    "received",
]

T = TypeVar("T")
Messages = list[dict[str, Any]]
Tools = list[dict[str, Any]]


class Tokenize(msgspec.Struct):
    """vLLM, and SGLang where `prompt` is a list."""

    prompt: str | list[str]
    model: str | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class TokenizeChat(msgspec.Struct):
    """vLLM."""

    messages: Messages
    model: str | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    tools: Tools | None = None
    media_io_kwargs: dict[str, Any] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None


class LlamaTokenize(msgspec.Struct):
    content: str
    model: str | None = None
    add_special: bool | None = None
    parse_special: bool | None = None
    with_pieces: bool | None = None


class TgiParameters(msgspec.Struct):
    truncate: int | None = None


class TgiTokenize(msgspec.Struct):
    inputs: str
    model: str | None = None
    parameters: TgiParameters | None = None


class Detokenize(msgspec.Struct):
    tokens: list[int | list[int]]
    model: str | None = None
    skip_special_tokens: bool | None = None


class ApplyTemplate(msgspec.Struct):
    """llama.cpp."""

    messages: Messages
    model: str | None = None
    tools: Tools | None = None
    add_generation_prompt: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class ChatTokenize(msgspec.Struct):
    """TGI: a request for a chat, as OpenAI's API has it."""

    messages: Messages
    model: str | None = None
    tools: Tools | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class Sent:
    """The body of a request, of which only the keys are known yet."""

    __slots__ = ("_fields", "_whole")

    def __init__(self, whole: Whole, fields: dict[str, msgspec.Raw]) -> None:
        self._whole = whole
        self._fields = fields

    def has(self, name: str) -> bool:
        value = self._fields.get(name)
        return value is not None and bytes(value) != b"null"

    def starts(self, name: str, sign: bytes) -> bool:
        value = self._fields.get(name)
        return value is not None and bytes(memoryview(value)[:1]) == sign

    def inside(self, name: str, sign: bytes) -> bool:
        """Whether the first item of a list begins like this."""
        return bytes(self._fields[name])[1:].lstrip(b" \t\r\n").startswith(sign)

    def one_of(self, *names: str) -> str:
        """Which of them it has: that is how callers say which server they speak to."""
        found = [name for name in names if self.has(name)]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(f"`{name}`" for name in names)
        if found:
            both = " and ".join(f"`{name}`" for name in found)
            raise BadRequest(
                f"the request has {both}, of different servers or meanings",
                hint=f"Send exactly one of {listed}",
            )
        raise BadRequest(
            f"the request has none of {listed}", hint="Send exactly one; it tells what is asked"
        )

    def read_as(self, kind: type[T]) -> T:
        return self._whole.read_as(kind)


async def received(request: Request) -> Sent:
    return Sent(*await body.read_with_json(request, dict[str, msgspec.Raw]))
