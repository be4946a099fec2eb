"""What the handlers of all dialects do alike: find the tokenizer, and have the work done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

from ...tenants.errors import UnknownTokenizer
from ..requests.conversations import checked_arguments, checked_template

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..contract import Caller, Served, ServiceLike

__all__ = ["json_bytes", "named", "respond", "served_by", "text_of_chat"]

json_bytes: Final = msgspec.json.Encoder().encode

# Bodies up to this size may be encoded on the event loop, if the executor permits it.
_SHORT: Final = 128 << 10


def served_by(request: Request, model: str | None) -> Served:
    served = named(request.app.state.service, request.state.caller, model)
    request.state.exchange.tokenizer = served.digest
    return served


def named(service: ServiceLike, caller: Caller, model: str | None) -> Served:
    """SGLang's clients call the model `default` where they name none."""
    try:
        return service.find(caller, model or None)
    except UnknownTokenizer:
        if model != "default":
            raise
        return service.find(caller, None)


async def respond(
    request: Request, served: Served, call: Callable[[], bytes], operation: str = "encode"
) -> Response:
    service: ServiceLike = request.app.state.service
    cost: int = request.state.exchange.received
    done = await service.run(served, cost, call, inline=cost <= _SHORT, operation=operation)
    return Response(done, media_type="application/json")


def text_of_chat(
    served: Served,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Any] | None = None,
    chat_template: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
) -> str:
    tok = served.tokenizer
    text: str = tok.apply_chat_template(
        joined_parts(served, messages),
        tools or None,
        None,
        checked_template(served, chat_template, tools),
        add_generation_prompt,
        continue_final_message,
        tokenize=False,
        **checked_arguments(arguments),
    )
    return text


def joined_parts(served: Served, messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Parts of text as one string, where the template takes nothing else: what vLLM, llama.cpp and
    TGI do before they render."""
    listed = [message for message in messages if isinstance(message.get("content"), list)]
    if not listed or served.tokenizer.chat_capabilities.content != "string":
        return list(messages)
    return [
        {**message, "content": _joined(message["content"])} if message in listed else message
        for message in messages
    ]


def _joined(parts: list[Any]) -> Any:
    texts: list[str] = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            return parts
        texts.append(text)
    return "\n".join(texts)
