"""Names that no argument of a template may have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...errors import InvalidArgument

__all__ = ["RESERVED", "refuse_reserved"]

# Arguments may come from a request: they must replace neither the template nor its input.
RESERVED: Final = frozenset(
    {
        "add_generation_prompt",
        "chat_template",
        "continue_final_message",
        "conversation",
        "conversations",
        "documents",
        "messages",
        "return_assistant_tokens_mask",
        "tokenize",
        "tools",
    }
)


def refuse_reserved(arguments: Iterable[str]) -> None:
    if RESERVED.isdisjoint(arguments):
        return
    taken = RESERVED.intersection(arguments)
    raise InvalidArgument(
        f"an argument of a template cannot be named {', '.join(sorted(taken))}",
        hint="These are parameters of the call itself",
    )
