"""Counts calls while metrics are enabled: what they answer, how long they take, what they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..errors import TokenizerError

if TYPE_CHECKING:
    from . import Instruments

T = TypeVar("T")

__all__ = ["Counting", "component_of", "format_of"]

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


class Counting:
    """The observer of the calls of this process (`tokenizer/observed.py`)."""

    def __init__(self, made: Instruments) -> None:
        self._made = made
        self._after: dict[str, Callable[..., None]] = {
            "encode": self._encoded,
            "encode_segments": self._encoded,
            "encode_batch": self._encoded_batch,
            "decode": self._decoded,
            "decode_batch": self._decoded_batch,
            "load": self._loaded,
            "stream": self._streamed,
            "stop": self._stops,
            "stop step": self._stop_step,
            "stop flush": self._stop_flush,
        }

    def call(self, operation: str, call: Callable[..., T], *args: Any, **how: Any) -> T:
        owner = args[0]
        # The call that stops a text is counted, and not those that find it stopped.
        stopped = getattr(owner, "is_stopped", True)
        start = perf_counter()
        try:
            if operation == "decode_batch":
                args, how = _listed(*args, **how)
            elif operation in {"decode", "stream"}:
                args = (owner, _sized(args[1]), *args[2:])
            answer = call(*args, **how)
        except Exception as error:
            self.failed(operation.partition(" ")[0], error)
            raise
        took = perf_counter() - start
        after: Callable[..., None] = self._after.get(operation, self._measured)
        after(operation, took, answer, *args)
        if not stopped and owner.is_stopped:
            self._made.stops.labels(owner.matched.kind).inc()
        return answer

    def failed(self, operation: str, error: Exception) -> None:
        # The kind is one of a fixed list: what is no error of ours is all one.
        kind = error.kind if isinstance(error, TokenizerError) else "other"
        self._made.errors.labels(operation, kind).inc()

    def fell_back(self, reason: str) -> None:
        self._made.fallbacks.labels(component_of(reason)).inc()

    def stepped(self, operation: str, *, held: bool, tokens: int = 1) -> None:
        self._made.stream_tokens.labels(operation).inc(tokens)
        if held:
            self._made.stream_held.labels(operation).inc()

    def _measured(self, operation: str, took: float, _answer: Any, tok: Any, *_: Any) -> None:
        """For calls that give no ids."""
        who = format_of(tok), tok.backend.encoder
        self._made.encode_seconds.labels(operation, *who).observe(took)

    def _encoded(self, operation: str, took: float, answer: Any, tok: Any, *_: Any) -> None:
        made, who = self._made, (format_of(tok), answer.served_by)
        texts = answer.texts
        made.encode_seconds.labels(operation, *who).observe(took)
        made.encode_tokens.labels(*who).observe(len(answer))
        if operation == "encode":
            made.encode_characters.labels(*who).observe(sum(map(len, texts)))
        made.encoded_tokens.labels(*who).inc(len(answer))
        made.encoded_bytes.labels(*who).inc(sum(map(_size, texts)))

    def _encoded_batch(self, operation: str, took: float, answer: Any, tok: Any, *_: Any) -> None:
        made, who = self._made, (format_of(tok), tok.backend.encoder)
        made.encode_seconds.labels(operation, *who).observe(took)
        made.encoded_tokens.labels(*who).inc(len(answer.buffer))
        parts = ((item,) if isinstance(item, str) else item for item in answer.texts)
        made.encoded_bytes.labels(*who).inc(sum(_size(text) for part in parts for text in part))

    def _decoded(
        self, operation: str, took: float, answer: str, tok: Any, ids: Any, *_: Any
    ) -> None:
        self._decoded_batch(operation, took, [answer], tok, [ids])

    def _decoded_batch(
        self, operation: str, took: float, answer: list[str], tok: Any, lists: Any, *_: Any
    ) -> None:
        made, who = self._made, (format_of(tok), tok.backend.decoder)
        made.decode_seconds.labels(operation, *who).observe(took)
        made.decoded_tokens.labels(*who).inc(sum(map(len, lists)))
        made.decoded_bytes.labels(*who).inc(sum(map(_size, answer)))

    def _loaded(self, _operation: str, took: float, tok: Any, *_: Any) -> None:
        info = tok.backend
        self._made.load_seconds.labels(format_of(tok), info.encoder).observe(took)
        if info.reason is not None:
            self.fell_back(info.reason)

    def _streamed(
        self, operation: str, _took: float, text: str, _stream: Any, ids: Any, *_: Any
    ) -> None:
        self.stepped(operation, held=not text and len(ids) > 0, tokens=len(ids))

    def _stops(self, operation: str, _took: float, processed: Any, *_: Any) -> None:
        output, consumed = processed
        self.stepped(operation, held=not output.stopped and not output.text, tokens=consumed)

    def _stop_step(self, _operation: str, _took: float, output: Any, *_: Any) -> None:
        self._stops("stop", _took, (output, 1))

    def _stop_flush(self, *_: Any) -> None:
        """What a flush gives is of tokens that have been counted."""


def _listed(tok: Any, *args: Any, **how: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """An iterator can be read only once; what is none is the method's to refuse."""
    if ("lists" in how) == bool(args):
        # None at all or both: Python refuses it.
        return (tok, *args), how
    lists, args = (how.pop("lists"), args) if "lists" in how else (args[0], args[1:])
    if isinstance(lists, Iterable) and not isinstance(lists, str | bytes):
        lists = list(map(_sized, tok.listed(lists)))
    return (tok, lists, *args), how


def _sized(ids: Any) -> Any:
    """An iterator of ids can be read only once, too, and has no length."""
    return list(ids) if isinstance(ids, Iterator) else ids


def format_of(tokenizer: Any) -> str:
    # Of a tokenizer on a server it is unknown here.
    name: str = tokenizer._format
    return name if name in _FORMATS else "other"


def component_of(reason: str) -> str:
    component = reason.split(":", 1)[0]
    return component if component in _COMPONENTS else "other"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
