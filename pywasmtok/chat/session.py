"""A conversation that grows, and of which only what is new is encoded.

Every call renders the whole conversation: a template is a program that may look at any message, so
nothing less than its answer proves what it writes. The text is then compared with the one before.
What both begin with is kept up to the last place where cutting provably changes no id
(docs/fitting.md); from there on the text is encoded. The ids are those of the whole, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..backends.core import CoreBackend
from ..errors import InvalidArgument, TokenizerError
from ..tokenizer.arguments import check_list
from ..tokenizer.encoding import ID_BYTES, Encoding
from .face import Asked, Chat

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["ChatSession", "SessionStats"]

# What a cut depends on: so many characters behind it.
_BEHIND = 2
# How far before a place a cut is looked for; it is nearly always a few characters away.
_NEAR, _FAR = 128, 4096
# A cut is put before each of these, counted from the end. The text of the next turn may leave the
# last words of this one out (an empty block of thoughts, say), and rarely more.
_FROM_END = (2, 64, 256, 1024)
# And one in each so many characters.
_EVERY = 8192


class SessionStats(NamedTuple):
    """What a session has done since it was made."""

    calls: int
    whole: int
    """Calls in which nothing could be kept; the first is always one."""
    chars: int
    """Characters of all texts."""
    kept_chars: int
    """Those that did not have to be encoded."""
    reason: str | None
    """Why nothing is ever kept for this tokenizer. None: what can be is."""


class ChatSession:
    """`messages` may be changed in any way between two calls; what is kept is found by comparing
    texts. Not for several threads at once."""

    def __init__(self, tok: Tokenizer, /, messages: Iterable[Any] = (), **arguments: Any) -> None:
        names = {*Asked._fields} - {"arguments"}
        asked = {name: arguments.pop(name) for name in names & arguments.keys()}
        for name in ("add_generation_prompt", "continue_final_message"):
            if name in asked:
                raise InvalidArgument(f"{name} is said with each encode()")
        check_list("messages", messages)
        self.messages: list[Any] = list(messages)
        self._asked = Asked(**asked, arguments=arguments)
        self._owner = tok
        self._templates = tok.chat_templates
        self._tok = self._templates.encoder
        self._backend, self._reason = _with_cuts(self._tok)
        self._chats: dict[tuple[bool, bool | str], Chat] = {}
        self._text = ""
        self._pieces: list[tuple[int, bytes]] = []
        self._calls = self._whole = self._chars = self._kept = 0
        self._kept_ids = 0

    def append(self, message: Mapping[str, Any]) -> None:
        self.messages.append(message)

    def extend(self, messages: Iterable[Mapping[str, Any]]) -> None:
        check_list("messages", messages)
        self.messages.extend(messages)

    def render(
        self, *, add_generation_prompt: bool = False, continue_final_message: bool | str = False
    ) -> str:
        """The text of the conversation as it is now."""
        return self._owner.within_bounds(
            self._render, add_generation_prompt, continue_final_message
        )

    def _render(self, add_generation_prompt: bool, continue_final_message: bool | str) -> str:
        if not self.messages:
            raise InvalidArgument("an empty conversation: there is nothing to render")
        if not isinstance(continue_final_message, str):
            continue_final_message = bool(continue_final_message)
        key = bool(add_generation_prompt), continue_final_message
        chat = self._chats.get(key)
        if chat is None:
            asked = self._asked._replace(
                add_generation_prompt=add_generation_prompt,
                continue_final_message=continue_final_message,
            )
            chat = self._chats[key] = Chat(self._templates, asked)
        return chat.render(self.messages).text

    def encode(
        self, *, add_generation_prompt: bool = False, continue_final_message: bool | str = False
    ) -> Encoding:
        """The ids of the conversation as it is now: those of `apply_chat_template`."""
        return self._owner.within_bounds(self._ids, add_generation_prompt, continue_final_message)

    def _ids(self, add_generation_prompt: bool, continue_final_message: bool | str) -> Encoding:
        text = self._render(add_generation_prompt, continue_final_message)
        encoding = self._tok.encode_within_bounds(text, lambda: self._encode(text))
        self._calls += 1
        self._chars += len(text)
        return encoding

    @property
    def kept_ids(self) -> int:
        """With how many ids of the call before the last one's begin, at least."""
        return self._kept_ids

    @property
    def stats(self) -> SessionStats:
        return SessionStats(self._calls, self._whole, self._chars, self._kept, self._reason)

    def _encode(self, text: str) -> Encoding:
        backend = self._backend
        if backend is not None and not self._tok.closed:
            try:
                return self._continued(backend, text)
            except TokenizerError:
                # The plain way has the right error for this text, or a fallback.
                self._text, self._pieces = "", []
        self._whole += 1
        self._kept_ids = 0
        return self._tok.encode(text, add_special_tokens=False)

    def _continued(self, backend: CoreBackend, text: str) -> Encoding:
        known = _common(self._text, text) - _BEHIND
        kept = [piece for piece in self._pieces if piece[0] <= known]
        start = kept[-1][0] if kept else 0
        ends = [*_cuts(backend, text, start), len(text)]
        parts = [text[a:b] for a, b in zip([start, *ends], ends, strict=False)]
        core = backend.core
        if kept:
            fresh = core.continue_batch(parts, special_is_text=False)
        else:
            fresh = [core.encode_ids(parts[0], False, False)]
            fresh += core.continue_batch(parts[1:], special_is_text=False) if parts[1:] else []
        self._whole += not kept
        self._kept += start
        self._kept_ids = sum(len(ids) for _, ids in kept) // ID_BYTES
        self._pieces = [*kept, *zip(ends, fresh, strict=True)]
        # What ends where the text does has not been cut there.
        self._text = text
        whole = b"".join(ids for _, ids in self._pieces)
        return Encoding(whole, backend, text, None, False)


def _with_cuts(tok: Tokenizer) -> tuple[CoreBackend | None, str | None]:
    backend = tok.core_backend
    if backend is None:
        return None, f"{tok.backend.encoder} encodes, which proves no cuts"
    _, reason = backend.core.last_cut("a", 0)
    return (None, reason) if reason else (backend, None)


def _common(one: str, other: str) -> int:
    """How many characters both begin with, by halving: comparing is faster than walking."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cuts(backend: CoreBackend, text: str, start: int) -> list[int]:
    """Places behind `start`, in order, where the text may be cut."""
    wanted = {*range(start + _EVERY, len(text), _EVERY), *(len(text) - n for n in _FROM_END)}
    found: list[int] = []
    for at in sorted(wanted):
        low = found[-1] if found else start
        if low < at <= len(text) - _BEHIND:
            cut = _cut_before(backend, text, low, at)
            if cut:
                found.append(cut)
    return found


def _cut_before(backend: CoreBackend, text: str, low: int, at: int) -> int:
    for reach in (_NEAR, _FAR):
        begin = max(low, at - reach)
        place, _ = backend.core.last_cut(text[begin : at + _BEHIND], at - begin)
        # It depends on two characters before it, too.
        if place > 1:
            return begin + place
        if begin == low:
            break
    return 0
