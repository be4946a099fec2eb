"""Models whose conversations are written by code and not by a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InvalidArgument, TokenizerError, Unsupported

if TYPE_CHECKING:
    from ...tokenizer.recipe import Sidecars

__all__ = ["no_template"]

_BY_TYPE = {
    "deepseek_v32": "DeepSeek-V3.2's own encoding",
    "deepseek_v4": "DeepSeek-V4's own encoding",
    "gpt_oss": "OpenAI's harmony",
    "inkling": "Inkling's own encoding",
    "kimi_k3": "Kimi-K3's own encoding",
}
_BY_FORMAT = {"tekken": "mistral-common's"}

_HINT = "tok.set_chat_template(...) takes a template, its path, or a function that writes the text"


def no_template(file_format: str, beside: Sidecars, source: str) -> TokenizerError:
    """Why there is none, as far as the model's own files tell."""
    model = beside.of("config.json").get("model_type")
    known = _BY_TYPE.get(model) if isinstance(model, str) else None
    known = known or _BY_FORMAT.get(file_format)
    if known is not None:
        return Unsupported(
            f"the chat format of this model is no template: it is {known}",
            feature=f"chat_format:{model if known in _BY_TYPE.values() else file_format}",
            source=source,
            hint=_HINT,
        )
    return InvalidArgument(
        "this tokenizer has no chat template, and none was given", source=source, hint=_HINT
    )
