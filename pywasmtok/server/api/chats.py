"""Conversations: as text, or as ids in which nothing that a message says is a control token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..requests import body
from ..requests.conversations import checked_arguments, checked_template
from .answers import ids_of, json_bytes, json_response
from .operation import Operation
from .shapes import Chat, EncodedChat, Rendered
from .texts import names, served_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from ...chat.contract import Origin
    from ..contract import ServiceLike

__all__ = ["operations", "template_mask"]


async def render(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Chat)
    arguments = checked_arguments(asked.chat_template_kwargs)
    served = served_by(request, service)

    def call() -> bytes:
        text = served.tokenizer.apply_chat_template(
            asked.messages,
            asked.tools,
            asked.documents,
            checked_template(served, asked.chat_template, asked.tools),
            asked.add_generation_prompt,
            asked.continue_final_message,
            tokenize=False,
            **arguments,
        )
        return json_bytes(Rendered(text=text, tokenizer=served.digest))

    found = await service.run(served, _cost(request), call, operation="render")
    return json_response(found, served.digest)


async def encode(request: Request, service: ServiceLike) -> Response:
    asked = await body.read_json(request, Chat)
    arguments = checked_arguments(asked.chat_template_kwargs)
    served = served_by(request, service)

    def call() -> bytes:
        found = served.tokenizer.encode_chat(
            asked.messages,
            tools=asked.tools,
            documents=asked.documents,
            chat_template=checked_template(served, asked.chat_template, asked.tools),
            add_generation_prompt=asked.add_generation_prompt,
            continue_final_message=asked.continue_final_message,
            control=names(asked.control),
            arguments=arguments,
        )
        served.tokens = len(found)
        masks: dict[str, Any] = {}
        if asked.masks:
            masks["assistant_mask"] = found.assistant_mask
            masks["template_mask"] = template_mask(found.encoding.offsets, found.origins)
        return json_bytes(
            EncodedChat(
                ids=ids_of(found.encoding.buffer),
                count=len(found),
                text=found.text,
                tokenizer=served.digest,
                defused=found.defused,
                **masks,
            )
        )

    answer = await service.run(served, _cost(request), call, operation="encode_chat")
    return json_response(answer, served.digest)


def template_mask(offsets: Sequence[tuple[int, int]], origins: Sequence[Origin]) -> list[int]:
    """1 for tokens of which the template wrote every character. Origins are in order, and so are
    tokens but for those without characters."""
    mask, place = [], 0
    for start, end in offsets:
        while place < len(origins) and origins[place].end <= start < end:
            place += 1
        theirs = place < len(origins) and origins[place].start < end and start < end
        mask.append(int(not theirs))
    return mask


def _cost(request: Request) -> int:
    """Bytes of the body: what a template makes of them has a bound of its own."""
    return int(request.state.exchange.received)


_EXAMPLE: Final = {
    "messages": [{"role": "user", "content": "Hello!"}],
    "add_generation_prompt": True,
}

operations: Final = (
    Operation(
        "POST",
        "/tokenizers/{name}/chat/render",
        "chat_render",
        "A conversation as the text that the model was trained to read",
        render,
        takes=Chat,
        gives=Rendered,
        example=_EXAMPLE,
        refuses=(403, 404, 413, 422, 429, 503, 504),
    ),
    Operation(
        "POST",
        "/tokenizers/{name}/chat/encode",
        "chat_encode",
        "A conversation as ids, in which no control token comes from what a message says",
        encode,
        takes=Chat,
        gives=EncodedChat,
        example={**_EXAMPLE, "masks": True},
        refuses=(403, 404, 413, 422, 429, 503, 504),
    ),
)
