"""Arguments of `apply_chat_template`, as far as a server takes them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence, Set
from typing import Any, Final

from ..chat.methods import ChatMethods
from ..chat.rendering.renderers import refuse_unknown
from ..chat.tools_schema import tools_as_dicts
from ..errors import InvalidArgument, Unsupported

__all__ = ["asked_chat", "asked_of_encode_chat"]

_SIGNATURE: Final = inspect.signature(ChatMethods.apply_chat_template)

_SENT: Final = (
    "documents",
    "chat_template",
    "add_generation_prompt",
    "continue_final_message",
)
_FREE: Final = (*_SENT, "tools", "tokenize", "return_dict", "kwargs")


def asked_chat(*args: Any, **how: Any) -> tuple[dict[str, Any], bool]:
    """What is sent, and whether ids are wanted. Everything else has to be as it is by default."""
    try:
        bound = _SIGNATURE.bind(None, (), *args, **how)
    except TypeError as error:
        raise InvalidArgument(f"apply_chat_template: {error}") from None
    bound.apply_defaults()
    found = dict(list(bound.arguments.items())[2:])
    refuse_unknown(found["renderer"])
    for name, value in found.items():
        if name not in _FREE and value != _SIGNATURE.parameters[name].default:
            raise _unsupported(f"{name}=")
    if found["tokenize"] and found["return_dict"]:
        raise _unsupported("masks and token types")
    asked = {name: found[name] for name in _SENT}
    asked["tools"] = tools_as_dicts(found["tools"])
    if found["kwargs"]:
        asked["chat_template_kwargs"] = found["kwargs"]
    return asked, bool(found["tokenize"])


def asked_of_encode_chat(messages: Sequence[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    how = dict(arguments)
    control = how.pop("control", "template")
    more = how.pop("arguments", None) or {}
    asked, _ = asked_chat(tokenize=False, **{**more, **how})
    if control != "template":
        asked["control"] = sorted(control) if isinstance(control, Set) else control
    return {"messages": list(messages), **asked}


def _unsupported(what: str) -> Unsupported:
    return Unsupported(
        f"apply_chat_template: {what} cannot be had from a server",
        feature="remote:chat",
        hint="return_dict=False gives the ids, tokenize=False the text",
    )
