"""`sanitize_control_tokens=True`, as transformers 5.23 does it.

Control tokens in the strings of a request are put between two private characters, the chat is
rendered, and what stands between them is encoded as plain text, piece by piece. `encode_chat` does
the same better: it encodes one text, and sees tokens that a template puts together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..errors import TemplateLimitExceeded, Unsupported
from ..loading.literals import literal_text
from .rendering.plain import DEEPEST, is_object, plain

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer
    from .templates.catalog import ChatTemplates

__all__ = ["control_of", "control_tokens", "encode_marked", "mark"]

_START: Final = "\U000f0000"
_END: Final = "\U000f0001"
# Templates of which the control tokens are remembered.
_KEPT: Final = 16


def control_of(templates: ChatTemplates, source: str) -> tuple[str, ...]:
    """`control_tokens` of a tokenizer's template, remembered."""
    known = templates.control.get(source)
    if known is None:
        known = control_tokens(templates.encoder, source, templates.settings.control_tokens)
        if len(templates.control) >= _KEPT:
            templates.control.clear()
        templates.control[source] = known
    return known


def control_tokens(
    tok: Tokenizer, source: str, chosen: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The special tokens, and those in `chosen` (`chat_control_tokens` of tokenizer_config.json).
    Where nothing was chosen: and the added tokens that the template writes, white space apart."""
    if chosen is None:
        text = literal_text(source)
        written = {name for name in tok.added_tokens if name in text and not name.isspace()}
    else:
        written = set(chosen)
    return tuple(
        name for name, token in tok.added_tokens.items() if token.special or name in written
    )


def mark(value: Any, control: Sequence[str]) -> Any:
    """A copy in which control tokens are marked, in strings at any depth but in no keys."""
    return _mark(value, _pattern(tuple(control)))


def _mark(value: Any, pattern: re.Pattern[str], depth: int = 0) -> Any:
    if isinstance(value, str):
        # Marks that were there already are forged.
        clean = value.replace(_START, "").replace(_END, "")
        return pattern.sub(rf"{_START}\g<0>{_END}", clean)
    if depth > DEEPEST:
        raise TemplateLimitExceeded(f"deeper than {DEEPEST} levels", feature="depth")
    if isinstance(value, Mapping):
        return {key: _mark(item, pattern, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mark(item, pattern, depth + 1) for item in value]
    if is_object(value):
        return _mark(plain(value), pattern, depth + 1)
    return value


@lru_cache(maxsize=32)
def _pattern(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """Longer tokens first: they take what shorter ones inside them would."""
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


@lru_cache(maxsize=32)
def _marked_pattern(tokens: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"{_START}({_pattern(tokens).pattern}){_END}|[{_START}{_END}]")


def encode_marked(tok: Tokenizer, text: str) -> list[int]:
    """Ids of a chat that was rendered from marked values. Marks that a template took apart are
    dropped, but what they kept apart stays apart."""
    added: Mapping[str, Any] = tok.added_tokens
    # The text between marks, and in turn a marked token, or None for a mark on its own.
    pieces: Iterable[str | None] = _marked_pattern(tuple(added)).split(text)
    newline = tok.encode("\n", add_special_tokens=False).ids
    ids: list[int] = []
    for place, piece in enumerate(pieces):
        if place == 0:
            ids += tok.encode(piece or "", add_special_tokens=False).ids
        elif piece:
            is_token = place % 2 == 1
            found = _encode_piece(tok, piece, newline, as_text=is_token)
            if is_token and added[piece].id in found:
                raise Unsupported(
                    f"the tokenizer makes {piece!r} of plain text", feature="special:sanitize"
                )
            ids += found
    return ids


def _encode_piece(tok: Tokenizer, piece: str, newline: list[int], *, as_text: bool) -> list[int]:
    """Behind a line break, whose ids are taken away again: so no prefix space is added."""

    def encode(text: str) -> list[int]:
        if as_text:
            parts = [(text, False)]
            return tok.encode_segments(parts, add_special_tokens=False, control="added").ids
        return tok.encode(text, add_special_tokens=False).ids

    ids = encode("\n" + piece)
    return ids[len(newline) :] if ids[: len(newline)] == newline else encode(piece)
