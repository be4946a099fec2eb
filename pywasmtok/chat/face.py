"""`apply_chat_template`, as users of transformers 5.23 know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidArgument
from ..tokenizer.arguments import check_list
from .contract import Profile, RenderRequest, TemplateLimits
from .rendering.renderers import Rendering, refuse_unknown
from .result import ChatEncoding, Row, Shape
from .templates.reserved import refuse_reserved
from .tools_schema import tools_as_dicts

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer
    from .contract import CompiledTemplate, Rendered
    from .templates.catalog import ChatTemplates

__all__ = ["Asked", "Chat", "apply_chat_template", "as_conversations"]

PROFILES = ("hf-5", "hf-4.57")


class Asked(NamedTuple):
    """How conversations are to be rendered: what is the same for all of a batch."""

    tools: Sequence[Any] | None = None
    documents: Sequence[Any] | None = None
    chat_template: str | None = None
    add_generation_prompt: bool = False
    continue_final_message: bool | str = False
    now: datetime | None = None
    profile: Profile = "hf-5"
    renderer: Rendering = None
    strict: bool = True
    limits: TemplateLimits | None = None
    arguments: Mapping[str, Any] | None = None

    def checked(self) -> Asked:
        if self.profile not in PROFILES:
            raise InvalidArgument(f"profile={self.profile!r} is none of {', '.join(PROFILES)}")
        refuse_unknown(self.renderer)
        if not isinstance(self.strict, bool):
            raise InvalidArgument(f"strict is True or False, not {self.strict!r:.40}")
        if self.now is not None and not isinstance(self.now, datetime):
            raise InvalidArgument(f"now is a datetime, not {type(self.now).__name__}")
        if self.continue_final_message and self.add_generation_prompt:
            raise InvalidArgument(
                "continue_final_message and add_generation_prompt exclude each other: a chat goes "
                "on with its last message, or begins another one"
            )
        if self.arguments:
            refuse_reserved(self.arguments)
        if self.documents:
            _require_dicts(self.documents)
        return self


def _require_dicts(documents: Sequence[Any]) -> None:
    check_list("documents", documents)
    for place, document in enumerate(documents):
        if not isinstance(document, dict):
            raise InvalidArgument(
                f"documents[{place}] is {type(document).__name__}: a document is a dict, as a "
                "rule with title and text"
            )


class Chat:
    """One way to render, ready: the template is chosen and compiled, tools are schemas."""

    __slots__ = ("asked", "template", "templates", "tools")

    def __init__(self, templates: ChatTemplates, asked: Asked) -> None:
        self.templates = templates
        self.asked = asked.checked()
        self.template: CompiledTemplate = templates.ready(asked)
        tools = asked.tools
        self.tools = None if tools is None else tools_as_dicts(tools)

    def request(self, messages: Sequence[Any], *, generation: bool = False) -> RenderRequest:
        asked = self.asked
        # In the order of the fields: names of arguments cost half a microsecond.
        return RenderRequest(
            messages,
            self.tools,
            asked.documents,
            asked.add_generation_prompt,
            asked.continue_final_message,
            self.templates.special_tokens,
            asked.arguments or {},
            asked.now,
            asked.profile,
            generation,
        )

    def render(self, messages: Sequence[Any], *, generation: bool = False) -> Rendered:
        return self.template.render(self.request(messages, generation=generation))


def chat_text(tok: Tokenizer, conversation: Any, asked: Asked) -> Any:
    """Without ids: the text, or the texts of a batch."""
    conversations, batched = as_conversations(conversation, tok.listed)
    chat = Chat(tok.chat_templates, asked)
    if batched:
        return [chat.render(messages).text for messages in conversations]
    # Each call in between would be a fiftieth of a short render.
    return chat.template.render(chat.request(conversations[0])).text


def apply_chat_template(
    tok: Tokenizer,
    conversation: Any,
    asked: Asked,
    *,
    tokenize: bool,
    sanitize_control_tokens: bool,
    padding: bool | str,
    truncation: bool | str,
    max_length: int | None,
    return_tensors: str | None,
    return_dict: bool,
    return_assistant_tokens_mask: bool,
    tokenizer_kwargs: Mapping[str, Any] | None,
) -> Any:
    masked = return_assistant_tokens_mask
    if masked and not (return_dict and tokenize):
        raise InvalidArgument(
            "return_assistant_tokens_mask=True needs return_dict=True and tokenize=True"
        )
    if masked and asked.continue_final_message:
        raise InvalidArgument("continue_final_message knows no assistant mask")
    if sanitize_control_tokens and (masked or not tokenize):
        raise InvalidArgument(
            "sanitize_control_tokens=True needs tokenize=True, and knows no assistant mask"
        )
    templates = tok.chat_templates
    conversations, batched = as_conversations(conversation, tok.listed)
    settings = templates.settings
    pad = None if settings.pad_token is None else tok.token_to_id(settings.pad_token)
    if pad is None and settings.pad_token and padding:
        # It may stand only in the configuration.
        pad = templates.encoder.token_to_id(settings.pad_token)
    shape = Shape.of(
        settings,
        padding=padding,
        truncation=truncation,
        max_length=max_length,
        return_tensors=return_tensors,
        more=tokenizer_kwargs or {},
        pad_id=pad,
    )
    if sanitize_control_tokens:
        asked, conversations = _marked(templates, asked, conversations)
    chat = Chat(templates, asked)
    rendered = [chat.render(messages, generation=masked) for messages in conversations]
    texts = [item.text for item in rendered]
    if sanitize_control_tokens:
        rows = _sanitized(templates.encoder, texts, shape)
    else:
        rows = _encoded(templates.encoder, texts)
    shape.fit(rows)
    fields = shape.fields(rows)
    if masked:
        from .masks import assistant_mask

        fields["assistant_masks"] = [
            assistant_mask(row.offsets, item.generation)
            for row, item in zip(rows, rendered, strict=True)
        ]
    answer = ChatEncoding(shape.finish(fields, rows, batched=batched))
    answer.__dict__["texts"] = texts
    return answer if return_dict else answer["input_ids"]


def as_conversations(
    conversation: Any, listed: Callable[[list[Any]], list[Any]] = list
) -> tuple[list[Sequence[Any]], bool]:
    """Each conversation, and whether there are several: a list of lists is a batch, and so is one
    of objects that have `.messages`."""
    if type(conversation) is list and conversation and type(conversation[0]) is dict:
        return [conversation], False
    if isinstance(conversation, str | bytes | Mapping):
        raise InvalidArgument(f"a conversation is a list, not {type(conversation).__name__}")
    if hasattr(conversation, "messages"):
        return [conversation.messages], False
    check_list("a conversation", conversation)
    items = list(conversation)
    if not items:
        raise InvalidArgument("an empty conversation: there is nothing to render")
    if isinstance(items[0], list | tuple) or hasattr(items[0], "messages"):
        found = [getattr(item, "messages", item) for item in listed(items)]
        for number, messages in enumerate(found):
            check_list(f"conversations[{number}]", messages)
        return found, True
    return [items], False


def _encoded(encoder: Tokenizer, texts: list[str]) -> list[Row]:
    if len(texts) == 1:
        encodings = [encoder.encode(texts[0], add_special_tokens=False)]
    else:
        encodings = list(encoder.encode_batch(texts, add_special_tokens=False))
    return [Row(encoding.ids, encoding) for encoding in encodings]


def _marked(
    templates: ChatTemplates, asked: Asked, conversations: list[Sequence[Any]]
) -> tuple[Asked, list[Sequence[Any]]]:
    """The same request, with every control token in it between marks."""
    from .sanitize import control_of, mark

    source = templates.get(asked.chat_template, asked.tools).source
    control = control_of(templates, source)
    marked = asked._replace(
        tools=mark(tools_as_dicts(asked.tools), control),
        documents=mark(asked.documents, control),
        arguments=mark(dict(asked.arguments or {}), control),
    )
    return marked, [mark(list(messages), control) for messages in conversations]


def _sanitized(encoder: Tokenizer, texts: list[str], shape: Shape) -> list[Row]:
    from .sanitize import encode_marked

    if "offset_mapping" in shape.extras:
        raise InvalidArgument("sanitize_control_tokens=True knows no offsets")
    return [Row(encode_marked(encoder, text), None) for text in texts]
