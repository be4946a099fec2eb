"""The methods that count while metrics are enabled: each calls the one whose place it takes, and
adds to the instruments what it saw."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ..errors import TokenizerError

if TYPE_CHECKING:
    from . import Instruments

__all__ = ["component_of", "format_of", "put_in_place"]

_FORMATS: Final = frozenset(
    (
        "tokenizer.json",
        "tekken",
        "gguf",
        "sentencepiece",
        "tiktoken",
        "rwkv",
        "vocab+merges",
        "mock",
    )
)
# The component that a refusal names; what stands behind the colon may come from a file.
_COMPONENTS: Final = frozenset(
    (
        *("added_tokens", "convert", "decoder", "gguf", "model", "normalizer", "padding"),
        *("pattern", "post_processor", "pre_tokenizer", "regex", "sentencepiece", "special"),
        *("truncation", "unknown_id", "vocab"),
        *("unsupported", "limit_exceeded", "backend_failure", "host_error", "core_trap"),
    )
)


def put_in_place(made: Instruments) -> tuple[tuple[Any, str, Any], ...]:
    from ..backends.hybrid import Hybrid
    from ..loading import factory
    from ..tokenizer.streaming.stop import StopSequenceDecoder
    from ..tokenizer.streaming.stream import DecodeStream
    from ..tokenizer.tokenizer import Tokenizer

    # Every method that is counted, and the function that counts it.
    plan: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (Tokenizer, "encode", _encode),
        (Tokenizer, "encode_batch", _encode_batch),
        (Tokenizer, "encode_segments", _encode_segments),
        (Tokenizer, "count", _measured("count")),
        (Tokenizer, "fits", _measured("fits")),
        (Tokenizer, "truncate", _measured("truncate")),
        (Tokenizer, "decode", _decode),
        (Tokenizer, "decode_batch", _decode_batch),
        (factory, "from_recipe", _load),
        (Hybrid, "_instead", _fallback),
        (DecodeStream, "step", _stream_step),
        (DecodeStream, "step_batch", _stream_batch),
        (StopSequenceDecoder, "process_token", _stop_step),
        (StopSequenceDecoder, "process_tokens", _stop_batch),
        (StopSequenceDecoder, "flush", _stop_flush),
    )
    originals = tuple((owner, name, owner.__dict__[name]) for owner, name, _ in plan)
    for (owner, name, count), (_, _, original) in zip(plan, originals, strict=True):
        setattr(owner, name, functools.wraps(original)(count(original, made)))
    return originals


class _Timed:
    """Counts what a call raises, and measures what it takes."""

    def __init__(self, made: Instruments, operation: str) -> None:
        self._errors = made.errors
        self._operation = operation

    def __call__(self, call: Callable[[], Any]) -> tuple[Any, float]:
        start = perf_counter()
        try:
            answer = call()
        except Exception as error:
            # The kind is one of a fixed list: what is no error of ours is all one.
            kind = error.kind if isinstance(error, TokenizerError) else "other"
            self._errors.labels(self._operation, kind).inc()
            raise
        return answer, perf_counter() - start


def _encode(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "encode")

    def encode(self: Any, text: str, pair: str | None = None, *args: Any, **kwargs: Any) -> Any:
        answer, took = timed(lambda: original(self, text, pair, *args, **kwargs))
        who = format_of(self), answer.served_by
        texts = (text,) if pair is None else (text, pair)
        made.encode_seconds.labels("encode", *who).observe(took)
        made.encode_tokens.labels(*who).observe(len(answer))
        made.encode_characters.labels(*who).observe(sum(map(len, texts)))
        made.encoded_tokens.labels(*who).inc(len(answer))
        made.encoded_bytes.labels(*who).inc(sum(map(_size, texts)))
        return answer

    return encode


def _encode_batch(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "encode_batch")

    def encode_batch(self: Any, texts: Any, *args: Any, **kwargs: Any) -> Any:
        texts = _listed(texts)
        answer, took = timed(lambda: original(self, texts, *args, **kwargs))
        who = format_of(self), self._hybrid.encoder.name
        made.encode_seconds.labels("encode_batch", *who).observe(took)
        made.encoded_tokens.labels(*who).inc(len(answer.buffer))
        parts = ((item,) if isinstance(item, str) else item for item in texts)
        sizes = sum(_size(text) for part in parts for text in part)
        made.encoded_bytes.labels(*who).inc(sizes)
        return answer

    return encode_batch


def _encode_segments(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "encode_segments")

    def encode_segments(self: Any, segments: Any, *args: Any, **kwargs: Any) -> Any:
        segments = _listed(segments)
        answer, took = timed(lambda: original(self, segments, *args, **kwargs))
        who = format_of(self), answer.served_by
        made.encode_seconds.labels("encode_segments", *who).observe(took)
        made.encode_tokens.labels(*who).observe(len(answer))
        made.encoded_tokens.labels(*who).inc(len(answer))
        made.encoded_bytes.labels(*who).inc(sum(_size(text) for text, _ in segments))
        return answer

    return encode_segments


def _measured(operation: str) -> Callable[..., Any]:
    """For calls that give no ids: how long they take, and what they raise."""

    def count(original: Any, made: Instruments) -> Any:
        timed = _Timed(made, operation)

        def measured(self: Any, *args: Any, **kwargs: Any) -> Any:
            answer, took = timed(lambda: original(self, *args, **kwargs))
            who = format_of(self), self._hybrid.encoder.name
            made.encode_seconds.labels(operation, *who).observe(took)
            return answer

        return measured

    return count


def _decode(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "decode")

    def decode(self: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
        answer, took = timed(lambda: original(self, ids, *args, **kwargs))
        who = format_of(self), self._hybrid.decoder.name
        made.decode_seconds.labels("decode", *who).observe(took)
        made.decoded_tokens.labels(*who).inc(len(ids))
        made.decoded_bytes.labels(*who).inc(_size(answer))
        return answer

    return decode


def _decode_batch(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "decode_batch")

    def decode_batch(self: Any, lists: Any, *args: Any, **kwargs: Any) -> Any:
        lists = _listed(lists)
        answer, took = timed(lambda: original(self, lists, *args, **kwargs))
        who = format_of(self), self._hybrid.decoder.name
        made.decode_seconds.labels("decode_batch", *who).observe(took)
        made.decoded_tokens.labels(*who).inc(sum(map(len, lists)))
        made.decoded_bytes.labels(*who).inc(sum(map(_size, answer)))
        return answer

    return decode_batch


def _load(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "load")

    def from_recipe(recipe: Any) -> Any:
        tokenizer, took = timed(lambda: original(recipe))
        hybrid = tokenizer._hybrid
        made.load_seconds.labels(format_of(tokenizer), hybrid.encoder.name).observe(took)
        if hybrid.reason is not None:
            made.fallbacks.labels(component_of(hybrid.reason)).inc()
        return tokenizer

    return from_recipe


def _fallback(original: Any, made: Instruments) -> Any:
    def _instead(self: Any, error: TokenizerError, call: Any) -> Any:
        answer = original(self, error, call)
        made.fallbacks.labels(component_of(error.feature or error.kind)).inc()
        return answer

    return _instead


def _stream_step(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "stream")
    tokens, held = made.stream_tokens.labels("stream"), made.stream_held.labels("stream")

    def step(self: Any, token_id: int) -> Any:
        text, _ = timed(lambda: original(self, token_id))
        tokens.inc()
        if not text:
            held.inc()
        return text

    return step


def _stream_batch(original: Any, made: Instruments) -> Any:
    timed = _Timed(made, "stream")
    tokens, held = made.stream_tokens.labels("stream"), made.stream_held.labels("stream")

    def step_batch(self: Any, token_ids: Any) -> Any:
        text, _ = timed(lambda: original(self, token_ids))
        tokens.inc(len(token_ids))
        if not text and len(token_ids):
            held.inc()
        return text

    return step_batch


class _Stops:
    """Counts the call that stops a text, and not those that find it stopped."""

    def __init__(self, made: Instruments) -> None:
        self._timed = _Timed(made, "stop")
        self._stops = made.stops
        self.tokens, self._held = made.stream_tokens.labels("stop"), made.stream_held.labels("stop")

    def __call__(self, decoder: Any, call: Callable[[], Any]) -> Any:
        stopped = decoder.is_stopped
        answer, _ = self._timed(call)
        if not stopped and decoder.is_stopped:
            self._stops.labels(decoder.matched.kind).inc()
        return answer

    def held(self, output: Any) -> None:
        if not output.stopped and not output.text:
            self._held.inc()


def _stop_step(original: Any, made: Instruments) -> Any:
    counted = _Stops(made)

    def process_token(self: Any, token_id: int) -> Any:
        output = counted(self, lambda: original(self, token_id))
        counted.tokens.inc()
        counted.held(output)
        return output

    return process_token


def _stop_batch(original: Any, made: Instruments) -> Any:
    counted = _Stops(made)

    def process_tokens(self: Any, token_ids: Any) -> Any:
        processed = counted(self, lambda: original(self, token_ids))
        counted.tokens.inc(processed.consumed)
        counted.held(processed.output)
        return processed

    return process_tokens


def _stop_flush(original: Any, made: Instruments) -> Any:
    counted = _Stops(made)

    def flush(self: Any) -> Any:
        return counted(self, lambda: original(self))

    return flush


def _listed(items: Any) -> Any:
    """An iterator can be read only once; what is none is the method's to refuse."""
    if isinstance(items, Iterable) and not isinstance(items, str | bytes):
        return list(items)
    return items


def format_of(tokenizer: Any) -> str:
    name: str = tokenizer.format
    return name if name in _FORMATS else "other"


def component_of(reason: str) -> str:
    component = reason.split(":", 1)[0]
    return component if component in _COMPONENTS else "other"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
