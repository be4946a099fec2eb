"""Text of ids that come one by one."""

from __future__ import annotations

from array import array
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ...errors import InvalidArgument, TokenizerError
from ..encoding import view
from ..ids import as_bytes, what_is_wrong
from ..observed import watch

if TYPE_CHECKING:
    from ...backends.streaming import Node, Streaming
    from ..ids import Ids
    from ..tokenizer import Tokenizer

__all__ = ["DecodeStream", "Mark"]


class Mark(NamedTuple):
    """A point of a stream to go back to."""

    state: bytes
    ids: bytes | None
    """All that went before, and the text of it, of a stream with a history."""
    text: str


class DecodeStream:
    """Made by `Tokenizer.decode_stream`, or of a tokenizer with the same arguments. For one thread
    at a time.

    All that the steps and the flush give is the text of all ids decoded at once, whatever the ids
    and however they are cut into steps; what went out never changes. A step costs the same at the
    first and at the millionth id, and what is kept is a few bytes.
    """

    __slots__ = ("_ids", "_node", "_streaming", "_texts")

    _streaming: Streaming
    _node: Node
    _ids: array[int] | None
    _texts: list[str]

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
        history: bool = False,
    ) -> None:
        made = tokenizer.decode_stream(
            prompt_ids,
            skip_special_tokens,
            byte_runs=byte_runs,
            unknown_id=unknown_id,
            history=history,
        )
        for name in DecodeStream.__slots__:
            setattr(self, name, getattr(made, name))

    @classmethod
    def begin(cls, streaming: Streaming, state: bytes, history: bool = False) -> Self:
        """Where `state` stands."""
        self = cls.__new__(cls)
        self._streaming = streaming
        self._node = streaming.node(state)
        self._ids = array("I") if history else None
        self._texts = []
        return self

    @classmethod
    def from_state(cls, tokenizer: Tokenizer, state: bytes) -> Self:
        """Goes on where `state()` was taken, in this process or in another. A state that was cut,
        or is of another version or tokenizer, is refused; other changes may go unnoticed."""
        streaming = tokenizer.streaming
        state = state_given(state)
        # An empty step checks it.
        streaming.stream_step(b"", state, False)
        return cls.begin(streaming, state)

    def step(self, token_id: int) -> str:
        """The text that is certain now and was not before: often that of this id, "" while a
        character is incomplete."""
        try:
            if self._ids is None:
                text, self._node = self._node[token_id]
            else:
                # A dictionary finds `5` for `5.0`; a list of ids has no place for that.
                number = index(token_id)
                text, self._node = self._node[number]
                self._keep((number,), text)
        except (TypeError, TokenizerError) as error:
            # A value that cannot be a key is no id.
            wrong = what_is_wrong((token_id,), error) if isinstance(error, TypeError) else error
            if watch.observer is not None:
                watch.observer.failed("stream", wrong)
            raise wrong from None
        observer = watch.observer
        if observer is not None:
            observer.stepped("stream", held=not text)
        return text

    def step_batch(self, token_ids: Ids) -> str:
        """The texts of all these steps, one behind the other."""
        observer = watch.observer
        if observer is not None:
            return observer.call("stream", DecodeStream._step_batch, self, token_ids)
        return self._step_batch(token_ids)

    def _step_batch(self, token_ids: Ids) -> str:
        data = as_bytes(token_ids)
        text, state = self._streaming.stream_step(data, self._node.state, False)
        self._node = self._streaming.node(state)
        if self._ids is not None:
            # An iterator is read once.
            self._keep(view(data), text)
        return text

    def flush(self) -> str:
        """The input has ended: what was held back, as decoding everything at once has it. Flushing
        again gives nothing; ids that still come go on as new bytes of the same text."""
        text, state = self._streaming.stream_step(b"", self._node.state, True)
        self._node = self._streaming.node(state)
        if self._ids is not None:
            self._keep((), text)
        return text

    @property
    def tokens(self) -> list[int]:
        """The ids so far, without those of the prompt. Kept with `history=True` only."""
        if self._ids is None:
            raise _no_history()
        return self._ids.tolist()

    @property
    def text(self) -> str:
        """All text that has gone out. Kept with `history=True` only."""
        if self._ids is None:
            raise _no_history()
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def copy(self) -> Self:
        """Another stream that stands where this one does: for beams."""
        other = type(self).__new__(type(self))
        other._streaming = self._streaming
        other._node = self._node
        other._ids = None if self._ids is None else array("I", self._ids)
        other._texts = list(self._texts)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> DecodeStream:
        return self.copy()

    def __reduce_ex__(self, protocol: object) -> Any:
        raise InvalidArgument(
            "it holds on to a tokenizer, and is not pickled",
            hint="Send what state() gives; from_state(tok, data) goes on there",
        )

    def checkpoint(self) -> Mark:
        """Where the stream stands, for `rollback`: for speculative decoding."""
        if self._ids is None:
            return Mark(self._node.state, None, "")
        return Mark(self._node.state, self._ids.tobytes(), self.text)

    def rollback(self, mark: Mark) -> None:
        """Goes back to the mark. Marks stay good, also those of copies."""
        if not isinstance(mark, Mark):
            raise InvalidArgument(f"a mark is what checkpoint() gave, not {type(mark).__name__}")
        if self._ids is not None:
            if mark.ids is None:
                raise InvalidArgument("this mark is of a stream that keeps no history")
            self._ids, self._texts = array("I", mark.ids), [mark.text]
        self._node = self._streaming.node(mark.state)

    def state(self) -> bytes:
        """What it takes to go on elsewhere with the same tokenizer: see `from_state`. The history
        is not in it."""
        return self._node.state

    def _keep(self, ids: tuple[int, ...] | memoryview, text: str) -> None:
        assert self._ids is not None
        self._ids.extend(ids)
        if text:
            self._texts.append(text)


def state_given(state: object) -> bytes:
    """The bytes of a state."""
    if not isinstance(state, bytes | bytearray | memoryview):
        raise InvalidArgument(f"a state is bytes, not {type(state).__name__}")
    return bytes(state)


def _no_history() -> InvalidArgument:
    return InvalidArgument(
        "the stream keeps no history", hint="Make it with decode_stream(history=True)"
    )
