"""What the requests of each server look like, and how to tell them apart.

A field that is null counts as one that is not there: many clients send every field that they know.
Fields that are of no use to a tokenizer (`temperature`, `tool_choice`) are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ...tenants.errors import UnknownTokenizer
from ..errors import BadRequest
from ..requests.endpoint import Asked
from ..requests.strict_json import Fields, Whole

if TYPE_CHECKING:
    from ..contract import Caller, Served
    from ..requests.endpoint import Begun
    from ..requests.record import Exchange
    from ..service import Service

__all__ = [
    "ApplyTemplate",
    "ChatTokenize",
    "Detokenize",
    "Form",
    "LlamaTokenize",
    "Sent",
    "TgiTokenize",
    "Tokenize",
    "TokenizeChat",
    "named",
]

_NULL_LENGTH: Final = len("null")

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


class Form(NamedTuple):
    """A kind of request: its fields, and the function that answers it."""

    dialect: str
    shape: type[Any]
    answer: Callable[[Any, Served], bytes]
    operation: str = "encode"


class Sent:
    """The body of a request, of which only the keys are known yet."""

    __slots__ = ("_cost", "_exchange", "_fields", "_whole")

    def __init__(self, data: bytes, begun: Begun, exchange: Exchange) -> None:
        self._cost = len(data)
        self._exchange = exchange
        self._whole = Whole(data)
        self._fields = self._whole.checked_as(Fields, begun.depth)

    def has(self, name: str) -> bool:
        value = self._fields.get(name)
        return value is not None and (len(value) != _NULL_LENGTH or bytes(value) != b"null")

    def starts(self, name: str, sign: bytes) -> bool:
        value = self._fields.get(name)
        return value is not None and memoryview(value)[0] == sign[0]

    def inside(self, name: str, sign: bytes) -> bool:
        """Whether the first item of a list begins like this."""
        return bytes(self._fields[name])[1:].lstrip(b" \t\r\n").startswith(sign)

    def one_of(self, names: Iterable[str]) -> str:
        """Which of them it has: that is how callers say which server they speak to."""
        fields = self._fields
        found = [name for name in names if name in fields]
        if len(found) != 1 or len(fields[found[0]]) == _NULL_LENGTH:
            found = [name for name in found if self.has(name)]
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

    def read_as(self, form: Form) -> Asked:
        self._exchange.dialect = form.dialect
        request = self._whole.read_as(form.shape)
        return Asked(form.operation, self._cost, request, form.answer, request.model or None)


def named(service: Service, caller: Caller, model: str | None) -> Served:
    """SGLang's clients call the model `default` where they name none."""
    try:
        return service.find(caller, model or None)
    except UnknownTokenizer:
        if model != "default":
            raise
        return service.find(caller, None)
