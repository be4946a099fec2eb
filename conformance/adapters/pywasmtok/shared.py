"""What the adapters of this package share: its errors as codes, and a render."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from serve import Fields, Refusal, text_of

from pywasmtok import errors
from pywasmtok.chat.contract import Rendered, Renderer, RenderRequest

# Kinds of errors as codes of the suite; the first that fits counts.
CODES: tuple[tuple[type[BaseException], str], ...] = (
    (errors.TemplateRaised, "raised"),
    (errors.TemplateSyntaxError, "invalid_template"),
    (errors.TemplateRuntimeError, "render_failed"),
    (errors.UnsupportedTemplateFeature, "unsupported"),
    (errors.TemplateLimitExceeded, "limit_exceeded"),
    (errors.Unsupported, "unsupported"),
    (errors.LimitExceeded, "limit_exceeded"),
    (errors.InvalidText, "invalid_text"),
    (errors.InvalidToken, "invalid_token"),
    (errors.InvalidArgument, "bad_request"),
    (errors.LoadError, "invalid_model"),
)


def refused(error: errors.TokenizerError) -> Refusal:
    code = next((code for kind, code in CODES if isinstance(error, kind)), "internal")
    if error.kind == "special_token_in_text":
        code = "invalid_text"
    feature = getattr(error, "feature", None)
    return Refusal(code, error, **({"feature": feature} if feature else {}))


def guarded(work: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return work(*arguments, **named)
    except errors.TokenizerError as error:
        raise refused(error) from None


def rendered_by(
    renderer: Renderer, said: Fields, *, generation: bool = False, origins: bool = False
) -> Rendered:
    options = said["options"]
    now = options.get("now")
    asked = RenderRequest(
        said["messages"],
        said.get("tools"),
        said.get("documents"),
        add_generation_prompt=options.get("add_generation_prompt", False),
        continue_final_message=options.get("continue_final_message", False),
        special_tokens=options.get("special_tokens", {}),
        arguments=options.get("kwargs", {}),
        now=None if now is None else datetime.fromisoformat(now),
        generation=generation,
        origins=origins,
    )
    template = text_of(said["template"])
    rendered: Rendered = guarded(lambda: renderer.compile(template).render(asked))
    return rendered
