"""One instance of the renderer: the only code that reads and writes its memory.

Used by one thread at a time. No value of the guest is trusted: each address and length is compared
with the size of its memory before it is read, and what leaves this file is a copy.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from ... import errors
from ..calls import cancel
from ..calls.deadline import current
from ..calls.interrupt import in_main_thread
from ..calls.ticker import ticker, ticks
from ..wasm.guest import Guest
from ..wasm.machine import INTERRUPT, NEVER, SLOT_WORDS, STACK_OVERFLOW
from ..wasm.status import misbehaved, trapped
from . import abi
from .core import TemplateCore

_SLOTS: Final = 2
_FAILED: Final = 0xFFFF_FFFF
_SMALLEST_INPUT: Final = 16 * 1024
HEADER: Final = struct.Struct(f"<{abi.HEADER_WORDS}I")
_BLOCK: Final = struct.Struct(f"<{abi.ANSWER_WORDS}I")
_MOST_TEMPLATES: Final = 64
# Compiled, a template takes several times the bytes of its source.
_MOST_SOURCE: Final = 1 << 20

_TOO_LONG: Final = "the template took longer than it may"

_CLASSES: Final[dict[int, type[errors.TemplateError]]] = {
    abi.ERROR_SYNTAX: errors.TemplateSyntaxError,
    abi.ERROR_RUNTIME: errors.TemplateRuntimeError,
    abi.ERROR_RAISED: errors.TemplateRaised,
    abi.ERROR_UNSUPPORTED: errors.UnsupportedTemplateFeature,
    abi.ERROR_LIMIT: errors.TemplateLimitExceeded,
}


class NotPlain(Exception):  # noqa: N818
    """A packed request held an object that is no plain data; never leaves this package."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The block behind a text, where one was asked for."""

    spans: list[int]
    origins: bytes
    notes: bytes


class TemplateInstance(Guest):
    __slots__ = (
        "__weakref__",
        "_answer",
        "_input",
        "_memory_cap",
        "_render",
        "_render_args",
        "_room",
        "_seconds",
        "_set_deadline",
        "_sources",
        "_templates",
        "_watch",
        "core",
        "fresh",
        "watched",
    )

    def __init__(self, core: TemplateCore, memory_cap: int) -> None:
        self.core = core
        self._memory_cap = memory_cap
        super().__init__(core.new_machine())
        # Made by the first call that has a cancel token.
        self._watch: cancel.Watch | None = None
        self._seconds: float | None = None
        self._set_deadline = self._machine.deadline_setter(NEVER)
        render = self._bind("tpl_render")
        self._render, self._render_args = render.run, render.args
        self._input = self._room = 0
        # Handles of templates by the number that the host gives them, the least recently used
        # first; and the bytes of their sources.
        self._templates: dict[int, tuple[int, int]] = {}
        self._sources = 0
        # Whether nothing has run in it yet.
        self.fresh = True
        # Whether the engine calls Python during its calls. Such instances are not for the main
        # thread.
        self.watched = False
        self._answer = self.call("tpl_answer")
        # The memory itself has one size for ever: see `heap.rs`.
        if memory_cap > self._size:
            raise errors.InvalidArgument(
                f"a render may use {self._size} bytes of memory at most, not {memory_cap}",
                hint="TemplateLimits(memory=...) is that bound",
            )
        self.call("tpl_limit_memory", memory_cap)

    # What callers ask for. Each begins with the time that it may take.

    def begin(self, seconds: float | None) -> None:
        end = current()
        if end is not None:
            left = end.check()
            seconds = left if seconds is None else min(seconds, left)
        token = cancel.current()
        if token is not None:
            token.check()
        if seconds is not None:
            ticker.begin(seconds)
            if self._watch is not None or (token is not None and not in_main_thread()):
                seconds = self._watched(seconds, token)
        if seconds != self._seconds:
            self._seconds = seconds
            time = NEVER if seconds is None else ticks(seconds)
            self._set_deadline = self._machine.deadline_setter(time)
        self._set_deadline()

    def _watched(self, seconds: float, token: cancel.CancelToken | None) -> float:
        if self._watch is None:
            self._watch = cancel.Watch(self._machine)
            self.watched = True
        return self._watch.begin(seconds, token)

    def knows(self, template: int) -> bool:
        return template in self._templates

    def compile(self, template: int, header: list[int], source: bytes) -> bytes:
        """Keeps the compiled template under the number `template`; the warnings as JSON."""
        self._make_room(len(source))
        self._put(header, source)
        handle = self.call("tpl_compile", HEADER.size + len(source))
        self.fresh = False
        if not handle:
            raise self._reported()
        self._templates[template] = handle, len(source)
        self._sources += len(source)
        return self.answer().notes

    def render(self, template: int, content: bytes) -> str:
        """The hot path: every line of it costs each render. `content` begins with its header."""
        length = len(content)
        if length > self._room:
            self._reserve(length)
        start = self._input
        self._view[start : start + length] = content
        args = self._render_args
        args[0] = self._templates[template][0]
        args[SLOT_WORDS] = length
        self.fresh = False
        failed = self._render()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        size, start = args[0], args[1]
        if start == _FAILED:
            raise self._reported()
        end = start + size
        if end > self._size:
            self._check(start, size)
        return str(self._view[start:end], "utf-8")

    def answer(self) -> Answer:
        block = self._block()
        spans = self._copy(block[abi.ANSWER_SPANS_PTR], 8 * block[abi.ANSWER_SPANS_LEN])
        return Answer(
            spans=memoryview(spans).cast("I").tolist(),
            origins=self._copy(block[abi.ANSWER_ORIGINS_PTR], block[abi.ANSWER_ORIGINS_LEN]),
            notes=self._copy(block[abi.ANSWER_NOTES_PTR], block[abi.ANSWER_NOTES_LEN]),
        )

    @property
    def bloated(self) -> bool:
        """Whether a new instance is worth more than the memory that this one keeps."""
        return self.call("tpl_memory_taken") > self._memory_cap // 2

    # Input and templates.

    def _put(self, header: list[int], *parts: bytes) -> None:
        length = HEADER.size + sum(map(len, parts))
        if length > self._room:
            self._reserve(length)
        place = self._input
        for part in (HEADER.pack(*header), *parts):
            self._view[place : place + len(part)] = part
            place += len(part)

    def _reserve(self, length: int) -> None:
        wanted = max(_SMALLEST_INPUT, length + length // 4)
        # The guest has no room for an input larger than its memory.
        if wanted > self._memory_cap:
            raise _limit("memory", f"a request of {length} bytes passes the memory of a render")
        self._room = 0
        start = self.call("tpl_input", wanted)
        if not start:
            raise self._reported()
        self._check(start, wanted)
        self._input, self._room = start, wanted

    def _make_room(self, source: int) -> None:
        """Drops templates that were not used for long."""
        while self._templates and (
            len(self._templates) >= _MOST_TEMPLATES or self._sources + source > _MOST_SOURCE
        ):
            oldest = next(iter(self._templates))
            handle, size = self._templates.pop(oldest)
            self._sources -= size
            self.call("tpl_drop", handle)

    # Results.

    def _block(self) -> tuple[int, ...]:
        return _BLOCK.unpack(self._copy(self._answer, _BLOCK.size))

    def _reported(self) -> Exception:
        """The error in the answer block, after a call that failed."""
        block = self._block()
        kind = block[abi.ANSWER_KIND]
        message = self._sentence(block, abi.ANSWER_TEXT_PTR)
        feature = self._sentence(block, abi.ANSWER_FEATURE_PTR) or None
        known = _CLASSES.get(kind)
        if known is not None:
            return known(
                message,
                line=block[abi.ANSWER_LINE] or None,
                column=block[abi.ANSWER_COLUMN] or None,
                feature=feature,
            )
        if kind == abi.ERROR_NOT_PLAIN:
            return NotPlain(message)
        if kind == abi.ERROR_CONTEXT:
            return errors.InvalidArgument(message, feature=feature)
        if kind == abi.ERROR_OUT_OF_MEMORY:
            return _limit("memory", message)
        if kind == abi.ERROR_INTERNAL:
            return errors.BackendFailure(message)
        return misbehaved(f"reported an error of kind {kind}: {message}")

    def _sentence(self, block: tuple[int, ...], pointer: int) -> str:
        return self._copy(block[pointer], block[pointer + 1]).decode("utf-8", "replace")

    # Calls.

    def _slots_of(self, name: str) -> int:
        return _SLOTS

    def _failure(self, failed: int | None) -> Exception:
        """What to raise after a trap. The caller must drop this instance."""
        if failed is not None:
            return self._ended(self._machine.error_text(failed))
        code = self._machine.take_trap()
        if code == INTERRUPT:
            return _limit("deadline", _TOO_LONG)
        if code == STACK_OVERFLOW:
            return _limit("stack", "the template nests deeper than the stack allows")
        self._machine.set_deadline(NEVER)
        text = self._panic_text()
        if self._asked("tpl_out_of_memory") or "capacity overflow" in text:
            return _limit("memory", "the template needs more memory than it may use")
        return trapped(code, text)

    def _ended(self, said: str) -> Exception:
        """The error of a call that failed without a trap: ended by the watch, or cause unknown."""
        if self._watch is None or not self._watch.ended:
            return trapped("an error", said)
        token = cancel.current()
        if token is not None and token.cancelled:
            return cancel.left()
        return _limit("deadline", _TOO_LONG)

    def _asked(self, name: str) -> int:
        """Used after a trap, when any state of the guest may be invalid."""
        try:
            return self.call(name)
        except (errors.TokenizerError, LookupError):
            return 0

    def _panic_text(self) -> str:
        length = min(self._asked("tpl_panic_len"), abi.MAX_PANIC_TEXT)
        try:
            return self._copy(self._asked("tpl_panic_ptr"), length).decode("utf-8", "replace")
        except errors.CoreTrap:
            return ""


def _limit(feature: str, message: str) -> errors.TemplateLimitExceeded:
    return errors.TemplateLimitExceeded(message, feature=feature)
