"""Names that users of SGLang's, Dynamo's and TGI's tokenizer layers type.

They make and describe the one class `Tokenizer`; docs/coming-from-other-layers.md has the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, Required, TypedDict, runtime_checkable

from ..errors import InvalidArgument, SourceNotFound

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer
    from .sources import SourceLike
    from .templates import TemplateLike

__all__ = [
    "ChatMessage",
    "Decoder",
    "Encoder",
    "HuggingFaceTokenizer",
    "MockTokenizer",
    "TiktokenTokenizer",
]


@runtime_checkable
class Encoder(Protocol):
    """What makes ids of text: a `Tokenizer`, or a class of one's own."""

    def encode(self, text: str) -> Sequence[int]: ...

    def encode_batch(self, texts: Iterable[str]) -> Sequence[Sequence[int]]: ...


@runtime_checkable
class Decoder(Protocol):
    """What makes text of ids."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = ...) -> str: ...


class ChatMessage(TypedDict, total=False):
    """A message of a conversation. Templates may read more keys: a plain dict has any."""

    role: Required[str]
    content: str | list[dict[str, Any]] | None
    name: str
    reasoning_content: str
    tool_calls: list[dict[str, Any]]
    tool_call_id: str


def MockTokenizer() -> Tokenizer:  # noqa: N802
    """`create_tokenizer("mock://")`: eight words, for tests."""
    from .factory import create_tokenizer

    return create_tokenizer("mock://")


class _HuggingFace:
    """`HuggingFaceTokenizer(path)`: a tokenizer.json, or a folder in which it comes first."""

    def __call__(
        self, path: SourceLike, chat_template: TemplateLike | None = None, **options: Any
    ) -> Tokenizer:
        from .factory import create_tokenizer_with_chat_template

        # A path, and never a name.
        tok = create_tokenizer_with_chat_template(os.fsencode(path), chat_template, **options)
        return _of_format(tok, "tokenizer.json")

    from_file = __call__
    from_file_with_chat_template = __call__


class _Tiktoken:
    """`TiktokenTokenizer("gpt-4")`: the name of a model or of an encoding, or a rank file."""

    def __call__(self, name_or_path: SourceLike, **options: Any) -> Tokenizer:
        from .factory import create_tokenizer
        from .sources import Request
        from .sources.names import find_rule
        from .sources.paths import as_path, exists

        if isinstance(name_or_path, str) and not exists(as_path(name_or_path)):
            request = Request(model_map=options.get("model_map"))
            if find_rule(name_or_path, request) is None:
                raise SourceNotFound(
                    "no file, and no known name of a model or an encoding of tiktoken",
                    source=name_or_path,
                    hint="model_map= adds names; create_tokenizer() takes repositories of the hub",
                )
        return _of_format(create_tokenizer(name_or_path, **options), "tiktoken")

    from_model_name = __call__


HuggingFaceTokenizer: Final = _HuggingFace()
TiktokenTokenizer: Final = _Tiktoken()


def _of_format(tok: Tokenizer, wanted: str) -> Tokenizer:
    if tok.format == wanted:
        return tok
    tok.close()
    raise InvalidArgument(
        f"this is no {wanted} file, but {tok.format}",
        source=tok.source,
        hint="create_tokenizer() takes every format",
    )
