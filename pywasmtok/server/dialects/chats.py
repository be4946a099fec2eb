"""llama.cpp's `/apply-template` and TGI's `/chat_tokenize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..api.answers import json_bytes
from ..errors import BadRequest
from .requests import ApplyTemplate, ChatTokenize, Form, Sent
from .serving import text_of_chat
from .tokenize import spans

if TYPE_CHECKING:
    from ..contract import Served
    from ..requests.endpoint import Asked, Begun
    from ..requests.record import Exchange

__all__ = ["read_apply_template", "read_chat_tokenize"]


class Prompt(NamedTuple):
    asked: ApplyTemplate
    messages: list[dict[str, Any]]
    begun: str
    """The beginning of the answer."""


def apply_template(prompt: Prompt, served: Served) -> bytes:
    asked, begun = prompt.asked, prompt.begun
    text = text_of_chat(
        served,
        prompt.messages,
        tools=asked.tools,
        chat_template=asked.chat_template,
        arguments=asked.chat_template_kwargs,
        add_generation_prompt=bool(begun) or asked.add_generation_prompt is not False,
    )
    return json_bytes({"prompt": text + begun})


def read_apply_template(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    found = _read(data, begun, exchange, Form("llamacpp", ApplyTemplate, apply_template))
    asked: ApplyTemplate = found.request
    found.request = Prompt(asked, *_without_begun_answer(asked.messages))
    return found


def _without_begun_answer(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """An assistant's message at the end is the beginning of the answer: llama.cpp writes it behind
    the prompt that asks for one."""
    if len(messages) < 2 or messages[-1].get("role") != "assistant":
        return messages, ""
    content = messages[-1].get("content")
    if isinstance(content, list):
        texts = [part.get("text", "") for part in content if isinstance(part, dict)]
        if not all(isinstance(text, str) for text in texts):
            raise BadRequest("the text of a part is no text", path="$.messages")
        content = "".join(texts)
    if not isinstance(content, str):
        return messages, ""
    if messages[-2].get("role") == "assistant":
        raise BadRequest("two messages of the assistant end the conversation", path="$.messages")
    return messages[:-1], content


def chat_tokenize(asked: ChatTokenize, served: Served) -> bytes:
    text = text_of_chat(
        served, asked.messages, tools=asked.tools, arguments=asked.chat_template_kwargs
    )
    found = spans(served, text, special=False)
    return json_bytes({"tokenize_response": found, "templated_text": text})


def read_chat_tokenize(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
    return _read(data, begun, exchange, Form("tgi", ChatTokenize, chat_tokenize))


def _read(data: bytes, begun: Begun, exchange: Exchange, form: Form) -> Asked:
    sent = Sent(data, begun, exchange)
    sent.one_of(("messages",))
    return sent.read_as(form)
