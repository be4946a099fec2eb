"""A conversation as ids, in which no control token comes from the content of a message.

The template is rendered with the origin of every character known, and the text is encoded in
segments: the template's own words are trusted, all else is not. With messages that name no control
token the ids are those of the whole text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..tokenizer.arguments import check_list
from ..tokenizer.special.policy import control_ids
from .contract import Origin, Profile, Rendered, TemplateLimits
from .masks import assistant_mask
from .origins import MessageSpan, message_spans, segments
from .sanitize import control_of

if TYPE_CHECKING:
    from ..tokenizer.encoding import Encoding
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["EncodedChat", "encode_chat", "encode_rendered"]


@dataclass(frozen=True)
class EncodedChat:
    """Ids, and the origin of each. Places count characters of `text`."""

    encoding: Encoding
    text: str
    origins: tuple[Origin, ...]
    """What the caller's values wrote, each with the place of the value in the request."""
    generation: tuple[tuple[int, int], ...]
    """What the template calls generated."""
    defused: int
    """How many more control tokens the ids would have if user text could produce them."""
    count: int = field(repr=False)

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    def __len__(self) -> int:
        return len(self.encoding)

    @cached_property
    def messages(self) -> tuple[MessageSpan | None, ...]:
        """Where each message stands, in characters and in tokens; None: nothing of it does."""
        return message_spans(self.count, self.origins, self.encoding.offsets)

    @cached_property
    def assistant_mask(self) -> list[int]:
        """1 for tokens of generation blocks; a template without them has none."""
        if not self.generation:
            return [0] * len(self.encoding)
        return assistant_mask(self.encoding.offsets, self.generation)


def encode_chat(
    tok: Tokenizer,
    /,
    messages: Sequence[Any],
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    chat_template: str | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    control: str | Set[str] = "template",
    now: datetime | None = None,
    profile: Profile = "hf-5",
    strict: bool = True,
    limits: TemplateLimits | None = None,
    arguments: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> EncodedChat:
    """Renders in the sandbox and encodes in segments.

    control    what counts as a control token: "template" (the special tokens, and the added ones
               that the template writes), or what `encode_segments` takes
    arguments  variables of the template, as are further keywords. They are not trusted: neither is
               a `bos_token` among them
    """
    from .face import Asked, Chat

    check_list("messages", messages)
    messages = list(messages)
    if not (arguments is None or isinstance(arguments, Mapping)):
        raise InvalidArgument(f"arguments is a dict, not {type(arguments).__name__}")
    templates = tok.chat_templates
    asked = Asked(
        tools=tools,
        documents=documents,
        chat_template=chat_template,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        now=now,
        profile=profile,
        strict=strict,
        limits=limits,
        arguments={**(arguments or {}), **kwargs},
    )
    chat = Chat(templates, asked)
    # A chat that goes on with its last message has no mask, as in transformers.
    wanted = not continue_final_message
    request = replace(chat.request(messages), origins=True, generation=wanted)
    rendered = chat.template.render(request)
    names = control
    if control == "template":
        names = frozenset(control_of(templates, chat.template.source))
    return encode_rendered(templates.encoder, rendered, len(messages), names)


def encode_rendered(
    tok: Tokenizer, rendered: Rendered, count: int, control: str | Set[str]
) -> EncodedChat:
    """Ids of a chat of `count` messages that was rendered with its origins."""
    encoding = tok.encode_segments(segments(rendered), add_special_tokens=False, control=control)
    return EncodedChat(
        encoding,
        rendered.text,
        rendered.origins,
        rendered.generation,
        _defused(tok, rendered.text, encoding, control),
        count,
    )


def _defused(tok: Tokenizer, text: str, encoding: Encoding, control: str | Set[str]) -> int:
    credulous = tok.encode(text, add_special_tokens=False)
    if credulous == encoding:
        return 0
    added = tok.added_tokens
    ids = {token.id for token in added.values() if token.special}
    ids.update(control_ids(control, lambda: added))
    more = Counter(number for number in credulous.ids if number in ids)
    more.subtract(number for number in encoding.ids if number in ids)
    return sum(count for count in more.values() if count > 0)
