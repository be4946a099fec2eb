"""One stream of a tenant: the library's, with a count of what went through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ....errors import QuotaExceeded
from ....tokenizer.streaming.stop import StopSequenceConfig, StopSequenceDecoder
from ....tokenizer.streaming.stream import DecodeStream
from ..shapes import Matched, Stops, Stream, StreamMessage
from .state import VERSION, Standing

if TYPE_CHECKING:
    from ....tokenizer.tokenizer import Tokenizer
    from ...contract import Served

__all__ = ["ID_BYTES", "OpenStream", "Step"]

ID_BYTES: Final = 4


class Step(NamedTuple):
    text: str
    matched: Matched | None


class OpenStream:
    """Made by `begin` or `resume`, which call the sandbox, as `step` does. One call at a time.

    A call that fails changes nothing. The tokenizer is the one that it began with, whatever the
    name stands for by now.
    """

    def __init__(
        self,
        served: Served,
        stops: Stops | None,
        inner: DecodeStream | StopSequenceDecoder,
        spent: int,
    ) -> None:
        self.served = served
        self.over = False
        """A stop has matched: the stream has ended."""
        self._stops = stops
        self._inner = inner
        self._spent = spent

    @classmethod
    def begin(cls, served: Served, asked: Stream | StreamMessage) -> OpenStream:
        spent = _checked(served, 0, len(asked.prompt_ids) * ID_BYTES)
        tok, stops = served.tokenizer, asked.stops
        inner: DecodeStream | StopSequenceDecoder
        how = {"byte_runs": asked.byte_runs, "unknown_id": asked.unknown_id}
        if stops is None:
            inner = tok.decode_stream(asked.prompt_ids, asked.skip_special_tokens, **how)  # type: ignore[arg-type]
        else:
            if stops.eos_token_ids is None:
                stops.eos_token_ids = list(tok.special_tokens.eos_token_ids)
            inner = tok.stop_decoder(
                _config(stops),
                asked.prompt_ids,
                asked.skip_special_tokens,
                eos_token_ids=stops.eos_token_ids,
                **how,  # type: ignore[arg-type]
            )
        return cls(served, stops, inner, spent)

    @classmethod
    def resume(cls, served: Served, standing: Standing) -> OpenStream:
        inner = _inner(served.tokenizer, standing.stops, standing.core)
        return cls(served, standing.stops, inner, standing.spent)

    def step(self, ids: Sequence[int], finish: bool) -> Step:
        spent = _checked(self.served, self._spent, len(ids) * ID_BYTES)
        self.served.tokens = len(ids)
        found = self._step(ids, finish, spent)
        self.over = found.matched is not None
        return found

    def standing(self, tenant: str, name: str, expires: int) -> Standing:
        served = self.served
        core = self._inner.state()
        return Standing(
            VERSION, expires, tenant, name, served.digest, self._spent, self._stops, core
        )

    def _step(self, ids: Sequence[int], finish: bool, spent: int) -> Step:
        """All or nothing: if the flush fails, or the text is too long, the ids before it have no
        effect either."""
        inner, matched = self._inner.copy(), None
        if isinstance(inner, DecodeStream):
            text = inner.step_batch(ids) if ids else ""
            text += inner.flush() if finish else ""
        else:
            text = inner.process_tokens(ids).output.text if ids else ""
            if finish and not inner.is_stopped:
                text += inner.flush().text
            matched = _matched(inner)
        size = len(text.encode())
        # Without ids it is what was held back, which is short: a stream can always be finished.
        self._spent = _checked(self.served, spent, size) if ids else spent + size
        self._inner = inner
        return Step(text, matched)


def _inner(tok: Tokenizer, stops: Stops | None, core: bytes) -> DecodeStream | StopSequenceDecoder:
    if stops is None:
        return DecodeStream.from_state(tok, core)
    return StopSequenceDecoder.from_state(
        tok, _config(stops), core, eos_token_ids=stops.eos_token_ids or ()
    )


def _config(stops: Stops) -> StopSequenceConfig:
    return StopSequenceConfig(
        stop_tokens=tuple(stops.tokens),
        stop_sequences=tuple(stops.sequences),
        visible_stop_tokens=tuple(stops.visible_tokens),
        visible_stop_sequences=tuple(stops.visible_sequences),
        min_tokens=stops.min_tokens,
        ignore_eos=stops.ignore_eos,
    )


def _matched(decoder: StopSequenceDecoder) -> Matched | None:
    found = decoder.matched
    if found is None:
        return None
    return Matched(
        kind="token" if found.kind == "token" else "string",
        id=found.id,
        string=found.string,
        index=found.index,
        visible=found.visible,
        token_index=found.token_index,
        tokens_consumed=found.tokens_consumed,
        start=found.start,
        end=found.end,
        start_char=found.start_char,
        end_char=found.end_char,
    )


def _checked(served: Served, spent: int, more: int) -> int:
    most = served.tenant.limits.stream_bytes
    # What asks for nothing more can always be finished.
    if more and spent + more > most:
        raise QuotaExceeded.of(
            f"a stream of {spent + more} bytes of text and ids; one may have {most}",
            most,
            spent + more,
        )
    return spent + more
