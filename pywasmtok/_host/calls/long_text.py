"""One long text in parts: where it is cut, and what stands before and behind its ids.

A cut is a place at which the ids of both sides, one after the other, are those of the whole. The
core proves that from the characters around it; this file chooses the places to try. The thread that
encodes a part finds its ends itself: the text needs no pass in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..wasm import abi

if TYPE_CHECKING:
    from ..wasm.instance import Instance
    from .full_encoding import FullEncoding
    from .helpers import Job

# Calls with so many bytes of input or more take long enough to be worth stopping: up to some tens
# of milliseconds, at the rates of slow patterns. Handing a call over to the thread
# that can be interrupted costs about 0.1 ms, a tenth of what quick ones need for their ids.
LONG_TEXT: Final = 512 * 1024
# The same where more than ids is asked for, or for ids to be decoded.
LONG_INPUT: Final = 256 * 1024

# How much of the text in front of a place is searched. Prose has a cut in every line. Where there
# is none, as in runs of line breaks, a search takes longer than encoding the part. So only every
# so manyth part looks far: texts whose cuts are rare have parts, too.
_WINDOW: Final = 512
_FAR_WINDOW: Final = 4096
_FAR: Final = 8
# A cut is decided by two characters on each side, so by eight bytes.
_BESIDE: Final = 8

# A text of which both the ids and the place of what is put around them are plain to see.
_PROBE: Final = b"a"

_UTF8_CONTINUES: Final = 0b10
_UTF8_LEAD_BITS: Final = 6

# Details are asked for with so many bytes of the text in front of a part. Their tokens are left out
# afterwards: what a file does to the beginning of a text is done to them.
_CONTEXT: Final = 64

# Runs something with an instance, for the job that it helps if it does.
Run = Callable[[int, Callable[["Instance"], Any], "Job | None"], Any]


class Cutter:
    """What is known of the cuts of one tokenizer."""

    def __init__(self) -> None:
        # Imported here, not above: it needs wasmtime.
        from ..wasm.config import MAX_INPUT

        self._most = MAX_INPUT
        self._cuts: bool | None = None
        self._frames: dict[int, tuple[bytes, bytes] | None] = {}

    def parts_of(self, run: Run, data: bytes, flags: int, size: int) -> LongText | None:
        """None: this text has to be done in one."""
        if len(data) > self._most:
            return None
        if self._cuts is None:
            found, why_never = run(0, lambda one: one.last_cut(b"a a", 1), None)
            self._cuts = bool(found) or not why_never
        if not self._cuts:
            return None
        if flags not in self._frames:
            self._frames[flags] = run(0, lambda one: _frame(one, flags), None)
        frame = self._frames[flags]
        return None if frame is None else LongText(data, flags, size, frame)


class LongText:
    def __init__(self, data: bytes, flags: int, size: int, frame: tuple[bytes, bytes]) -> None:
        self.parts = -(-len(data) // size)
        self._data = data
        self._size = size
        self._frame = frame
        self._whole = flags
        self._first = flags & ~abi.ENCODE_ADD_SPECIAL_TOKENS
        self._later = self._first | abi.ENCODE_CONTINUES
        # Two threads may both look for one: they find the same.
        self._found: dict[int, int] = {0: 0, self.parts: len(data)}

    def ids_of(self, part: int, run: Run, helped: Job | None) -> bytes:
        """What the part adds to the ids of the whole; nothing if no cut begins it."""
        start = self._cut(part, run, helped)
        if not start and part:
            return b""
        end, following = self._end(part, run, helped)
        data = self._data[start:end]
        flags = self._later if part else self._first
        ids: bytes = run(len(data), lambda one: one.encode_ids(data, flags), helped)
        before, behind = self._frame
        if part and following < self.parts:
            return ids
        return (b"" if part else before) + ids + (behind if following == self.parts else b"")

    def full(self, run: Run, run_long: Run) -> Iterator[FullEncoding]:
        """The details of the whole, part after part. Where those of a part may depend on text far
        before it, the rest comes in one."""
        before, behind = (len(ids) // 4 for ids in self._frame)
        characters = counted = part = done = reached = 0
        while part < self.parts:
            start = self._cut(part, run, None)
            end, following = self._end(part, run, None)
            begin = self._border(max(start - _CONTEXT, 0))
            characters += len(self._data[counted:begin].decode())
            data = self._data[begin:end]
            full = run_long(len(data), partial(_full, data, self._whole), None)
            text = full.part(before, full.size - behind, characters, begin)
            first, counted = 0, begin
            if part:
                context = self._data[begin:start]
                first = len(run(0, partial(_ids, context, self._first), None)) // 4
            # A normalizer that removes characters may move all offsets behind them. It is in the
            # same state at the cut where the last token there ends at the same place.
            if not text.ascends() or (part and text.end(first) != reached):
                whole = run_long(len(self._data), partial(_full, self._data, self._whole), None)
                yield whole.part(done, whole.size, 0, 0)
                return
            made = (
                text.part(first, text.size, 0, 0)
                if part
                else full.part(0, full.size - behind, 0, 0)
            )
            reached, part = text.end(text.size), following
            done += made.size
            yield made
        # What stands behind the text has no place in it.
        yield full.part(full.size - behind, full.size, 0, 0)

    def _end(self, part: int, run: Run, helped: Job | None) -> tuple[int, int]:
        """Where the part ends, and the number of the one that begins there."""
        following = part + 1
        while not (end := self._cut(following, run, helped)):
            following += 1
        return end, following

    def _cut(self, part: int, run: Run, helped: Job | None) -> int:
        """Where the part begins; 0 if there is no cut near its place."""
        known = self._found.get(part)
        if known is not None:
            return known
        place = part * self._size
        # Not so far back that it could be a cut of the part in front of it.
        window = _WINDOW if part % _FAR else _FAR_WINDOW
        start = self._border(max(place - min(window, self._size), 0))
        end = self._border(min(place + 2 * _BESIDE, len(self._data)))
        searched = self._data[start:end]
        found, _ = run(0, lambda one: one.last_cut(searched, place - start), helped)
        # At the edge of what is searched it was decided without the characters beyond.
        sure = start + found if _BESIDE <= found <= len(searched) - _BESIDE else 0
        self._found[part] = sure
        return sure

    def _border(self, place: int) -> int:
        """The border of a character at this byte or before it."""
        data = self._data
        while 0 < place < len(data) and data[place] >> _UTF8_LEAD_BITS == _UTF8_CONTINUES:
            place -= 1
        return place


def _full(data: bytes, flags: int, instance: Instance) -> FullEncoding:
    return instance.encode_full(data, None, flags)


def _ids(data: bytes, flags: int, instance: Instance) -> bytes:
    return instance.encode_ids(data, flags)


def _frame(instance: Instance, flags: int) -> tuple[bytes, bytes] | None:
    """The ids that the post-processor puts before and behind those of any text."""
    if not flags & abi.ENCODE_ADD_SPECIAL_TOKENS:
        return b"", b""
    full = instance.encode_full(_PROBE, None, flags)
    mask = full.special_tokens_mask
    start, end = mask.find(0), mask.rfind(0) + 1
    plain = instance.encode_ids(_PROBE, flags & ~abi.ENCODE_ADD_SPECIAL_TOKENS)
    # Some chains of post-processors mark what they add as text.
    if start < 0 or full.ids[4 * start : 4 * end] != plain:
        return None
    return full.ids[: 4 * start], full.ids[4 * end :]
