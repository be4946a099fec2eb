"""Text that ends at a stop token or at a stop sequence."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from ...errors import InvalidArgument
from ..ids import as_bytes
from ..observed import observed, watch
from .stream import state_given

if TYPE_CHECKING:
    from ...backends.streaming import StopNode, Streaming
    from ..ids import Ids
    from ..tokenizer import Tokenizer

__all__ = [
    "Held",
    "Matched",
    "Output",
    "Processed",
    "StopSequenceBuilder",
    "StopSequenceConfig",
    "StopSequenceDecoder",
    "Stopped",
    "StoppedWithText",
    "Text",
]


# Ids, bytes and characters so far: how the core ends the state of a stop decoder.
_COUNTS: Final = struct.Struct("<QQQ")
_MOST_TOKENS: Final = 2**64


@dataclass(frozen=True, slots=True)
class StopSequenceConfig:
    """What stops a text. What is visible is shown; where something is listed twice, hidden wins."""

    stop_tokens: tuple[int, ...] = ()
    stop_sequences: tuple[str, ...] = ()
    visible_stop_tokens: tuple[int, ...] = ()
    visible_stop_sequences: tuple[str, ...] = ()
    min_tokens: int = 0
    """Nothing stops before so many ids."""
    ignore_eos: bool = False
    """The tokenizer's ends of sequence do not stop. An explicit stop token does, all the same."""

    def __post_init__(self) -> None:
        for name in ("stop_tokens", "visible_stop_tokens"):
            object.__setattr__(self, name, _ids(name, getattr(self, name)))
        for name in ("stop_sequences", "visible_stop_sequences"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        least = self.min_tokens
        if isinstance(least, bool) or not isinstance(least, int) or not 0 <= least < _MOST_TOKENS:
            raise InvalidArgument("min_tokens must be an integer from 0 to 2**64 - 1")

    def document(self, eos_token_ids: tuple[int, ...] | None) -> bytes:
        """As the core reads it. None: a server knows the ends of sequence."""
        return json.dumps(
            {
                "stop_tokens": self.stop_tokens,
                "visible_stop_tokens": self.visible_stop_tokens,
                "eos_tokens": eos_token_ids,
                "stop_sequences": self.stop_sequences,
                "visible_stop_sequences": self.visible_stop_sequences,
                "min_tokens": self.min_tokens,
                "ignore_eos": bool(self.ignore_eos),
            },
            ensure_ascii=False,
        ).encode()


@dataclass(frozen=True, slots=True)
class Text:
    """Text that can go out."""

    text: str
    stopped = False


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing to show yet: an incomplete character, the beginning of a stop, or no text at all."""

    text = ""
    stopped = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """The text has ended."""

    text = ""
    stopped = True


@dataclass(frozen=True, slots=True)
class StoppedWithText:
    """The text ends with this."""

    text: str
    stopped = True


Output = Text | Held | Stopped | StoppedWithText


class Processed(NamedTuple):
    output: Output
    consumed: int
    """How many ids were looked at: those behind a stop are not."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What stopped the text."""

    kind: str
    """`token` or `string`."""
    id: int | None
    """Of a token."""
    string: str | None
    index: int | None
    """Of a string, in the list that it comes from: `visible` says which."""
    visible: bool
    token_index: int
    """The id at which the text stopped, counted from 0 behind the prompt; -1: before the first."""
    tokens_consumed: int
    start: int
    end: int
    """Where the stop lies in the text, in bytes of UTF-8. A hidden token lies at its end."""
    start_char: int
    end_char: int


class StopSequenceDecoder:
    """Made by `Tokenizer.stop_decoder`, by a builder, or of a tokenizer and a config. For one
    thread at a time.

    The stop that ends first wins, and of those the longest; so the answer does not depend on how
    tokens cut the text. Held back is exactly the longest end of the text that may still become a
    stop. A stop token is looked at before the text, and settles what is pending.
    """

    __slots__ = (
        *("_config", "_counts", "_document", "_first", "_first_report", "_node", "_report"),
        "_streaming",
        "notes",
    )

    _streaming: Streaming
    _config: StopSequenceConfig
    _document: bytes
    _first: bytes
    _first_report: list[int] | None
    _report: list[int] | None
    _node: StopNode
    _counts: tuple[int, int, int]
    notes: tuple[str, ...]
    """What one may not expect of the configuration, in sentences. None after `from_state`."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        config: StopSequenceConfig | None = None,
        skip_special_tokens: bool = True,
        *,
        prompt_ids: Ids = (),
        eos_token_ids: Iterable[int] | None = None,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
    ) -> None:
        made = tokenizer.stop_decoder(
            StopSequenceConfig() if config is None else config,
            prompt_ids,
            skip_special_tokens,
            eos_token_ids=eos_token_ids,
            byte_runs=byte_runs,
            unknown_id=unknown_id,
        )
        for name in StopSequenceDecoder.__slots__:
            setattr(self, name, getattr(made, name))

    @classmethod
    def _of(
        cls, streaming: Streaming, config: StopSequenceConfig, document: bytes, state: bytes
    ) -> Self:
        self = cls.__new__(cls)
        self._streaming = streaming
        self._config = config
        self._document = document
        self._first = state
        self._report = self._first_report = None
        self._stand_at(state)
        self.notes = ()
        return self

    @classmethod
    def begin(
        cls,
        streaming: Streaming,
        config: StopSequenceConfig,
        eos_token_ids: tuple[int, ...] | None,
        context: bytes,
        flags: int,
    ) -> Self:
        document = _document(config, eos_token_ids)
        notes, state = streaming.stop_new(context, document, flags)
        decoder = cls._of(streaming, config, document, state)
        decoder.notes = tuple(json.loads(notes))
        return decoder

    @classmethod
    def builder(cls, tokenizer: Tokenizer) -> StopSequenceBuilder:
        return StopSequenceBuilder(tokenizer)

    @classmethod
    def from_state(
        cls,
        tokenizer: Tokenizer,
        config: StopSequenceConfig,
        state: bytes,
        *,
        eos_token_ids: Iterable[int] | None = None,
    ) -> Self:
        """Goes on where `state()` was taken, with an equal tokenizer and an equal config.
        `reset` goes back to this point. A state that was cut, or of another version or another
        tokenizer, is refused; other changes may go unnoticed."""
        streaming = tokenizer.streaming
        document = _document(config, ends_of(tokenizer, streaming, eos_token_ids))
        decoder = cls._of(streaming, config, document, state_given(state))
        decoder._advance(b"", False)
        # What stopped the text before stops it after `reset`, too.
        decoder._first_report = decoder._report
        return decoder

    def process_token(self, token_id: int) -> Output:
        try:
            output, node, more_bytes, more_chars = self._node.next[token_id]
        except (KeyError, TypeError):
            return self._process_new(token_id)
        tokens, in_bytes, in_chars = self._counts
        if tokens < self._config.min_tokens:
            return self._process_new(token_id)
        self._counts = (tokens + 1, in_bytes + more_bytes, in_chars + more_chars)
        self._node = node
        observer = watch.observer
        if observer is not None:
            observer.stepped("stop", held=not output.text)
        return output

    @observed("stop step")
    def _process_new(self, token_id: int) -> Output:
        """A step that is not in the cache of steps."""
        node, (tokens, in_bytes, in_chars) = self._node, self._counts
        output = self._output(self._advance(as_bytes((token_id,)), False)[0])
        if self._report is None and tokens >= self._config.min_tokens:
            more = self._counts[1] - in_bytes, self._counts[2] - in_chars
            self._streaming.remember_stop(node, token_id, (output, self._node, *more))
        return output

    @observed("stop")
    def process_tokens(self, token_ids: Ids) -> Processed:
        """Ends at the first stop."""
        text, consumed = self._advance(as_bytes(token_ids), False)
        return Processed(self._output(text), consumed)

    @observed("stop flush")
    def flush(self) -> Output:
        """The input has ended: `Text` with what was held back, `Held` if that is nothing. What
        was pending may complete a stop now."""
        return self._output(self._advance(b"", True)[0])

    def reset(self) -> None:
        """Back behind the prompt."""
        self._stand_at(self._first)
        self._report = self._first_report

    @property
    def is_stopped(self) -> bool:
        return self._report is not None

    @property
    def matched(self) -> Matched | None:
        """What stopped the text, if something did."""
        words = self._report
        if words is None:
            return None
        kind, number, visible = words[1:4]
        index, start, end, start_char, end_char = (
            low | high << 32 for low, high in zip(words[4::2], words[5::2], strict=True)
        )
        token_index = -1 if index == (1 << 64) - 1 else index
        strings = self._config.visible_stop_sequences if visible else self._config.stop_sequences
        is_token = kind == 1
        return Matched(
            kind="token" if is_token else "string",
            id=number if is_token else None,
            string=None if is_token else strings[number],
            index=None if is_token else number,
            visible=bool(visible),
            token_index=token_index,
            tokens_consumed=token_index + 1,
            start=start,
            end=end,
            start_char=start_char,
            end_char=end_char,
        )

    def copy(self) -> Self:
        other = self._of(self._streaming, self._config, self._document, self._first)
        other._node, other._counts = self._node, self._counts
        other._report, other.notes = self._report, self.notes
        other._first_report = self._first_report
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce_ex__(self, protocol: object) -> Any:
        raise InvalidArgument(
            "it holds on to a tokenizer, and is not pickled",
            hint="Send what state() gives; from_state(tok, data) goes on there",
        )

    def checkpoint(self) -> bytes:
        """Where the decoder stands, for `rollback`: also inside a character or a stop."""
        return self.state()

    def rollback(self, mark: bytes) -> None:
        other = self._of(self._streaming, self._config, self._document, state_given(mark))
        # An empty step checks the state. Where that fails, nothing has changed.
        other._advance(b"", False)
        self._node, self._counts, self._report = other._node, other._counts, other._report

    def state(self) -> bytes:
        """What it takes to go on elsewhere: see `from_state`."""
        return self._node.core + _COUNTS.pack(*self._counts)

    def _stand_at(self, state: bytes) -> None:
        if len(state) < _COUNTS.size:
            raise InvalidArgument("this is no state of a stop decoder")
        self._node = self._streaming.stop_node(state[: -_COUNTS.size])
        self._counts = _COUNTS.unpack(state[-_COUNTS.size :])

    def _advance(self, ids: bytes, finish: bool) -> tuple[str, int]:
        if self._report is not None:
            return "", 0
        step = self._streaming.stop_step(ids, self._document, self.state(), finish)
        self._stand_at(step.state)
        if step.report[1]:
            self._report = step.report
        return step.text, step.report[0]

    def _output(self, text: str) -> Output:
        if self._report is not None:
            return StoppedWithText(text) if text else Stopped()
        return Text(text) if text else Held()


def _document(config: StopSequenceConfig, eos_token_ids: tuple[int, ...] | None) -> bytes:
    if not isinstance(config, StopSequenceConfig):
        raise InvalidArgument(f"a StopSequenceConfig is needed, not {type(config).__name__}")
    return config.document(eos_token_ids)


def ends_of(
    tokenizer: Tokenizer, streaming: Streaming, eos_token_ids: Iterable[int] | None
) -> tuple[int, ...] | None:
    """The ids that end a sequence: those of a call, or of the file. None: the steps are made where
    the file is."""
    if eos_token_ids is None:
        if streaming.knows_eos:
            return None
        eos_token_ids = tokenizer.special_tokens.eos_token_ids
    return _ids("eos_token_ids", eos_token_ids)


class StopSequenceBuilder:
    """`StopSequenceDecoder.builder(tok).stop_sequence("###").visible_stop_token(2).build()`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._config = StopSequenceConfig()
        self._prompt: Ids = ()
        self._skip_special_tokens = True

    def stop_token(self, token_id: int) -> Self:
        return self._with(stop_tokens=(*self._config.stop_tokens, token_id))

    def stop_sequence(self, text: str) -> Self:
        return self._with(stop_sequences=(*self._config.stop_sequences, text))

    def visible_stop_token(self, token_id: int) -> Self:
        return self._with(visible_stop_tokens=(*self._config.visible_stop_tokens, token_id))

    def visible_stop_sequence(self, text: str) -> Self:
        return self._with(visible_stop_sequences=(*self._config.visible_stop_sequences, text))

    def min_tokens(self, count: int) -> Self:
        return self._with(min_tokens=count)

    def ignore_eos(self, ignore: bool = True) -> Self:
        return self._with(ignore_eos=ignore)

    def skip_special_tokens(self, skip: bool) -> Self:
        self._skip_special_tokens = skip
        return self

    def prompt_ids(self, token_ids: Ids) -> Self:
        self._prompt = token_ids
        return self

    def build(self) -> StopSequenceDecoder:
        return self._tokenizer.stop_decoder(self._config, self._prompt, self._skip_special_tokens)

    def _with(self, **changes: object) -> Self:
        self._config = replace(self._config, **changes)  # type: ignore[arg-type]
        return self


def _ids(name: str, values: Iterable[int]) -> tuple[int, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must be a sequence of ids, not {type(values).__name__}")
    made = tuple(values)
    as_bytes(made)
    return tuple(int(value) for value in made)


def _texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must be a sequence of texts, not {type(values).__name__}")
    made = tuple(values)
    for text in made:
        if not isinstance(text, str):
            raise InvalidArgument(f"{name} must hold texts, not {type(text).__name__}")
        if not text:
            raise InvalidArgument(
                f"{name} holds an empty text", hint="It would stop before the first character"
            )
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidArgument(f"{name} holds a text that is no UTF-8: {text!a:.40}") from None
    return made
