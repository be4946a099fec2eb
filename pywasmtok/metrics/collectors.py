"""Metrics that are made at each scrape: state that the host keeps anyway, and the names that other
systems give to our metrics."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import CounterMetricFamily, Metric

if TYPE_CHECKING:
    from . import Instruments

__all__ = ["collectors_for"]

# Formats of rank files; everything else is HuggingFace's, or the mock.
_RANKS: Final = frozenset(("tiktoken", "tekken"))

# Of SGLang's; all others encode.
_OPERATIONS: Final = {
    "decode": "decode",
    "decode_batch": "decode",
    "stream": "decode",
    "stop": "decode",
    "load": "factory",
}


def collectors_for(made: Instruments, aliases: tuple[str, ...]) -> tuple[Any, ...]:
    known = {"sglang": _SGLang, "dynamo": _Dynamo}
    return (_CompiledCores(), *(known[name](made) for name in aliases))


class _CompiledCores:
    """Compiled cores that this process opened: out of the cache on disk, or compiled anew."""

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "pywasmtok_core_opened",
            "Builds of the core that were opened",
            labels=("build", "cache"),
        )
        # Not imported for this: without it nothing was opened.
        core = sys.modules.get("pywasmtok._host.wasm.core")
        opened = core.opened() if core is not None else []
        for labels, times in Counter(
            (one.name, "hit" if one.from_cache else "miss") for one in opened
        ).items():
            family.add_metric(labels, times)
        yield family


class _Names:
    def __init__(self, made: Instruments) -> None:
        self._made = made

    def describe(self) -> list[Metric]:
        # Not collected for registering: no names of ours are in the way of these.
        return []


class _SGLang(_Names):
    """The names of the document of SGLang's router, and its labels: `tokenizer_type` knows three
    values, `operation` three, and `error_type` is our kind of an error."""

    def collect(self) -> Iterator[Metric]:
        made = self._made
        for source, name, operation in (
            (made.encode_seconds, "encode_duration_seconds", "encode"),
            (made.decode_seconds, "decode_duration_seconds", "decode"),
            (made.load_seconds, "factory_load_duration_seconds", "factory_load"),
        ):
            added = {"operation": operation}
            yield _histogram(
                source,
                f"sgl_tokenizer_{name}",
                lambda labels, added=added: {**_tokenizer_type(labels), **added},
            )
        for source, name in (
            (made.encode_tokens, "tokens_per_encode"),
            (made.encode_characters, "chars_per_encode"),
        ):
            yield _histogram(source, f"sgl_tokenizer_{name}", _tokenizer_type)
        yield from _errors(made.errors)
        # Their names are no counters' to this library, which would append `_total`.
        yield _total(made.stops, "sgl_tokenizer_stop_sequence_detected")
        yield _total(made.stream_held, "sgl_tokenizer_stream_incomplete_utf8_total")


class _Dynamo(_Names):
    """One histogram, in milliseconds."""

    _NAME: Final = "dynamo_frontend_tokenizer_latency_ms"

    def collect(self) -> Iterator[Metric]:
        metric = Metric(self._NAME, "Time of a call of the tokenizer in milliseconds", "histogram")
        for source, operation in (
            (self._made.encode_seconds, "tokenize"),
            (self._made.decode_seconds, "detokenize"),
        ):
            labels = {"operation": operation}
            one = _histogram(source, self._NAME, lambda _, labels=labels: labels)
            for sample in one.samples:
                ending, value = sample.name.removeprefix(self._NAME), sample.value
                added = dict(sample.labels)
                if ending == "_bucket" and added["le"] != "+Inf":
                    bound = float(added["le"]) * 1000
                    if not 0.5 <= bound <= 512:
                        continue
                    added["le"] = str(round(bound, 6))
                elif ending == "_sum":
                    value *= 1000
                metric.add_sample(sample.name, added, value)
        yield metric


def _tokenizer_type(labels: dict[str, str]) -> dict[str, str]:
    if labels["backend"] == "mock":
        return {"tokenizer_type": "mock"}
    return {"tokenizer_type": "tiktoken" if labels["format"] in _RANKS else "huggingface"}


def _histogram(source: Any, name: str, relabel: Any) -> Metric:
    """The same numbers under another name; what has the same labels there is added up."""
    (ours,) = source.collect()
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in ours.samples:
        ending = sample.name.removeprefix(ours.name)
        if ending == "_created":
            continue
        labels = relabel(sample.labels)
        if ending == "_bucket":
            labels = {**labels, "le": sample.labels["le"]}
        key = (ending, tuple(labels.items()))
        sums[key] = sums.get(key, 0.0) + sample.value
    metric = Metric(name, ours.documentation, "histogram")
    for (ending, items), value in sums.items():
        metric.add_sample(name + ending, dict(items), value)
    return metric


def _errors(source: Any) -> Iterator[Metric]:
    """A counter for each of the three operations that SGLang knows."""
    sums: dict[str, Counter[str]] = {"encode": Counter(), "decode": Counter(), "factory": Counter()}
    (ours,) = source.collect()
    for sample in ours.samples:
        if sample.name.endswith("_total"):
            operation = _OPERATIONS.get(sample.labels["operation"], "encode")
            sums[operation][sample.labels["kind"]] += sample.value
    for operation, kinds in sums.items():
        name = f"sgl_tokenizer_{operation}_errors"
        metric = Metric(name, ours.documentation, "counter")
        for kind, value in kinds.items():
            metric.add_sample(f"{name}_total", {"error_type": kind}, value)
        yield metric


def _total(source: Any, name: str) -> Metric:
    (ours,) = source.collect()
    total = sum(sample.value for sample in ours.samples if sample.name.endswith("_total"))
    metric = Metric(name, ours.documentation, "unknown")
    metric.add_sample(name, {}, total)
    return metric
