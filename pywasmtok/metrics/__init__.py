"""Metrics for Prometheus, off until `enable` is called.

    from pywasmtok import metrics
    metrics.enable(aliases=("sglang", "dynamo"))

Until then nothing is counted: calls see that there is no observer (`tokenizer/observed.py`), and
enabling sets one. Without the package prometheus-client `enable` does nothing and answers False.
docs/metrics.md lists the names.

No text, no id, no name of a file or of a tenant is in a label: every set of labels is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._locks import ForkSafeLock
from ..errors import InvalidArgument
from ..tokenizer.observed import watch

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["ALIASES", "disable", "enable", "enabled"]

log = logging.getLogger("pywasmtok")

ALIASES: Final = ("sglang", "dynamo")

# Milliseconds that double, as Dynamo's, and three steps below them.
_SECONDS: Final = (25e-6, 1e-4, 25e-5, *(0.0005 * 2**n for n in range(11)), 2.048, 8.192)
_COUNTS: Final = tuple(float(4**n) for n in range(12))


class _State(NamedTuple):
    registry: CollectorRegistry
    aliases: tuple[str, ...]
    collectors: tuple[Any, ...]


class _Current:
    """What is enabled in this process."""

    state: _State | None = None


_lock: Final = ForkSafeLock()


def enable(registry: CollectorRegistry | None = None, aliases: Iterable[str] = ()) -> bool:
    """Starts counting, of every tokenizer of this process. False: prometheus-client is missing.

    registry  where the metrics are registered; None: the default one
    aliases   "sglang" and "dynamo" also give what these systems name otherwise
    """
    wanted = _checked(aliases)
    try:
        import prometheus_client
    except ImportError:
        log.info("prometheus-client is not installed: no metrics")
        return False
    target = prometheus_client.REGISTRY if registry is None else registry
    if not isinstance(target, prometheus_client.CollectorRegistry):
        raise InvalidArgument(f"registry is a CollectorRegistry, not {type(target).__name__}")
    with _lock:
        current = _Current.state
        if current is not None:
            if current.registry is target and current.aliases == wanted:
                return True
            raise InvalidArgument(
                "metrics are enabled already, with another registry or other aliases",
                hint="metrics.disable() first",
            )
        from .collectors import collectors_for
        from .counting import Counting

        instruments = Instruments.made()
        collectors = (*instruments, *collectors_for(instruments, wanted))
        registered: list[Any] = []
        try:
            for collector in collectors:
                target.register(collector)
                registered.append(collector)
        except ValueError as error:
            for collector in registered:
                target.unregister(collector)
            raise InvalidArgument(f"the registry has such metrics already: {error}") from error
        _Current.state = _State(target, wanted, collectors)
        watch.observer = Counting(instruments)
    return True


def disable() -> None:
    """Counts nothing any more, and takes the metrics out of the registry."""
    with _lock:
        state, _Current.state = _Current.state, None
        watch.observer = None
        if state is None:
            return
        for collector in state.collectors:
            state.registry.unregister(collector)


def enabled() -> bool:
    return _Current.state is not None


def _checked(aliases: Iterable[str]) -> tuple[str, ...]:
    is_list = isinstance(aliases, Iterable) and not isinstance(aliases, str)
    wanted = tuple(aliases) if is_list else ()
    if not is_list or any(name not in ALIASES for name in wanted):
        raise InvalidArgument(f"aliases={aliases!r:.80} are not among {', '.join(ALIASES)}")
    return tuple(name for name in ALIASES if name in wanted)


class Instruments(NamedTuple):
    encode_seconds: Any
    decode_seconds: Any
    load_seconds: Any
    encode_tokens: Any
    encode_characters: Any
    encoded_tokens: Any
    encoded_bytes: Any
    decoded_tokens: Any
    decoded_bytes: Any
    errors: Any
    fallbacks: Any
    stream_tokens: Any
    stream_held: Any
    stops: Any

    @classmethod
    def made(cls) -> Instruments:
        from prometheus_client import Counter, Histogram

        def histogram(
            name: str, about: str, labels: tuple[str, ...], buckets: tuple[float, ...]
        ) -> Any:
            return Histogram(f"pywasmtok_{name}", about, labels, buckets=buckets, registry=None)

        def counter(name: str, about: str, labels: tuple[str, ...]) -> Any:
            return Counter(f"pywasmtok_{name}", about, labels, registry=None)

        who = ("operation", "format", "backend")
        each = ("format", "backend")
        return cls(
            histogram("encode_seconds", "Time of a call that encodes", who, _SECONDS),
            histogram("decode_seconds", "Time of a call that decodes", who, _SECONDS),
            histogram("load_seconds", "Time to load a tokenizer", each, _SECONDS),
            histogram("encode_tokens", "Tokens of a text that was encoded", each, _COUNTS),
            histogram("encode_characters", "Characters of a text that was encoded", each, _COUNTS),
            counter("encoded_tokens", "Tokens made of texts", each),
            counter("encoded_bytes", "Bytes of UTF-8 of the texts that were encoded", each),
            counter("decoded_tokens", "Tokens that were decoded", each),
            counter("decoded_bytes", "Bytes of UTF-8 of the texts that they gave", each),
            counter("errors", "Calls that raised, by kind of error", ("operation", "kind")),
            counter("fallbacks", "Calls that HuggingFace answered for the core", ("reason",)),
            counter("stream_tokens", "Tokens that went through streams", ("operation",)),
            counter("stream_held", "Steps of streams that gave no text yet", ("operation",)),
            counter("stops", "Texts that a stop ended", ("kind",)),
        )
