"""pywasmtok: an exact LLM tokenizer in WebAssembly.

import pywasmtok

tok = pywasmtok.create_tokenizer("builtin:demo")
ids = tok.encode("Hello world")
tok.decode(ids)
"""

from __future__ import annotations

import importlib
import typing

from . import errors
from .errors import (
    AmbiguousDirectory,
    AmbiguousPattern,
    ArtifactError,
    BackendFailure,
    BackendUnavailable,
    Cancelled,
    Compressed,
    CoreTrap,
    DeadlineExceeded,
    DocstringParsingException,
    EmptyFile,
    GitLfsPointer,
    HostError,
    HostLimit,
    HostUnsupported,
    InputTooLarge,
    InvalidArgument,
    InvalidFile,
    InvalidText,
    InvalidToken,
    LimitExceeded,
    LoadError,
    MemoryLimit,
    NotATokenizer,
    NoTokenizerInFile,
    QuotaExceeded,
    SourceNotFound,
    SpecialTokenInText,
    TemplateError,
    TemplateLimitExceeded,
    TemplateRaised,
    TemplateRuntimeError,
    TemplateSyntaxError,
    TokenizerClosed,
    TokenizerError,
    TypeHintParsingException,
    UnknownFormat,
    Unsupported,
    UnsupportedTemplateFeature,
)
from .loading.factory import (
    create_tokenizer,
    create_tokenizer_from_file,
    create_tokenizer_with_chat_template,
)
from .tokenizer.encoding import Encoding, EncodingBatch
from .tokenizer.fitting import Truncated
from .tokenizer.limits import Limits
from .tokenizer.special.tokens import SpecialTokens
from .tokenizer.tokenizer import BackendInfo, Tokenizer

if typing.TYPE_CHECKING:
    from ._host.snapshots.store import SnapshotStore
    from .loading.familiar import (
        ChatMessage,
        Decoder,
        Encoder,
        HuggingFaceTokenizer,
        MockTokenizer,
        TiktokenTokenizer,
    )
    from .loading.info import TokenizerInfo, get_tokenizer_info
    from .loading.writers import ConvertedTokenizer, convert_tokenizer
    from .tokenizer.arrow.column import EncodedColumn
    from .tokenizer.prefix_cache import CacheStats, PrefixCache
    from .tokenizer.streaming.sequence import Sequence
    from .tokenizer.streaming.spans import TokenSpan
    from .tokenizer.streaming.stop import (
        Held,
        Matched,
        Stopped,
        StoppedWithText,
        StopSequenceConfig,
        StopSequenceDecoder,
        Text,
    )
    from .tokenizer.streaming.stream import DecodeStream

__version__ = "0.1.0"

__all__ = [
    "AmbiguousDirectory",
    "AmbiguousPattern",
    "ArtifactError",
    "BackendFailure",
    "BackendInfo",
    "BackendUnavailable",
    "CacheStats",
    "Cancelled",
    "ChatMessage",
    "Compressed",
    "ConvertedTokenizer",
    "CoreTrap",
    "DeadlineExceeded",
    "DecodeStream",
    "Decoder",
    "DocstringParsingException",
    "EmptyFile",
    "EncodedColumn",
    "Encoder",
    "Encoding",
    "EncodingBatch",
    "GitLfsPointer",
    "Held",
    "HostError",
    "HostLimit",
    "HostUnsupported",
    "HuggingFaceTokenizer",
    "InputTooLarge",
    "InvalidArgument",
    "InvalidFile",
    "InvalidText",
    "InvalidToken",
    "LimitExceeded",
    "Limits",
    "LoadError",
    "Matched",
    "MemoryLimit",
    "MockTokenizer",
    "NoTokenizerInFile",
    "NotATokenizer",
    "PrefixCache",
    "QuotaExceeded",
    "Sequence",
    "SnapshotStore",
    "SourceNotFound",
    "SpecialTokenInText",
    "SpecialTokens",
    "StopSequenceConfig",
    "StopSequenceDecoder",
    "Stopped",
    "StoppedWithText",
    "TemplateError",
    "TemplateLimitExceeded",
    "TemplateRaised",
    "TemplateRuntimeError",
    "TemplateSyntaxError",
    "Text",
    "TiktokenTokenizer",
    "TokenSpan",
    "Tokenizer",
    "TokenizerClosed",
    "TokenizerError",
    "TokenizerInfo",
    "Truncated",
    "TypeHintParsingException",
    "UnknownFormat",
    "Unsupported",
    "UnsupportedTemplateFeature",
    "__version__",
    "convert_tokenizer",
    "create_tokenizer",
    "create_tokenizer_from_file",
    "create_tokenizer_with_chat_template",
    "errors",
    "get_tokenizer_info",
]


# Names that need wasmtime, and names that few programs need. The first use imports the module.
_LATE: typing.Final = {
    "_host.snapshots.store": ["SnapshotStore"],
    "loading.familiar": [
        "ChatMessage",
        "Decoder",
        "Encoder",
        "HuggingFaceTokenizer",
        "MockTokenizer",
        "TiktokenTokenizer",
    ],
    "loading.info": ["TokenizerInfo", "get_tokenizer_info"],
    "loading.writers": ["ConvertedTokenizer", "convert_tokenizer"],
    "tokenizer.arrow.column": ["EncodedColumn"],
    "tokenizer.prefix_cache": ["CacheStats", "PrefixCache"],
    "tokenizer.streaming.sequence": ["Sequence"],
    "tokenizer.streaming.spans": ["TokenSpan"],
    "tokenizer.streaming.stop": [
        "Held",
        "Matched",
        "StopSequenceConfig",
        "StopSequenceDecoder",
        "Stopped",
        "StoppedWithText",
        "Text",
    ],
    "tokenizer.streaming.stream": ["DecodeStream"],
}


def __getattr__(name: str) -> typing.Any:
    for module, names in _LATE.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
