"""What every renderer of chat templates takes and answers.

The sandbox (`chat/sandbox.py`) fulfils it; a program may hand its own renderer to a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from ..tokenizer.limits import TemplateLimits

__all__ = [
    "CompiledTemplate",
    "Origin",
    "Profile",
    "RenderRequest",
    "Rendered",
    "Renderer",
    "TemplateLimits",
]

Profile = Literal["hf-5", "hf-4.57"]
"""Whose habits: transformers 5 (the default), or 4.57."""


# Not frozen: a class that is takes a microsecond more to make, which is a tenth of a short render.
@dataclass(slots=True)
class RenderRequest:
    """One conversation, and how it is to be rendered. Nothing in it is changed."""

    messages: Sequence[Any]
    tools: Sequence[Any] | None = None
    documents: Sequence[Any] | None = None
    add_generation_prompt: bool = False
    continue_final_message: bool | str = False
    special_tokens: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the tokenizer (`bos_token`, ...), below the arguments in rank."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further variables, as the caller named them."""
    now: datetime | None = None
    """What `strftime_now` tells; None: the clock of the machine."""
    profile: Profile = "hf-5"
    generation: bool = False
    """Whether the spans of generation blocks are asked for."""
    origins: bool = False
    """Whether the origin of each character is asked for (the sandbox only)."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Characters of the output that a value of the caller's put there."""

    start: int
    end: int
    path: tuple[str | int, ...]
    """Where the value stands in the request: `("messages", 2, "content")`."""


@dataclass(slots=True)
class Rendered:
    """Offsets count characters (code points) of `text`."""

    text: str
    generation: tuple[tuple[int, int], ...] = ()
    origins: tuple[Origin, ...] = ()
    """In order, without overlaps; what no origin covers is the template's own text."""


class CompiledTemplate(Protocol):
    """A template that is ready; safe to use from several threads."""

    @property
    def source(self) -> str: ...

    @property
    def warnings(self) -> Sequence[str]:
        """What a lenient compile found that is not rendered exactly."""
        ...

    def render(self, request: RenderRequest) -> Rendered: ...


class Renderer(Protocol):
    """Compiles templates; keeps what it compiled."""

    name: str

    def compile(
        self, source: str, *, strict: bool = True, limits: TemplateLimits | None = None
    ) -> CompiledTemplate: ...
