"""Which renderer serves a template.

The sandbox takes templates from anywhere. The package `minijinja` renders in this process, where a
hostile template could stop it: it serves only templates that the program itself gave.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidArgument
from .contract import CompiledTemplate, Rendered, Renderer, RenderRequest

__all__ = ["NAMES", "Rendering", "by_function", "choose"]

NAMES = ("sandbox", "minijinja")

Rendering = str | Renderer | None
"""The name of a renderer, an own one, or None for the sandbox."""


def choose(rendering: Rendering, *, of_operator: bool, sandbox: Renderer | None = None) -> Renderer:
    """`of_operator`: whether the template is the program's own. `sandbox`: that of the tokenizer,
    where it has one of its own."""
    if rendering is None or rendering == "sandbox":
        if sandbox is not None:
            return sandbox
        from .sandbox import renderer

        return renderer()
    if not isinstance(rendering, str):
        return rendering
    if rendering != "minijinja":
        raise InvalidArgument(f"renderer={rendering!r} is none of {', '.join(NAMES)}")
    if not of_operator:
        raise InvalidArgument(
            "renderer='minijinja' renders in this process, and this template came with a model",
            hint="If it is to be trusted, say so: tok.set_chat_template(tok.chat_template)",
        )
    from .trusted import renderer as trusted

    return trusted()


def by_function(function: Callable[..., str]) -> CompiledTemplate:
    return _Function(function)


class _Function:
    """A function of the program's in place of a template."""

    source = ""
    warnings = ()

    def __init__(self, function: Callable[..., str]) -> None:
        self._function = function

    def render(self, request: RenderRequest) -> Rendered:
        for asked, what in (
            (request.generation, "the assistant mask"),
            (request.origins, "the origin of each character"),
            (request.continue_final_message, "continue_final_message"),
        ):
            if asked:
                raise InvalidArgument(f"a function writes this chat's text: {what} is not known")
        text = self._function(
            list(request.messages),
            tools=request.tools,
            documents=request.documents,
            add_generation_prompt=request.add_generation_prompt,
            **{**request.special_tokens, **request.arguments},
        )
        if not isinstance(text, str):
            raise InvalidArgument(f"a chat's text is str, not {type(text).__name__}")
        return Rendered(text)
