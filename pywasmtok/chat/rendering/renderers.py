"""The renderer of a template: the sandbox, one that a program hands over, or a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ...errors import InvalidArgument
from ..contract import CompiledTemplate, Rendered, Renderer, RenderRequest

__all__ = ["Rendering", "by_function", "choose", "refuse_unknown"]

Rendering = str | Renderer | None
"""A program's own renderer; None or "sandbox": the sandbox."""


def refuse_unknown(rendering: Rendering) -> None:
    if isinstance(rendering, str) and rendering != "sandbox":
        raise InvalidArgument(
            f"there is no renderer {rendering!r}",
            hint="Templates render in the sandbox; nothing has to be chosen: leave `renderer` out",
        )
    if rendering is None or isinstance(rendering, str):
        return
    # Templates are kept by their renderer.
    if not (hasattr(rendering, "compile") and isinstance(rendering, Hashable)):
        raise InvalidArgument(
            f"renderer is a {type(rendering).__name__}",
            hint="A renderer has the method `compile`, and can be the key of a dict",
        )


def choose(rendering: Rendering, sandbox: Renderer | None) -> Renderer:
    """`sandbox`: that of the tokenizer, if it has one of its own."""
    if not (rendering is None or isinstance(rendering, str)):
        return rendering
    if sandbox is not None:
        return sandbox
    from .sandbox import renderer

    return renderer()


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
