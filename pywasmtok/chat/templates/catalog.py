"""The chat templates of one tokenizer: which there are, and which of them a call means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import InvalidArgument, InvalidFile, TokenizerClosed, TokenizerError
from ...loading.sources.templates import DEFAULT, TemplatePlace, of_gguf
from ..contract import CompiledTemplate, Renderer, TemplateLimits
from ..encoder import encoder_of_chats
from ..rendering.renderers import Rendering, by_function, choose
from .settings import Settings, settings_of, special_tokens_map

if TYPE_CHECKING:
    from ...tokenizer.tokenizer import Tokenizer
    from ..face import Asked
    from .capabilities import ChatCapabilities

__all__ = ["ChatTemplates", "Chosen"]

# Ways to compile a tokenizer's own templates that are kept; others are compiled again.
_KEPT = 32
# No renderer, strict, no limits of the call's own.
_PLAIN = (None, True, None)


class Chosen(NamedTuple):
    source: str
    place: TemplatePlace | None
    """None: the template came with the call."""

    def compile(
        self,
        rendering: Rendering,
        *,
        strict: bool,
        limits: TemplateLimits | None,
        sandbox: Renderer | None = None,
    ) -> CompiledTemplate:
        place = self.place
        if place is not None and place.render is not None:
            return by_function(place.render)
        # A request may bring a template along, and must not choose where it runs.
        chosen = choose(None if place is None else rendering, sandbox)
        return chosen.compile(self.source, strict=strict, limits=limits)


class ChatTemplates:
    """What is known of a tokenizer's templates, and of what stands beside it."""

    def __init__(self, tok: Tokenizer, places: tuple[TemplatePlace, ...]) -> None:
        recipe = tok.recipe
        self.places = places
        self.sandbox = tok.chat_sandbox
        self.file_format = tok.format
        self.source = recipe.source
        self.beside = recipe.sidecars
        self.special_tokens = special_tokens_map(tok.special_tokens, recipe.sidecars)
        self.settings: Settings = settings_of(tok, recipe.sidecars)
        self._tok = tok
        self.capabilities: ChatCapabilities | None = None
        self.control: dict[str, tuple[str, ...]] = {}
        """The control tokens of templates; see `sanitize`."""
        self._compiled: dict[Any, CompiledTemplate] = {}
        # The same by what a call says, where it names no template of its own.
        self._ready: dict[Any, CompiledTemplate] = {}
        # What plain calls need of the sandbox's templates, by whether there are tools.
        self._direct: list[Callable[..., str] | None] = [None, None]

    @classmethod
    def of(cls, tok: Tokenizer) -> ChatTemplates:
        if tok.closed:
            raise TokenizerClosed("this tokenizer is closed", source=tok.source)
        recipe = tok.recipe
        stated = () if recipe.chat_template is None else (recipe.chat_template,)
        return cls(tok, (*stated, *recipe.sidecars.template_places, *_inside(tok)))

    @cached_property
    def encoder(self) -> Tokenizer:
        """Made for the first chat that is to be ids."""
        return encoder_of_chats(self._tok, self.places[:1])

    @property
    def place(self) -> TemplatePlace | None:
        return self.places[0] if self.places else None

    @property
    def stated(self) -> str | dict[str, str] | Callable[..., str] | None:
        """As transformers states it: a text, a dict of texts, or None."""
        place = self._readable()
        if place is None:
            return None
        if place.render is not None:
            return place.render
        return dict(place.templates) if place.named else place.templates[DEFAULT]

    def get(self, chat_template: str | None, tools: object) -> Chosen:
        """With several templates `chat_template` may be the name of one; else it is a template.
        Without it, `tool_use` where there are tools, or `default`."""
        if not (chat_template is None or isinstance(chat_template, str)):
            raise InvalidArgument(
                f"chat_template is a template or a name, not {type(chat_template).__name__}"
            )
        place = self._readable()
        if place is None or not place.named:
            if chat_template is not None:
                return Chosen(chat_template, None)
            if place is None:
                raise self.none()
            return Chosen(place.templates.get(DEFAULT, ""), place)
        if chat_template is not None:
            known = place.templates.get(chat_template)
            return Chosen(chat_template, None) if known is None else Chosen(known, place)
        for name in ("tool_use", DEFAULT) if tools is not None else (DEFAULT,):
            if name in place.templates:
                return Chosen(place.templates[name], place)
        raise InvalidArgument(
            f"{place.place} states several chat templates and no default: "
            f"{', '.join(sorted(place.templates))}",
            source=self.source,
            hint="chat_template= takes one of these names",
        )

    def ready(self, asked: Asked) -> CompiledTemplate:
        """The template that such a call renders; the next one like it finds it at once."""
        by_call = asked.chat_template is not None
        key = None if by_call else (asked.tools is None, asked.renderer, asked.strict, asked.limits)
        known = None if by_call else self._ready.get(key)
        if known is None:
            chosen = self.get(asked.chat_template, asked.tools)
            known = self.compiled(chosen, asked.renderer, strict=asked.strict, limits=asked.limits)
            if not by_call and len(self._ready) < _KEPT:
                self._ready[key] = known
            if key is not None and key[1:] == _PLAIN:
                self._direct[asked.tools is not None] = getattr(known, "plain_text", None)
        return known

    def text(
        self,
        conversation: list[Any],
        tools: Sequence[Any] | None,
        add_generation_prompt: bool,
        arguments: Mapping[str, Any],
    ) -> str | None:
        """The text of a conversation by a call that says nothing else, if a call like it came
        before and what it gives is plain. None: `face.chat_text` has the answer, or the error."""
        direct = self._direct[tools is not None]
        if direct is None or type(conversation) is not list or not conversation:
            return None
        if type(conversation[0]) is not dict:
            return None
        if tools is not None:
            if type(tools) is not list:
                return None
            for tool in tools:
                if type(tool) is not dict:
                    return None
        return direct(conversation, tools, add_generation_prompt, self.special_tokens, arguments)

    def compiled(
        self,
        chosen: Chosen,
        rendering: Rendering = None,
        *,
        strict: bool = True,
        limits: TemplateLimits | None = None,
    ) -> CompiledTemplate:
        """The template, ready. The tokenizer's own are found by their name the next time; what came
        with a call is kept by its renderer, within bounds."""
        place = chosen.place
        if place is None:
            return chosen.compile(rendering, strict=strict, limits=limits, sandbox=self.sandbox)
        key = (chosen.source, rendering, strict, limits)
        known = self._compiled.get(key)
        if known is None:
            known = chosen.compile(rendering, strict=strict, limits=limits, sandbox=self.sandbox)
            if len(self._compiled) < _KEPT:
                self._compiled[key] = known
        return known

    def _readable(self) -> TemplatePlace | None:
        place = self.place
        if place is not None and place.problem is not None:
            raise InvalidFile(f"the chat template cannot be read: {place.problem}")
        return place

    def none(self) -> TokenizerError:
        from .formats import no_template

        return no_template(self.file_format, self.beside, self.source)


def _inside(tok: Tokenizer) -> tuple[TemplatePlace, ...]:
    """What the tokenizer's own file holds."""
    if tok.format != "gguf":
        return ()
    from ...backends.core import CoreBackend

    served = tok.core_backend
    recipe = tok.recipe
    core = served or CoreBackend.load(
        recipe.data, build=None, source=recipe.source, options=recipe.load
    )
    try:
        found = of_gguf(core.info.get("chat_templates", ()))
    finally:
        if served is None:
            core.close()
    return () if found is None else (found,)
