"""Every error that reaches a caller, in one tree.

    TokenizerError
    ├── LoadError                 a file could not become a tokenizer
    │   ├── SourceNotFound        nothing there (also a FileNotFoundError)
    │   ├── EmptyFile             no bytes, or only white space
    │   ├── GitLfsPointer         the pointer of a file that was never fetched
    │   ├── Compressed            gzip, xz, zstd: decompress it first
    │   ├── NotATokenizer         something else: a configuration, HTML, weights
    │   ├── UnknownFormat         nothing known about its first bytes
    │   ├── InvalidFile           breaks the rules of its own format
    │   ├── AmbiguousDirectory    a folder with several files that could be meant
    │   ├── AmbiguousPattern      a rank file that does not say how to cut text
    │   └── NoTokenizerInFile     a good file (of weights, say) without a tokenizer
    ├── Unsupported               valid, but not served exactly (`.feature` says what)
    ├── LimitExceeded             a declared bound was passed (`.limit`, and `.asked`)
    │   ├── DeadlineExceeded      a call took longer than it may
    │   ├── MemoryLimit           a call needed more memory than it may use
    │   ├── InputTooLarge         what a call was given is too large: nothing was done
    │   └── QuotaExceeded         what a call would answer is too much
    ├── InvalidText               text that is not made of Unicode scalar values
    ├── InvalidToken              an id or a token that the tokenizer does not have
    ├── SpecialTokenInText        a text names a special token, and `special="raise"` was said
    ├── InvalidArgument           a call that makes no sense (also a ValueError)
    │   ├── TypeHintParsingException   a tool's function has a hint that JSON has no word for
    │   └── DocstringParsingException  a tool's function does not say what its arguments are
    ├── TemplateError             a chat template (kinds below it: .line, .column, .feature)
    │   ├── TemplateSyntaxError            no template
    │   ├── TemplateRuntimeError           failed as it does in the reference
    │   ├── TemplateRaised                 raise_exception: the message is the template's own
    │   ├── UnsupportedTemplateFeature     cannot be rendered exactly (`.feature` says what)
    │   └── TemplateLimitExceeded          also a LimitExceeded (`.feature` names the bound)
    ├── TokenizerClosed           used after close()
    ├── Cancelled                 the caller has cancelled the call
    ├── BackendUnavailable        a package that this needs is not installed
    ├── BackendFailure            a library below failed or panicked
    └── HostError                 the WebAssembly host
        ├── ArtifactError         a core build that is missing, altered or of another ABI
        ├── CoreTrap              the core stopped: its instance was thrown away
        ├── HostLimit             no memory maps for another instance; a LimitExceeded, too
        └── HostUnsupported       an environment that cannot run it (subinterpreters)

Each carries `kind` (a short stable string), `message` (what was wrong), and where known `path`
(place inside the file), `offset` (byte offset), `feature`, `source` (the file), and `hint` (what
to do).
"""

from __future__ import annotations

from typing import Any, Self

__all__ = [
    "AmbiguousDirectory",
    "AmbiguousPattern",
    "ArtifactError",
    "BackendFailure",
    "BackendUnavailable",
    "Cancelled",
    "Compressed",
    "CoreTrap",
    "DeadlineExceeded",
    "DocstringParsingException",
    "EmptyFile",
    "GitLfsPointer",
    "HostError",
    "HostLimit",
    "HostUnsupported",
    "InputTooLarge",
    "InvalidArgument",
    "InvalidFile",
    "InvalidText",
    "InvalidToken",
    "LimitExceeded",
    "LoadError",
    "MemoryLimit",
    "NoTokenizerInFile",
    "NotATokenizer",
    "QuotaExceeded",
    "SourceNotFound",
    "SpecialTokenInText",
    "TemplateError",
    "TemplateLimitExceeded",
    "TemplateRaised",
    "TemplateRuntimeError",
    "TemplateSyntaxError",
    "TokenizerClosed",
    "TokenizerError",
    "TypeHintParsingException",
    "UnknownFormat",
    "Unsupported",
    "UnsupportedTemplateFeature",
]


class TokenizerError(Exception):
    """The root; see the module text for the tree."""

    kind = "tokenizer_error"

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        feature: str | None = None,
        source: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.feature = feature
        self.source = source
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.source is not None:
            text = f"{self.source}: {text}"
        if self.path:
            text += f" (at {self.path})"
        if self.offset is not None:
            text += f" (byte {self.offset})"
        if self.hint:
            text += f". {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments are lost by the default pickling of exceptions, and `path` is not
        # in the dictionary of an ImportError, which has a `path` of its own.
        return (_rebuild, (type(self), self.message, {**self.__dict__, "path": self.path}))


def _rebuild(cls: type[TokenizerError], message: str, state: dict[str, object]) -> TokenizerError:
    error = cls(message)
    for name, value in state.items():
        setattr(error, name, value)
    return error


class LoadError(TokenizerError):
    kind = "load_error"


class SourceNotFound(LoadError, FileNotFoundError):
    kind = "source_not_found"


class EmptyFile(LoadError):
    kind = "empty_file"


class GitLfsPointer(LoadError):
    kind = "git_lfs_pointer"


class Compressed(LoadError):
    kind = "compressed"


class NotATokenizer(LoadError):
    kind = "not_a_tokenizer"


class UnknownFormat(LoadError):
    kind = "unknown_format"

    def __init__(self, message: str, **rest: Any) -> None:
        super().__init__(message, **rest)
        if self.hint is None:
            self.hint = (
                "Known are tokenizer.json, rank files of tiktoken, tekken.json, SentencePiece's "
                ".model, GGUF, vocab.json with merges.txt, BERT's vocab.txt and RWKV's vocabularies"
            )


class InvalidFile(LoadError):
    kind = "invalid_file"


class AmbiguousDirectory(LoadError):
    kind = "ambiguous_directory"


class AmbiguousPattern(LoadError):
    kind = "ambiguous_pattern"


class NoTokenizerInFile(LoadError):
    kind = "no_tokenizer_in_file"


class Unsupported(TokenizerError):
    kind = "unsupported"


class LimitExceeded(TokenizerError):
    """`limit` is the bound, and `asked` what would have passed it, in the same unit: bytes, tokens,
    items, or seconds. None: unknown."""

    kind = "limit_exceeded"
    limit: float | None = None
    asked: float | None = None

    @classmethod
    def of(cls, message: str, limit: float, asked: float | None, **rest: Any) -> Self:
        error = cls(message, **rest)
        error.limit, error.asked = limit, asked
        return error


class DeadlineExceeded(LimitExceeded):
    kind = "deadline_exceeded"


class MemoryLimit(LimitExceeded):
    """`asked` is at least what was in use when there was no more."""

    kind = "memory_limit"


class InputTooLarge(LimitExceeded):
    kind = "input_too_large"


class QuotaExceeded(LimitExceeded):
    kind = "quota_exceeded"


class InvalidText(TokenizerError, ValueError):
    kind = "invalid_text"


class InvalidToken(TokenizerError, LookupError):
    kind = "invalid_token"


class SpecialTokenInText(TokenizerError, ValueError):
    """`token` says which one, `offset` and `character` where its name begins; in a batch, `path`
    says in which text."""

    kind = "special_token_in_text"
    token: str | None = None
    character: int | None = None

    @classmethod
    def named(
        cls, token: str, message: str, path: str | None, offset: int | None
    ) -> SpecialTokenInText:
        error = cls(
            message,
            path=path,
            offset=offset,
            hint='special="none" takes such names as text',
        )
        error.token = token
        return error


class InvalidArgument(TokenizerError, ValueError):
    kind = "invalid_argument"


class TypeHintParsingException(InvalidArgument):
    kind = "type_hint"


class DocstringParsingException(InvalidArgument):
    kind = "docstring"


class TokenizerClosed(TokenizerError):
    kind = "tokenizer_closed"


class Cancelled(TokenizerError):
    """A call within `cancellable` whose token was cancelled."""

    kind = "cancelled"


class BackendUnavailable(TokenizerError, ImportError):
    kind = "backend_unavailable"


class BackendFailure(TokenizerError):
    kind = "backend_failure"


class HostError(TokenizerError):
    kind = "host_error"


class ArtifactError(HostError):
    kind = "artifact_error"


class CoreTrap(HostError):
    kind = "core_trap"


class HostLimit(HostError, LimitExceeded):
    """The instances of this process have taken all memory maps that they may."""

    kind = "host_limit"


class HostUnsupported(HostError):
    kind = "host_unsupported"


class TemplateError(TokenizerError):
    """`line` and `column` count from 1, in characters of the template."""

    kind = "template_error"

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, **rest: Any
    ) -> None:
        super().__init__(message, **rest)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        text = super().__str__()
        if self.line is not None:
            column = "" if self.column is None else f", column {self.column}"
            text += f" (line {self.line}{column} of the template)"
        return text


class TemplateSyntaxError(TemplateError):
    kind = "template_syntax"


class TemplateRuntimeError(TemplateError):
    kind = "template_runtime"


class TemplateRaised(TemplateError):
    """The template called `raise_exception`; `message` and `str()` are its words, unchanged."""

    kind = "template_raised"

    def __str__(self) -> str:
        return self.message


class UnsupportedTemplateFeature(TemplateError):
    kind = "template_unsupported"


class TemplateLimitExceeded(TemplateError, LimitExceeded):
    kind = "template_limit"
