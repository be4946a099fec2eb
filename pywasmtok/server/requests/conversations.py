"""What a request may say of a chat template, in our own API and in every dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import BadRequest, Forbidden

if TYPE_CHECKING:
    from ..contract import Served

__all__ = ["RESERVED", "checked_arguments", "checked_template"]

RESERVED: Final = frozenset(
    {
        # Variables and functions that the renderer gives every template.
        "messages",
        "conversation",
        "conversations",
        "tools",
        "documents",
        "add_generation_prompt",
        "continue_final_message",
        "raise_exception",
        "strftime_now",
        "cycler",
        "dict",
        "joiner",
        "lipsum",
        "namespace",
        "range",
        "self",
        # Arguments of the library's calls: a request must not set them as variables.
        "chat_template",
        "tokenize",
        "sanitize_control_tokens",
        "padding",
        "truncation",
        "max_length",
        "return_tensors",
        "return_dict",
        "return_assistant_tokens_mask",
        "tokenizer_kwargs",
        "tokenizer",
        "now",
        "profile",
        "renderer",
        "strict",
        "limits",
        "control",
        "arguments",
    }
)

# Roles and tokens of the model: the template trusts them.
_TOKENS: Final = ("_token", "_tokens")

_MOST_ARGUMENTS: Final = 64
_MOST_NAME: Final = 128


def checked_arguments(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Variables of the template from a request. None can replace what every template is given: the
    conversation, the functions, the special tokens of the model."""
    path = "$.chat_template_kwargs"
    if not given:
        return {}
    if len(given) > _MOST_ARGUMENTS:
        raise BadRequest(
            f"{len(given)} arguments of the template; there may be {_MOST_ARGUMENTS}", path=path
        )
    for name in given:
        if not name.isidentifier() or len(name) > _MOST_NAME or name.startswith("__"):
            raise BadRequest(f"{name!a:.80} cannot be the name of a variable", path=path)
        if name in RESERVED or name.endswith(_TOKENS):
            raise BadRequest(
                f"{name} is not for a request to set",
                path=f"{path}.{name}",
                hint="What the server gives every template cannot be replaced",
            )
    return dict(given)


def checked_template(served: Served, asked: str | None, tools: Sequence[Any] | None) -> str | None:
    """The name of one of the model's own templates, or a text, if the tenant may bring one."""
    if asked is None:
        return None
    chosen = served.tokenizer.chat_templates.get(asked, tools)
    if chosen.place is not None or served.tenant.limits.templates:
        return asked
    raise Forbidden(
        "this tenant may not bring a chat template with a request",
        path="$.chat_template",
        hint="An operator can allow it: the limit `templates`",
    )
