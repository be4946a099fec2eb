"""The library's streams and stop decoders, stepped by a server."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar

from ..._host.wasm import abi
from ..._host.wasm.instance import StopStep
from ...backends.streaming import Streaming
from ...errors import InvalidArgument, Unsupported
from ...tokenizer.encoding import ID_BYTES, view
from ..errors import BadAnswer
from .events import How, Step, stream_step

if TYPE_CHECKING:
    from ...backends.streaming import StopNode
    from ...tokenizer.streaming.stop import Matched, Output
    from ..call import Call

T = TypeVar("T")

__all__ = ["HABIT", "RemoteStreaming"]

HABIT: Final = "habit"
"""For an id that there is not: what the format's reference does, which only the server knows."""

# A state of ours: not begun yet, and how it is to begin; or what the server gave.
_NEW: Final = b"new:"
_SIGNED: Final = b"at:"

# The end of the state of a stop decoder: ids so far, and two counts that only the core needs.
_COUNTS: Final = struct.Struct("<QQQ")

# A flag that the core does not have: an id that there is not is dealt with as the server does.
_HABIT: Final = 1 << 7

_SPELLED: Final = {
    "tokens": "stop_tokens",
    "sequences": "stop_sequences",
    "visible_tokens": "visible_stop_tokens",
    "visible_sequences": "visible_stop_sequences",
    "min_tokens": "min_tokens",
    "ignore_eos": "ignore_eos",
}
_BEFORE_THE_FIRST: Final = (1 << 64) - 1


class Send(Protocol):
    def __call__(self, call: Call[T], /) -> T: ...


class RemoteStreaming(Streaming):
    knows_eos = True

    def __init__(self, name: str, send: Send) -> None:
        super().__init__("remote")
        self._tokenizer = name
        self._send = send

    def flags(
        self, skip_special_tokens: bool, unknown_id: str = HABIT, byte_runs: str = "exact"
    ) -> int:
        if unknown_id == HABIT:
            return _HABIT | super().flags(skip_special_tokens, "skip", byte_runs)
        return super().flags(skip_special_tokens, unknown_id, byte_runs)

    def stream_new(self, context: bytes, flags: int) -> bytes:
        """Nothing is asked before the first step."""
        return _NEW + flags.to_bytes(1, "little") + context

    def stream_step(self, ids: bytes, state: bytes, finish: bool) -> tuple[str, bytes]:
        step = self._step(ids, state, finish, None)
        return step.text, _SIGNED + step.state.encode()

    def stop_new(self, context: bytes, config: bytes, flags: int) -> tuple[bytes, bytes]:
        """The notes on a configuration stay with the server."""
        return b"[]", self.stream_new(context, flags) + _COUNTS.pack(0, 0, 0)

    def stop_step(self, ids: bytes, config: bytes, state: bytes, finish: bool) -> StopStep:
        asked = json.loads(config)
        before, _, _ = _COUNTS.unpack(state[-_COUNTS.size :])
        step = self._step(ids, state[: -_COUNTS.size], finish, self._stops(asked))
        stop = step.stopped
        count = len(ids) // ID_BYTES
        consumed = count if stop is None else min(count, max(0, stop.tokens_consumed - before))
        after = _SIGNED + step.state.encode() + _COUNTS.pack(before + consumed, 0, 0)
        return StopStep(step.text, after, [consumed, *_report(stop, asked)])

    def remember_stop(
        self, node: StopNode, token_id: int, answer: tuple[Output, StopNode, int, int]
    ) -> None:
        """A state that has not begun does not say its configuration, so nothing is remembered."""

    def decode_bytes(self, ids: bytes, flags: int) -> NoReturn:
        raise Unsupported("a server gives text, not the bytes before it", feature="remote:bytes")

    def close(self) -> None:
        """Nothing of its own."""

    def _stops(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A configuration as the API spells it."""
        stops = {name: asked[spelled] for name, spelled in _SPELLED.items()}
        eos = asked["eos_tokens"]
        return stops if eos is None else {**stops, "eos_token_ids": eos}

    def _step(self, ids: bytes, state: bytes, finish: bool, stops: dict[str, Any] | None) -> Step:
        values = view(ids).tolist()
        if state.startswith(_SIGNED):
            return self._ask(How(stops=stops), values, state.removeprefix(_SIGNED), finish)
        if not state.startswith(_NEW) or len(state) <= len(_NEW):
            raise _no_state()
        flags, context = state[len(_NEW)], state[len(_NEW) + 1 :]
        how = How(
            prompt_ids=tuple(view(context)),
            skip_special_tokens=bool(flags & abi.DECODE_SKIP_SPECIAL_TOKENS),
            byte_runs="eager" if flags & abi.DECODE_EAGER_BYTE_RUNS else "exact",
            unknown_id=_unknown(flags),
            stops=stops,
        )
        return self._ask(how, values, None, finish)

    def _ask(self, how: How, ids: list[int], state: bytes | None, finish: bool) -> Step:
        try:
            signed = None if state is None else state.decode("ascii")
        except UnicodeDecodeError:
            raise _no_state() from None
        return self._send(stream_step(self._tokenizer, how, ids, signed, finish))


def _no_state() -> InvalidArgument:
    return InvalidArgument("this is no state of a stream over a remote tokenizer")


def _unknown(flags: int) -> str | None:
    if flags & _HABIT:
        return None
    if flags & abi.DECODE_UNKNOWN_IS_ERROR:
        return "error"
    return "replace" if flags & abi.DECODE_UNKNOWN_IS_REPLACED else "skip"


def _report(stop: Matched | None, asked: dict[str, Any]) -> list[int]:
    """What stopped the text, as the core reports it."""
    if stop is None:
        return [0]
    if stop.kind == "token" and stop.id is not None:
        kind, number = 1, stop.id
    elif stop.kind == "string" and stop.string is not None:
        texts = asked["visible_stop_sequences" if stop.visible else "stop_sequences"]
        if stop.string not in texts:
            raise BadAnswer("the server stopped at a text that it was not given")
        kind, number = 2, texts.index(stop.string)
    else:
        raise BadAnswer("the server does not say what stopped the text")
    index = _BEFORE_THE_FIRST if stop.token_index < 0 else stop.token_index
    places = (index, stop.start, stop.end, stop.start_char, stop.end_char)
    words = [word for place in places for word in (place & 0xFFFFFFFF, place >> 32)]
    return [kind, number, int(stop.visible), *words]
