"""One instance of the core with its session: the only code that reads and writes guest memory.

Used by one thread at a time; the pool sees to that. No value of the guest is trusted: each
address and length is compared with the size of its memory before it is used, in Python's
unbounded integers, and what leaves this file is always a copy.

An instance is never closed: it is dropped. A thread inside a call holds a reference, so the store
lives until that call has ended.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from ...errors import CoreTrap, InputTooLarge, MemoryLimit, TokenizerError
from ..calls.cancel import CancelToken, Watch
from ..calls.full_encoding import FullEncoding
from ..calls.ticker import LONGEST, ticker, ticks
from . import abi, config
from .core import FUNCTIONS, Core
from .guest import Guest
from .machine import NEVER, SLOT_WORDS, Function
from .status import OUT_OF_MEMORY, Interrupted, misbehaved, reported
from .wasmtime_objects import SharedMemory

_NO_OFFSET: Final = 0xFFFF_FFFF_FFFF_FFFF
_NOTHING: Final = 0xFFFF_FFFF  # -1 as the guest's unsigned number
_MAX_WORD: Final = 0xFFFF_FFFF
_SMALLEST_INPUT: Final = 4096
_SESSION_BYTES: Final = 4 * abi.SESSION_WORDS
_FIRST_FAILURE: Final = 0x8000_0000

_TEXT_PTR, _STATE_PTR = abi.FIELD_TEXT_PTR, abi.FIELD_STATE_PTR
_STATE_LEN = abi.FIELD_STATE_LEN
# Words of the report of a stop decoder.
_NO_STOP: Final = 2
_A_STOP: Final = 14
# Words of the report of a truncation.
_KEPT_WORDS: Final = 4
_VOCAB_ROW: Final = struct.Struct("<II")  # id, length


class StopStep(NamedTuple):
    """What one call of a stop decoder gave."""

    text: str
    state: bytes
    report: list[int]
    """The words that docs/abi.md describes."""


class Kept(NamedTuple):
    """What a truncation left; places are bytes of the text."""

    ids: bytes
    start: int
    end: int
    outcome: int
    of_empty: int
    """The ids of an empty text, where there is no room for them."""


@dataclass(frozen=True, slots=True)
class Handles:
    """Where a session, its tokenizer and its input buffer are: the same in every clone."""

    session: int
    tokenizer: int
    input: int
    room: int


class Instance(Guest):
    __slots__ = (
        "__weakref__",
        "_arm",
        "_armed",
        "_core",
        "_disarm",
        "_encode",
        "_encode_args",
        "_ids_word",
        "_input",
        "_memory_cap",
        "_room",
        "_seconds",
        "_session",
        "_step",
        "_tokenizer",
        "_watch",
        "_words",
        "broken",
        "cancelled",
        "first_size",
        "group",
        "seat",
        "served",
    )

    def __init__(
        self, core: Core, shared: SharedMemory | None = None, memory_cap: int | None = None
    ) -> None:
        """`memory_cap` is a bound that a caller has set, below the one that there always is."""
        self._core = core
        self._memory_cap = memory_cap
        super().__init__(core.new_machine(shared, memory_cap or config.MEMORY_CAP))
        self._disarm = self._machine.deadline_setter(NEVER)
        encode = self._bind("pwt_encode")
        self._encode, self._encode_args = encode.run, encode.args
        self._step: Function | None = None
        self.first_size = self._size
        self._session = self._tokenizer = self._input = self._room = self._ids_word = 0
        # Set by another thread that wants the running call to end.
        self.cancelled = False
        # How many ticks away the deadline of the running call is.
        self._armed = 1
        # What sets it for the next call, where that has as much time, and how much that is.
        self._arm: Callable[[], None] | None = None
        self._seconds = 0.0
        # Made by the first call that has a cancel token.
        self._watch: Watch | None = None
        # After a trap: the instance must not be used any more.
        self.broken = False
        # Whether a call with bounds was here before.
        self.served = False
        # The shared memory that a worker belongs to, and what it occupies there.
        self.group: object = None
        self.seat: object = None

    # Sessions and the life of a tokenizer.

    def open_session(self) -> None:
        session = self.call("pwt_session_new")
        if not session:
            raise self._no_memory()
        self.adopt(Handles(session, self._tokenizer, 0, 0))

    def close_session(self) -> None:
        self.call("pwt_session_free", self._session)
        self.adopt(Handles(0, self._tokenizer, 0, 0))

    def adopt(self, handles: Handles) -> None:
        """Works from now on with what is at these addresses."""
        if handles.session:
            if handles.session % 4:
                raise misbehaved("put a session at an odd address")
            self._check(handles.session, _SESSION_BYTES)
            self._words = self._view.cast("I")
        self._check(handles.input, handles.room)
        self._session = handles.session
        self._tokenizer = handles.tokenizer
        self._input = handles.input
        self._room = handles.room
        self._encode_args[SLOT_WORDS] = handles.tokenizer
        self._step = None
        self._ids_word = handles.session // 4 + abi.FIELD_IDS_PTR

    def handles(self) -> Handles:
        return Handles(self._session, self._tokenizer, self._input, self._room)

    def load(self, file: bytes, options: bytes = b"") -> None:
        self.put(file, options)
        if options:
            tokenizer = self.call("pwt_load_with", self._session, len(file), len(options))
        else:
            tokenizer = self.call("pwt_load", self._session, len(file))
        if not tokenizer:
            raise self.reported_error()
        self._tokenizer = self._encode_args[SLOT_WORDS] = tokenizer
        self._step = None

    # What callers ask for.

    def encode_ids(self, text: bytes, flags: int) -> bytes:
        """The hot path: every line of it costs each call of each user."""
        length = len(text)
        if length > self._room:
            self.reserve(length)
        start = self._input
        self._view[start : start + length] = text
        args, run = self._encode_args, self._encode
        # The tokenizer is there since `adopt`; the session's slot holds the last result.
        args[0] = self._session
        args[8] = length
        args[12] = flags
        failed = run()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        count = args[0]
        if count >= _FIRST_FAILURE:
            raise self.reported_error(count)
        start = self._words[self._ids_word]
        end = start + 4 * count
        if end > self._size:
            self._check(start, 4 * count)
        return self._bytes[start:end]

    def encode_pair_ids(self, text: bytes, pair: bytes, flags: int) -> bytes:
        return self._ids(self._encode_pair(text, pair, flags))

    def encode_full(self, text: bytes, pair: bytes | None, flags: int) -> FullEncoding:
        flags |= abi.ENCODE_DETAILS
        if pair is None:
            self.put(text)
            count = self.counted("pwt_encode", self._session, self._tokenizer, len(text), flags)
        else:
            count = self._encode_pair(text, pair, flags)
        return self._full(count)

    def _full(self, count: int) -> FullEncoding:
        return FullEncoding(
            ids=self._ids(count),
            offsets=self._copy(self._field(abi.FIELD_OFFSETS_PTR), 8 * count),
            byte_offsets=self._copy(self._field(abi.FIELD_BYTE_OFFSETS_PTR), 8 * count),
            type_ids=self._copy(self._field(abi.FIELD_TYPE_IDS_PTR), 4 * count),
            special_tokens_mask=self._copy(self._field(abi.FIELD_SPECIAL_MASK_PTR), count),
            attention_mask=self._copy(self._field(abi.FIELD_ATTENTION_MASK_PTR), count),
            token_table=self._copy(
                self._field(abi.FIELD_TOKENS_PTR), self._field(abi.FIELD_TOKENS_LEN)
            ),
        )

    def encode_batch_ids(
        self, lengths: bytes, texts: Sequence[bytes | memoryview], flags: int
    ) -> tuple[bytes, bytes]:
        """`lengths` are u32, one a text; `texts` are what lies one behind the other."""
        self.put(lengths, *texts)
        items = len(lengths) // 4
        count = self.counted("pwt_encode_batch", self._session, self._tokenizer, items, flags)
        return self._ids(count), self._bounds(items, count)

    def encode_with(
        self, lengths: bytes, texts: bytes, policy: bytes, flags: int, answers: int
    ) -> tuple[bytes, bytes]:
        """The same under a policy, which says whether it is so many texts or parts of one."""
        count = self._encode_with(lengths, texts, policy, flags)
        return self._ids(count), self._bounds(answers, count)

    def encode_with_full(
        self, lengths: bytes, texts: bytes, policy: bytes, flags: int
    ) -> FullEncoding:
        flags |= abi.ENCODE_DETAILS
        return self._full(self._encode_with(lengths, texts, policy, flags))

    def _encode_with(self, lengths: bytes, texts: bytes, policy: bytes, flags: int) -> int:
        self.put(lengths, texts, policy)
        return self.counted(
            "pwt_encode_with",
            *(self._session, self._tokenizer, len(lengths) // 4, len(policy), flags),
        )

    def count(self, text: bytes, flags: int, limit: int) -> int:
        self.put(text)
        return self.counted(
            "pwt_count", self._session, self._tokenizer, len(text), flags, min(limit, _MAX_WORD)
        )

    def truncate(self, text: bytes, flags: int, limit: int) -> Kept:
        self.put(text)
        count = self.counted(
            "pwt_truncate", self._session, self._tokenizer, len(text), flags, min(limit, _MAX_WORD)
        )
        if self._field(abi.FIELD_BOUNDS_LEN) != _KEPT_WORDS:
            raise misbehaved("reported a truncation in another number of words than four")
        report = self._copy(self._field(abi.FIELD_BOUNDS_PTR), 4 * _KEPT_WORDS)
        start, end, outcome, of_empty = memoryview(report).cast("I")
        if not start <= end <= len(text):
            raise misbehaved("kept what is not in the text")
        return Kept(self._ids(count), start, end, outcome, of_empty)

    def last_cut(self, text: bytes, at_most: int) -> tuple[int, str]:
        """Its place, or 0 and why there is none in any text, if that is so."""
        self.put(text)
        found = self.counted("pwt_last_cut", self._session, self._tokenizer, len(text), at_most)
        if found > at_most:
            raise misbehaved("found a cut behind the place that was asked for")
        return found, "" if found else self._sentence(abi.FIELD_TEXT_PTR)

    def decode(self, ids: bytes, flags: int) -> str:
        """Written out like `encode_ids`: most lists are short."""
        length = len(ids)
        if length > self._room:
            self.reserve(length)
        start = self._input
        self._view[start : start + length] = ids
        function = self._bound.get("pwt_decode") or self._bind("pwt_decode")
        args = function.args
        args[0] = self._session
        args[4] = self._tokenizer
        args[8] = length // 4
        args[12] = flags
        failed = function.run()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        length = args[0]
        if length >= _FIRST_FAILURE:
            raise self.reported_error(length)
        return _utf8(self._copy(self._words[self._session // 4 + abi.FIELD_TEXT_PTR], length))

    def decode_batch(self, lengths: bytes, ids: bytes, flags: int) -> list[str]:
        self.put(lengths, ids)
        items = len(lengths) // 4
        length = self.counted("pwt_decode_batch", self._session, self._tokenizer, items, flags)
        text = self._text(length)
        bounds = memoryview(self._bounds(items, length)).cast("I").tolist()
        return [_utf8(text[start:end]) for start, end in pairwise(bounds)]

    def decode_bytes(self, ids: bytes, flags: int) -> bytes:
        self.put(ids)
        flags |= abi.DECODE_AS_BYTES
        count = len(ids) // 4
        return self._text(self.counted("pwt_decode", self._session, self._tokenizer, count, flags))

    def stream_new(self, context: bytes, flags: int) -> bytes:
        self.put(context)
        count = len(context) // 4
        self.counted("pwt_stream_new", self._session, self._tokenizer, count, flags)
        return self._state()

    def stream_step(self, ids: bytes, state: bytes, flags: int) -> tuple[str, bytes]:
        """Text and the next state. Written out like `encode_ids`: a step is little work."""
        length = len(ids) + len(state)
        if length > self._room:
            self.reserve(length)
        start = self._input
        self._view[start : start + length] = ids + state
        function = self._bound.get("pwt_stream_step") or self._bind("pwt_stream_step")
        args = function.args
        args[0] = self._session
        args[4] = self._tokenizer
        args[8] = len(ids) // 4
        args[12] = len(state)
        args[16] = flags
        failed = function.run()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        length = args[0]
        if length >= _FIRST_FAILURE:
            raise self.reported_error(length)
        words, block = self._words, self._session // 4
        text = ""
        if length:
            text = _utf8(self._copy(words[block + abi.FIELD_TEXT_PTR], length))
        start = words[block + abi.FIELD_STATE_PTR]
        return text, self._copy(start, words[block + abi.FIELD_STATE_LEN])

    def stream_one(self, token_id: bytes, state: bytes) -> tuple[str, bytes]:
        """A step of one id from a short state, written out like `encode_ids`: there is little else
        to it."""
        data = token_id + state
        length = len(data)
        if length > self._room:
            self.reserve(length)
        start = self._input
        self._view[start : start + length] = data
        step = self._step
        if step is None:
            step = self._bind_step()
        args = step.args
        session = args[0] = self._session
        args[12] = length - 4
        failed = step.run()
        if failed is not None or self._trap[0]:
            raise self._failure(failed)
        length = args[0]
        if length >= _FIRST_FAILURE:
            raise self.reported_error(length)
        words, block = self._words, session // 4
        start = words[block + _STATE_PTR]
        end = start + words[block + _STATE_LEN]
        if end > self._size:
            self._check(start, end - start)
        after = self._bytes[start:end]
        if not length:
            return "", after
        start = words[block + _TEXT_PTR]
        end = start + length
        if end > self._size:
            self._check(start, length)
        try:
            return str(self._view[start:end], "utf-8"), after
        except UnicodeDecodeError as wrong:
            raise _no_utf8(wrong) from None

    def _bind_step(self) -> Function:
        """With the GIL kept: the core is done before another thread could make use of it."""
        name = "pwt_stream_step"
        step = self._step = self._machine.function(name, max(FUNCTIONS[name]), keeps_gil=True)
        step.args[SLOT_WORDS] = self._tokenizer
        step.args[2 * SLOT_WORDS] = 1
        return step

    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]:
        """Notes and the first state."""
        self.put(context, config)
        length = self.counted(
            "pwt_stop_new", self._session, self._tokenizer, len(context) // 4, len(config), flags
        )
        return self._text(length), self._state()

    def stop_step(self, ids: bytes, config: bytes, state: bytes, flags: int) -> StopStep:
        self.put(ids, config, state)
        length = self.counted(
            "pwt_stop_step",
            *(self._session, self._tokenizer, len(ids) // 4, len(config), len(state), flags),
        )
        words = self._field(abi.FIELD_BOUNDS_LEN)
        if words not in (_NO_STOP, _A_STOP):
            raise misbehaved(f"reported a stop in {words} words")
        report = self._copy(self._field(abi.FIELD_BOUNDS_PTR), 4 * words)
        text = _utf8(self._text(length)) if length else ""
        return StopStep(text, self._state(), memoryview(report).cast("I").tolist())

    def token_to_id(self, token: bytes) -> int | None:
        self.put(token)
        return self._found("pwt_token_to_id", self._session, self._tokenizer, len(token))

    def id_to_token(self, identity: int) -> str | None:
        length = self._found("pwt_id_to_token", self._session, self._tokenizer, identity)
        return None if length is None else _utf8(self._text(length))

    def vocab(self, flags: int) -> dict[str, int]:
        length = self.counted("pwt_vocab", self._session, self._tokenizer, flags)
        return {token: identity for identity, token in _rows(self._text(length), _VOCAB_ROW)}

    def info(self) -> bytes:
        return self._text(self.counted("pwt_info", self._session, self._tokenizer))

    def detect(self, start_of_file: bytes) -> bytes:
        self.put(start_of_file)
        return self._text(self.counted("pwt_detect", self._session, len(start_of_file)))

    def convert(self, file: bytes, options: bytes) -> tuple[bytes, bytes]:
        """A tokenizer.json, and a JSON list of where it differs from the file."""
        self.put(file, options)
        length = self.counted("pwt_convert", self._session, len(file), len(options))
        text = self._text(length)
        start, middle, end = memoryview(self._bounds(2, length)).cast("I").tolist()
        return text[start:middle], text[middle:end]

    def fingerprint(self, file: bytes, options: bytes) -> bytes:
        self.put(file, options)
        length = self.counted("pwt_fingerprint", self._session, len(file), len(options))
        return self._text(length)

    def extent(self, prefix: bytes) -> bytes:
        self.put(prefix)
        return self._text(self.counted("pwt_extent", self._session, len(prefix)))

    # Calls.

    def counted(self, name: str, *arguments: int) -> int:
        """What the function answers; raises what it reports."""
        answer = self.call(name, *arguments)
        if answer >= _FIRST_FAILURE:
            raise self.reported_error(answer)
        return answer

    def interruptible(
        self,
        work: Callable[[Instance], Any],
        seconds: float | None = None,
        token: CancelToken | None = None,
    ) -> Any:
        """Runs `work` so that `cancel` from another thread ends it with `Interrupted`, and so does
        the clock of the core, if it has one; then also the token."""
        if self._core.has_clock:
            seconds = LONGEST if seconds is None else min(seconds, LONGEST)
            ticker.begin(seconds)
            if token is not None and self._watch is None:
                self._watch = Watch(self._machine)
            if self._watch is not None:
                seconds = self._watch.begin(seconds, token)
            self._armed = ticks(seconds)
            self._arm = None
        self._machine.set_deadline(self._armed)
        try:
            # `cancel` sets the flag before it moves the epoch, so a cancellation is never missed.
            if self.cancelled:
                raise Interrupted
            return work(self)
        finally:
            self._machine.set_deadline(NEVER)

    def within(
        self,
        seconds: float,
        work: Callable[[Instance, bytes, int], Any],
        data: bytes,
        flags: int,
    ) -> Any:
        """`interruptible`, written out for cores with a clock and calls without a cancel token."""
        ticker.begin(seconds)
        if self._watch is not None:
            seconds = self._watch.begin(seconds, None)
        arm = self._arm
        if arm is None or seconds != self._seconds:
            # Most deadlines are alike.
            self._seconds, count = seconds, ticks(seconds)
            if arm is None or count != self._armed:
                arm = self._arm = self._machine.deadline_setter(count)
                self._armed = count
        arm()
        try:
            if self.cancelled:
                raise Interrupted
            return work(self, data, flags)
        finally:
            self._disarm()

    def cancel(self) -> None:
        self.cancelled = True
        if self._watch is not None:
            self._watch.stopped = True
        self._core.interrupt(self._armed)

    @property
    def watched(self) -> bool:
        """Whether Python is asked in the middle of its calls: not in the main thread, please."""
        return self._watch is not None

    def exported_global(self, name: str) -> int:
        return self._machine.number(name)

    def set_exported_global(self, name: str, value: int) -> None:
        self._machine.set_number(name, value)

    @property
    def core(self) -> Core:
        return self._core

    @property
    def size(self) -> int:
        """Bytes of guest memory."""
        self._measure()
        return self._size

    def grow_to(self, size: int) -> None:
        self._guest.grow_to(size)
        self._measure()

    def write(self, start: int, content: bytes | memoryview) -> None:
        self._check(start, len(content))
        self._view[start : start + len(content)] = content

    def reported_error(self, answer: int = _NOTHING) -> TokenizerError:
        """The error in the session block, after a call that failed."""
        if answer != _NOTHING:
            self.broken = True
            return misbehaved(f"answered {answer - (1 << 32)}, which means nothing here")
        kind = self._field(abi.FIELD_STATUS)
        if not kind:
            return misbehaved("failed without an error")
        if kind == abi.ERROR_OUT_OF_MEMORY:
            return self._no_memory(self._sentence(abi.FIELD_MESSAGE_PTR))
        offset = self._field(abi.FIELD_ERROR_OFFSET_LO)
        offset |= self._field(abi.FIELD_ERROR_OFFSET_HI) << 32
        return reported(
            kind,
            self._sentence(abi.FIELD_MESSAGE_PTR),
            None if offset == _NO_OFFSET else offset,
            self._sentence(abi.FIELD_PATH_PTR) or None,
            self._sentence(abi.FIELD_FEATURE_PTR) or None,
        )

    # Input.

    def reserve(self, length: int) -> None:
        """Makes the input buffer hold so many bytes, and a bit more for the next call."""
        if length > config.MAX_INPUT:
            raise InputTooLarge.of(
                f"an input of {length} bytes passes the bound of {config.MAX_INPUT} for one call",
                config.MAX_INPUT,
                length,
                hint="Cut it into parts",
            )
        wanted = max(_SMALLEST_INPUT, length + length // 4)
        # The guest has no room for what it may not even hold as input.
        if self._memory_cap is not None and length > self._memory_cap:
            raise self._no_memory(asked=length)
        # If this fails halfway the buffer may have moved: without room, the old place stays unused.
        self._room = 0
        start = self.call("pwt_input", self._session, wanted)
        if not start:
            raise self._no_memory(asked=self.size + wanted)
        self._check(start, wanted)
        self._input = start
        self._room = wanted

    def put(self, *parts: bytes | memoryview) -> None:
        """Writes the parts one behind the other into the input buffer."""
        length = sum(map(len, parts))
        if length > self._room:
            self.reserve(length)
        place = self._input
        for part in parts:
            self._view[place : place + len(part)] = part
            place += len(part)

    # Results.

    def _encode_pair(self, text: bytes, pair: bytes, flags: int) -> int:
        self.put(text, pair)
        lengths = len(text), len(pair)
        return self.counted("pwt_encode_pair", self._session, self._tokenizer, *lengths, flags)

    def _ids(self, count: int) -> bytes:
        return self._copy(self._field(abi.FIELD_IDS_PTR), 4 * count)

    def _text(self, length: int) -> bytes:
        return self._copy(self._field(abi.FIELD_TEXT_PTR), length)

    def _state(self) -> bytes:
        return self._copy(self._field(abi.FIELD_STATE_PTR), self._field(abi.FIELD_STATE_LEN))

    def _bounds(self, items: int, total: int) -> bytes:
        if self._field(abi.FIELD_BOUNDS_LEN) != items + 1:
            raise misbehaved(f"gave bounds for another number of items than {items}")
        bounds = self._copy(self._field(abi.FIELD_BOUNDS_PTR), 4 * (items + 1))
        numbers = memoryview(bounds).cast("I").tolist()
        if numbers[0] != 0 or numbers[-1] != total or numbers != sorted(numbers):
            raise misbehaved("gave bounds that do not divide its result")
        return bounds

    def _found(self, name: str, *arguments: int) -> int | None:
        """For lookups: -1 without an error says that there is no such thing."""
        answer = self.call(name, *arguments)
        if answer == _NOTHING and not self._field(abi.FIELD_STATUS):
            return None
        if answer >= _FIRST_FAILURE:
            raise self.reported_error(answer)
        return answer

    def _sentence(self, pointer_field: int) -> str:
        """Text of the session block; each pointer has its length in the next field."""
        start, length = self._field(pointer_field), self._field(pointer_field + 1)
        return self._copy(start, length).decode("utf-8", "replace")

    # Guest memory.

    def _field(self, index: int) -> int:
        word: int = self._words[self._session // 4 + index]
        return word

    # Failing.

    def _slots_of(self, name: str) -> int:
        return max(FUNCTIONS[name])

    def _failure(self, failed: int | None) -> Exception:
        # Asking for the text of a panic may fail, too.
        is_first, self.broken = not self.broken, True
        if failed is not None and self._watch is not None and self._watch.ended:
            # Frees it.
            self._machine.error_text(failed)
            return Interrupted()
        if self._memory_cap is not None:
            # Looking for the panic's text must not end at the deadline, too.
            self._machine.set_deadline(NEVER)
        said: list[str] = []

        def panic_text() -> str:
            said.append(self._panic_text() if is_first else "")
            return said[0]

        problem = self._machine.failure(failed, panic_text)
        # A panic leaves a text; an allocation that fails aborts without one. A vector doubles, so
        # without a bound of its own an instance has grown to a quarter of the memory by then.
        bounded = self._memory_cap is not None or self.size >= config.MEMORY_CAP // 4
        silent = bool(said) and (not said[0] or said[0].endswith("capacity overflow"))
        if bounded and silent and "UNREACHABLE" in str(problem):
            return self._no_memory()
        return problem

    def _no_memory(self, said: str = "", asked: int | None = None) -> MemoryLimit:
        cap = self._memory_cap
        if cap is None:
            hint = None if said else "Ask for it of a shorter text, or of the text in parts"
            reached = f"{said or OUT_OF_MEMORY}: {config.MEMORY_CAP} bytes"
            return MemoryLimit.of(reached, config.MEMORY_CAP, asked, hint=hint)
        # What it holds now may leave less room to others than they were promised.
        self.broken = True
        asked = self.size if asked is None else asked
        return MemoryLimit.of(
            f"a call needs more than the {cap} bytes of memory that it may use",
            cap,
            asked,
            hint="Limits(memory=...) moves the bound",
        )

    def _panic_text(self) -> str:
        """What the engine left for us before it trapped. Anything may be wrong by now."""
        try:
            start, length = self.call("pwt_panic_ptr"), self.call("pwt_panic_len")
            text = self._copy(start, min(length, abi.MAX_PANIC_TEXT))
        except (CoreTrap, Interrupted, LookupError):
            return ""
        return text.decode("utf-8", "replace")


def _rows(table: bytes, row: struct.Struct) -> Iterator[tuple[int, str]]:
    """First number and text of each row: numbers, of which the last is the length of the text."""
    place, end = 0, len(table)
    while place < end:
        try:
            numbers = row.unpack_from(table, place)
        except struct.error:
            raise misbehaved("gave a table that is cut off") from None
        start = place + row.size
        place = start + numbers[-1]
        if place > end:
            raise misbehaved("gave a table that is cut off")
        yield numbers[0], _utf8(table[start:place])


def _utf8(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as wrong:
        raise _no_utf8(wrong) from None


def _no_utf8(wrong: UnicodeDecodeError) -> Exception:
    return misbehaved(f"gave text that is no UTF-8: {wrong}")
