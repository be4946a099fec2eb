"""One backend encodes, another decodes, and a call that the encoder refuses is not dropped."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._locks import ForkSafeLock
from ..errors import (
    BackendFailure,
    HostError,
    LimitExceeded,
    TokenizerClosed,
    TokenizerError,
    Unsupported,
)
from ..tokenizer.encoding import Encoding
from ..tokenizer.observed import watch
from ..tokenizer.recipe import BackendInfo
from .base import Backend, Complete, Quick

if TYPE_CHECKING:
    from ..tokenizer.ids import Ids
    from ..tokenizer.limits import Limits
    from ..tokenizer.special.policy import AddedName
    from ..tokenizer.special.tokens import SpecialTokens
    from .core import CoreBackend
    from .streaming import Streaming

__all__ = ["Hybrid", "reason_of", "with_second_refusal"]

log = logging.getLogger("pywasmtok")

T = TypeVar("T")

# The errors of a call that speak of the backend and not of what the caller gave it.
_REFUSALS = (Unsupported, LimitExceeded, BackendFailure, HostError)


def _or_fallback(name: str) -> Any:
    """The method of the encoder; the fallback's where the encoder refuses the call."""

    def call(self: Hybrid, *args: Any, **how: Any) -> Any:
        try:
            return getattr(self.encoder, name)(*args, **how)
        except _REFUSALS as error:
            return self._instead(error, lambda other: getattr(other, name)(*args, **how))

    call.__name__ = name
    return call


class Hybrid(Complete):
    name = "hybrid"

    def __init__(
        self,
        encoder: Backend,
        decoder: Backend | Callable[[], tuple[Backend, str | None]],
        *,
        fallback: Backend | None = None,
        reason: str | None = None,
        source: str | None = None,
    ) -> None:
        """`fallback` answers the calls that `encoder` refuses; None lets the refusal through.

        `decoder` may be a function that chooses one, and says why, when it is first needed.
        `reason` says why `encoder` is not the first choice.
        """
        self.encoder = encoder
        self._decoder = decoder
        self._decoder_reason: str | None = None
        self._fallback = fallback
        self._reason = reason
        self._source = source
        self._refused: Counter[str] = Counter()
        self._streaming: Streaming | None = None
        self._sizes: dict[bool, int] = {}
        self._lock = ForkSafeLock()

    @property
    def decoder(self) -> Backend:
        decoder = self._decoder
        if isinstance(decoder, Backend):
            return decoder
        # Two threads may both choose: they come to the same.
        chosen, self._decoder_reason = decoder()
        self._decoder = chosen
        return chosen

    @property
    def core(self) -> CoreBackend | None:
        """The core, where it encodes."""
        from .core import CoreBackend

        return self.encoder if isinstance(self.encoder, CoreBackend) else None

    @property
    def quick(self) -> Quick | None:
        return self.encoder.quick

    def streaming(self, build: str | None, source: str) -> Streaming:
        """What decodes step by step; chosen when it is first needed."""
        chosen = self._streaming
        if chosen is None:
            from .streaming import choose

            chosen = self._streaming = choose(self, build, source)
        return chosen

    def info(self, build: str | None) -> BackendInfo:
        decoder = self.decoder
        names = self.encoder.name, decoder.name
        return BackendInfo(*names, self._reason, build, self._decoder_reason)

    def vocab_size(self, with_added_tokens: bool) -> int:
        size = self._sizes.get(with_added_tokens)
        if size is None:
            size = self.encoder.vocab_size(with_added_tokens)
            self._sizes[with_added_tokens] = size
        return size

    def for_limits(self, limits: Limits) -> Hybrid:
        """The backends of a view with these bounds: only the core keeps those of the sandbox."""
        if not limits.needs_sandbox:
            return self
        core = self.core
        if core is None:
            raise Unsupported(
                f"{self.encoder.name} has no bounds on time and memory; only the core has them",
                feature="limits:encoder",
            )
        inside = core.limited(limits.deadline, limits.memory)
        return Hybrid(inside, inside, source=self._source)

    def bounded(self, limits: Limits) -> Backend:
        from .limited import Limited

        return cast("Backend", Limited(self, limits))

    @property
    def decoder_reason(self) -> str | None:
        """Why the decoder is not the one that was asked for."""
        _ = self.decoder
        return self._decoder_reason

    @property
    def reason(self) -> str | None:
        """Why something was, or is being, served by the fallback: the latest reason."""
        return self._reason

    @property
    def refused(self) -> dict[str, int]:
        """How many calls went to the fallback, by reason."""
        with self._lock:
            return dict(self._refused)

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        try:
            return self.encoder.encode(text, pair, add_special_tokens, special_is_text)
        except _REFUSALS as error:
            return self._encode_instead(error, text, pair, add_special_tokens, special_is_text)

    def _encode_instead(
        self,
        error: TokenizerError,
        text: str,
        pair: str | None,
        *wanted: bool,
    ) -> Encoding:
        # Not in `encode`: a name that a closure needs is slower to read, in every call.
        return self._instead(error, lambda other: other.encode(text, pair, *wanted))

    def encode_instead(
        self, error: TokenizerError, text: str, add_special_tokens: bool, special_is_text: bool
    ) -> Encoding:
        if not isinstance(error, _REFUSALS):
            raise error
        return self._encode_instead(error, text, None, add_special_tokens, special_is_text)

    encode_with = _or_fallback("encode_with")
    encode_batch = _or_fallback("encode_batch")
    encode_guarded = _or_fallback("encode_guarded")
    encode_batch_guarded = _or_fallback("encode_batch_guarded")
    encode_segments = _or_fallback("encode_segments")
    count = _or_fallback("count")
    count_batch = _or_fallback("count_batch")
    truncate = _or_fallback("truncate")

    def added_names(self) -> Mapping[str, AddedName]:
        return self.encoder.added_names()

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        return self.decoder.decode(ids, skip_special_tokens, unknown)

    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]:
        return self.decoder.decode_batch(lists, skip_special_tokens, unknown, threads)

    def token_to_id(self, token: str) -> int | None:
        return self.encoder.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        return self.encoder.id_to_token(token_id)

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return self.encoder.vocab(with_added_tokens)

    def special_tokens(self) -> SpecialTokens:
        return self.encoder.special_tokens()

    def close(self) -> None:
        if self._streaming is not None:
            # Streams would go on with the steps that are remembered.
            self._streaming.forget()
            self._streaming.close()
        for backend in (self.encoder, self._decoder, self._fallback):
            if isinstance(backend, Backend):
                backend.close()

    def _instead(self, error: TokenizerError, call: Callable[[Backend], T]) -> T:
        if self._fallback is None:
            raise error
        try:
            answer = call(self._fallback)
        except TokenizerClosed:
            raise
        except TokenizerError as second:
            raise with_second_refusal(error, second) from second
        reason = reason_of(error)
        with self._lock:
            self._reason = reason
            self._refused[reason] += 1
            first = self._refused[reason] == 1
        observer = watch.observer
        if observer is not None:
            observer.fell_back(reason)
        log.log(
            logging.WARNING if first else logging.DEBUG,
            "Core cannot serve a call for %s, falling back to HuggingFace: %s (%s)",
            self._source,
            reason,
            error.message,
        )
        return answer


def reason_of(error: TokenizerError) -> str:
    """The short form that logs and metrics carry."""
    return error.feature or error.kind


def with_second_refusal(error: TokenizerError, second: TokenizerError) -> TokenizerError:
    """The first backend's error, which also says what became of the fallback."""
    also = f"HuggingFace cannot serve it either: {second.message}"
    error.hint = f"{error.hint}. {also}" if error.hint else also
    return error
