"""Conversations as text, for all dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..requests.conversations import checked_arguments, checked_template

if TYPE_CHECKING:
    from ..contract import Served

__all__ = ["text_of_chat"]


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

    def has_parts(message: Mapping[str, Any]) -> bool:
        return isinstance(message.get("content"), list)

    if not any(map(has_parts, messages)):
        return list(messages)
    if served.tokenizer.chat_capabilities.content != "string":
        return list(messages)
    return [
        {**message, "content": _joined(message["content"])} if has_parts(message) else message
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
