"""Conversations: as text, or as ids in which nothing that a message says is a control token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..requests.conversations import checked_arguments, checked_template
from ..requests.endpoint import Asked
from .answers import ids_of, json_bytes
from .operation import Operation
from .shapes import Chat, EncodedChat, Rendered
from .texts import endpoint, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...chat.contract import Origin
    from ..contract import Served
    from ..requests.endpoint import Begun, Reader
    from ..requests.record import Exchange

__all__ = ["operations", "template_mask"]


class Conversation(NamedTuple):
    chat: Chat
    arguments: dict[str, Any]
    """Variables of the template."""


def _reader(operation: str, answer: Callable[[Conversation, Served], bytes]) -> Reader:
    def read(data: bytes, begun: Begun, exchange: Exchange) -> Asked:
        chat = begun.json(data, Chat)
        asked = Conversation(chat, checked_arguments(chat.chat_template_kwargs))
        # Bytes of the body: what a template makes of them has a bound of its own.
        return Asked(operation, len(data), asked, answer)

    return read


def render(asked: Conversation, served: Served) -> bytes:
    chat = asked.chat
    text = served.tokenizer.apply_chat_template(
        chat.messages,
        chat.tools,
        chat.documents,
        checked_template(served, chat.chat_template, chat.tools),
        chat.add_generation_prompt,
        chat.continue_final_message,
        tokenize=False,
        **asked.arguments,
    )
    return json_bytes(Rendered(text=text, tokenizer=served.digest))


def encode(asked: Conversation, served: Served) -> bytes:
    chat = asked.chat
    found = served.tokenizer.encode_chat(
        chat.messages,
        tools=chat.tools,
        documents=chat.documents,
        chat_template=checked_template(served, chat.chat_template, chat.tools),
        add_generation_prompt=chat.add_generation_prompt,
        continue_final_message=chat.continue_final_message,
        control=names(chat.control),
        arguments=asked.arguments,
    )
    served.tokens = len(found)
    masks: dict[str, Any] = {}
    if chat.masks:
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
        endpoint(_reader("render", render), inline_cost=-1),
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
        endpoint(_reader("encode_chat", encode), inline_cost=-1),
        takes=Chat,
        gives=EncodedChat,
        example={**_EXAMPLE, "masks": True},
        refuses=(403, 404, 413, 422, 429, 503, 504),
    ),
)
