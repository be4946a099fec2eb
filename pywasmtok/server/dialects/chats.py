"""llama.cpp's `/apply-template` and TGI's `/chat_tokenize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import BadRequest
from .requests import ApplyTemplate, ChatTokenize, received
from .serving import json_bytes, respond, served_by, text_of_chat
from .tokenize import spans

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["apply_template", "chat_tokenize"]


async def apply_template(request: Request) -> Response:
    request.state.exchange.dialect = "llamacpp"
    sent = await received(request)
    sent.one_of("messages")
    asked = sent.read_as(ApplyTemplate)
    served = served_by(request, asked.model)
    messages, begun = _without_begun_answer(asked.messages)

    def call() -> bytes:
        text = text_of_chat(
            served,
            messages,
            tools=asked.tools,
            chat_template=asked.chat_template,
            arguments=asked.chat_template_kwargs,
            add_generation_prompt=bool(begun) or asked.add_generation_prompt is not False,
        )
        return json_bytes({"prompt": text + begun})

    return await respond(request, served, call)


def _without_begun_answer(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """An assistant's message at the end is the beginning of the answer: llama.cpp writes it behind
    the prompt that asks for one."""
    if len(messages) < 2 or messages[-1].get("role") != "assistant":
        return messages, ""
    content = messages[-1].get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        return messages, ""
    if messages[-2].get("role") == "assistant":
        raise BadRequest("two messages of the assistant end the conversation", path="$.messages")
    return messages[:-1], content


async def chat_tokenize(request: Request) -> Response:
    request.state.exchange.dialect = "tgi"
    sent = await received(request)
    sent.one_of("messages")
    asked = sent.read_as(ChatTokenize)
    served = served_by(request, asked.model)

    def call() -> bytes:
        text = text_of_chat(
            served, asked.messages, tools=asked.tools, arguments=asked.chat_template_kwargs
        )
        found = spans(served.tokenizer, text, special=False)
        served.tokens = len(found)
        return json_bytes({"tokenize_response": found, "templated_text": text})

    return await respond(request, served, call)
