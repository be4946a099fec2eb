"""Turns what the core reports into the errors of this package."""

from __future__ import annotations

from typing import Final

from ... import errors
from . import abi

_CLASSES: Final[dict[int, type[errors.TokenizerError]]] = {
    abi.ERROR_EMPTY_FILE: errors.EmptyFile,
    abi.ERROR_GIT_LFS_POINTER: errors.GitLfsPointer,
    abi.ERROR_COMPRESSED: errors.Compressed,
    abi.ERROR_NOT_A_TOKENIZER: errors.NotATokenizer,
    abi.ERROR_UNKNOWN_FORMAT: errors.UnknownFormat,
    abi.ERROR_INVALID_FILE: errors.InvalidFile,
    abi.ERROR_UNSUPPORTED: errors.Unsupported,
    abi.ERROR_LIMIT_EXCEEDED: errors.LimitExceeded,
    abi.ERROR_INVALID_TEXT: errors.InvalidText,
    abi.ERROR_INVALID_TOKEN: errors.InvalidToken,
    abi.ERROR_BAD_ARGUMENT: errors.InvalidArgument,
    abi.ERROR_OUT_OF_MEMORY: errors.MemoryLimit,
    abi.ERROR_INTERNAL: errors.BackendFailure,
    abi.ERROR_AMBIGUOUS_PATTERN: errors.AmbiguousPattern,
    abi.ERROR_NO_TOKENIZER_IN_FILE: errors.NoTokenizerInFile,
    abi.ERROR_SPECIAL_TOKEN_IN_TEXT: errors.SpecialTokenInText,
}

OUT_OF_MEMORY: Final = "the memory that one call may use is exhausted"


class Interrupted(Exception):  # noqa: N818
    """A call was stopped on purpose; never leaves this package."""


def reported(
    kind: int, message: str, offset: int | None, path: str | None, feature: str | None
) -> errors.TokenizerError:
    """The error for a status that the core left in its session block."""
    if kind == abi.ERROR_OUT_OF_MEMORY and not message:
        message = OUT_OF_MEMORY
    known = _CLASSES.get(kind)
    if known is None:
        return misbehaved(f"reported an error of unknown kind {kind}: {message}")
    if known is errors.SpecialTokenInText:
        return errors.SpecialTokenInText.named(feature or "", message, path, offset)
    return known(message or known.kind, path=path, offset=offset, feature=feature)


def renumber(error: errors.TokenizerError, before: int) -> None:
    """The core counts the texts of one call; a caller counts those of earlier ones, too."""
    number = (error.path or "").removeprefix("texts[").removesuffix("]")
    if before and number.isdecimal():
        error.path = f"texts[{int(number) + before}]"


def misbehaved(what: str) -> errors.CoreTrap:
    """For answers that no sound core gives: nothing that it says is believed any more."""
    return errors.CoreTrap(f"the core {what}", hint="Its instance was thrown away")


def trapped(code: str, detail: str) -> errors.CoreTrap:
    said = f": {detail}" if detail else ""
    return errors.CoreTrap(
        f"the core stopped with {code}{said}",
        hint="Its instance was thrown away; please report this with the text that caused it",
    )


def lone_surrogate(
    text: str, found: UnicodeEncodeError, place: str | None = None
) -> errors.InvalidText:
    """Python strings may hold halves of surrogate pairs; UTF-8, and so every tokenizer, may not."""
    index = found.start
    return errors.InvalidText(
        f"character {index} is the lone surrogate U+{ord(text[index]):04X}",
        path=place,
        offset=len(text[:index].encode()),
        hint="Encode and decode the text with errors='replace' first",
    )


def not_text(value: object, place: str | None = None) -> errors.InvalidArgument:
    return errors.InvalidArgument(f"text must be a str, not {type(value).__name__}", path=place)
