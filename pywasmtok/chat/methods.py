"""What a tokenizer offers for conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import InvalidArgument, TemplateLimitExceeded

if TYPE_CHECKING:
    from datetime import datetime

    from ..loading.templates import TemplateLike
    from ..tokenizer.tokenizer import Tokenizer
    from .contract import Profile, Renderer, TemplateLimits
    from .rendering.renderers import Rendering
    from .session import ChatSession
    from .templates.capabilities import ChatCapabilities
    from .templates.catalog import ChatTemplates

__all__ = ["ChatMethods"]

T = TypeVar("T")


@cache
def _face() -> ModuleType:
    """Imported when it is first needed; the statement would be a tenth of a short render."""
    from . import face

    return face


class ChatMethods:
    """Mixed into `Tokenizer`; docs/chat.md is the guide."""

    _chat: ChatTemplates | None = None
    chat_sandbox: Renderer | None = None
    """Where templates are rendered, if not where all of this process are."""

    _elsewhere: Any = None
    """What renders and encodes conversations, where that is not done in this process."""

    @property
    def chat_encoder(self) -> Tokenizer | None:
        """What encodes rendered text, if a chat became ids: mostly this very tokenizer."""
        known = self._chat
        return None if known is None else known.__dict__.get("encoder")

    def apply_chat_template(  # noqa: PLR0917  # the order is that of transformers
        self,
        conversation: Any,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        sanitize_control_tokens: bool = False,
        padding: bool | str = False,
        truncation: bool | str = False,
        max_length: int | None = None,
        return_tensors: str | None = None,
        return_dict: bool = True,
        return_assistant_tokens_mask: bool = False,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,
        profile: Profile = "hf-5",
        renderer: Rendering = None,
        strict: bool = True,
        limits: TemplateLimits | None = None,
        **kwargs: Any,
    ) -> Any:
        """A conversation, or several, as the model was trained to read it: parameters and defaults
        are those of transformers 5.23, and so are text, ids and masks.

        return_tensors  "np": arrays; "buffer": ids as memoryviews of u32
        now             what `strftime_now` tells; None: the clock
        profile         whose habits: "hf-5" or "hf-4.57"
        renderer        a renderer of the program's own, in place of the sandbox. A template that
                        comes with the call is always rendered in the sandbox
        strict          False: what cannot be rendered exactly is a warning
        limits          bounds on templates and their work
        kwargs          variables of the template
        """
        if self._elsewhere is not None:
            given = {**locals()}
            del given["self"], given["conversation"]
            return self._elsewhere.apply_chat_template(conversation, **given.pop("kwargs"), **given)
        texts = not (tokenize or sanitize_control_tokens or return_assistant_tokens_mask)
        # Read once: `close` in another thread may set it to None at any moment.
        known = self._chat
        if (
            texts
            and known is not None
            and documents is None
            and chat_template is None
            and not continue_final_message
            and now is None
            and profile == "hf-5"
            and renderer is None
            and strict is True
            and limits is None
        ):
            # What most calls are, without the objects that the others need.
            text = known.text(conversation, tools, add_generation_prompt, kwargs)
            if text is not None:
                return text
        face = _face()
        limits = self._template_limits(limits)
        # In the order of the fields, as above.
        asked = face.Asked(
            tools,
            documents,
            chat_template,
            add_generation_prompt,
            continue_final_message,
            now,
            profile,
            renderer,
            strict,
            limits,
            kwargs,
        )
        if texts:
            return self.within_bounds(face.chat_text, cast("Tokenizer", self), conversation, asked)
        return self.within_bounds(
            face.apply_chat_template,
            cast("Tokenizer", self),
            conversation,
            asked,
            tokenize=tokenize,
            sanitize_control_tokens=sanitize_control_tokens,
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            return_tensors=return_tensors,
            return_dict=return_dict,
            return_assistant_tokens_mask=return_assistant_tokens_mask,
            tokenizer_kwargs=tokenizer_kwargs,
        )

    def encode_chat(self, /, messages: Sequence[Any], **arguments: Any) -> Any:
        """Ids of a conversation in which nothing that a message says becomes a control token, with
        the span of each message and the assistant mask; see `pywasmtok.chat.encode`."""
        if self._elsewhere is not None:
            return self._elsewhere.encode_chat(messages, **arguments)
        from .encode import encode_chat

        arguments["limits"] = self._template_limits(arguments.get("limits"))
        return self.within_bounds(encode_chat, cast("Tokenizer", self), messages, **arguments)

    def chat_session(self, /, **arguments: Any) -> ChatSession:
        """A conversation that grows: only what is new is rendered and encoded, where that is
        proven to be the same."""
        from .session import ChatSession

        self._require_templates("a session of a chat", "chat_session")
        arguments["limits"] = self._template_limits(arguments.get("limits"))
        return self.within_bounds(ChatSession, cast("Tokenizer", self), **arguments)

    def _template_limits(self, asked: TemplateLimits | None) -> TemplateLimits | None:
        """What a call asks for itself, within the bounds of this tokenizer."""
        if asked is not None:
            from .contract import TemplateLimits

            if not isinstance(asked, TemplateLimits):
                raise InvalidArgument(f"limits is a TemplateLimits, not {type(asked).__name__}")
        limits = cast("Tokenizer", self).limits
        return asked if limits is None else limits.for_templates(asked)

    def _require_templates(self, what: str, feature: str = "chat_template") -> None:
        if self._elsewhere is not None:
            self._elsewhere.require_file(what, feature)

    def within_bounds(self, call: Callable[..., T], /, *args: Any, **how: Any) -> T:
        """Rendering and encoding have one deadline; a bound on templates that is one of this
        tokenizer is raised as that."""
        tok = cast("Tokenizer", self)
        if tok.limits is None:
            return call(*args, **how)
        try:
            with tok.as_one():
                return call(*args, **how)
        except TemplateLimitExceeded as error:
            raise tok.limits.passed_by_template(error) from error

    def get_chat_template(
        self, chat_template: str | None = None, tools: Sequence[Any] | None = None
    ) -> str:
        """The source of the template that a call with these arguments would render."""
        return self.chat_templates.get(chat_template, tools).source

    @property
    def chat_template(self) -> str | dict[str, str] | Callable[..., str] | None:
        """A template, several by name, a function that was set, or None."""
        return self.chat_templates.stated

    def set_chat_template(self, template: TemplateLike | None) -> None:
        """From now on this template, its path, templates by name, or a function that writes the
        text; None: the model's own again. Copies of this tokenizer made later have it, too."""
        from ..loading.sources.templates import RUN_TIME
        from ..loading.templates import place_of

        self._require_templates("another chat template")
        tok = cast("Tokenizer", self)
        tok.recipe = tok.recipe._replace(chat_template=place_of(RUN_TIME, template))
        self._chat = None

    @property
    def chat_capabilities(self) -> ChatCapabilities:
        """What the template does with roles, tools, reasoning and parts of messages: found out by
        rendering."""
        from .templates.capabilities import capabilities_of

        return capabilities_of(self.chat_templates)

    @property
    def chat_templates(self) -> ChatTemplates:
        """The templates, and the places that state them."""
        known = self._chat
        if known is None:
            from .templates.catalog import ChatTemplates

            self._require_templates("the text of a chat template")
            tok = cast("Tokenizer", self)
            recipe = tok.recipe
            known = ChatTemplates.of(tok)
            if tok.recipe is recipe:
                # No other template was set meanwhile.
                self._chat = known
        return known
