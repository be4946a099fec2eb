"""Metrics: what is counted where, under whose names, and that nothing is left of it afterwards."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok import InvalidArgument, StopSequenceConfig, metrics
from pywasmtok.loading import factory
from pywasmtok.metrics import counting as _counting
from pywasmtok.tokenizer.observed import watch
from pywasmtok.tokenizer.tokenizer import Options, Recipe, Tokenizer


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    metrics.disable()
    assert watch.observer is None
    assert not metrics.enabled()


@pytest.fixture
def registry() -> Any:
    return pytest.importorskip("prometheus_client").CollectorRegistry()


def open_bytes(data: bytes, decoder: str = "core") -> Tokenizer:
    # Through the module, where loading is counted.
    return factory.from_recipe(Recipe(data, "small", Options("auto", decoder, None, False)))


def core() -> dict[str, str]:
    return {"format": "tokenizer.json", "backend": "core"}


def test_without_the_package_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert metrics.enable(aliases=("sglang", "dynamo")) is False
    assert watch.observer is None
    metrics.disable()


def test_calls_are_counted_and_measured(registry: Any) -> None:
    existing = open_bytes(small.file())
    assert metrics.enable(registry)
    text = "Hello world, é"
    encoding = existing.encode(text)
    batch = existing.encode_batch(item for item in (text, (text, "b")))
    assert existing.decode(encoding) == text
    assert existing.decode_batch([encoding, encoding]) == [text, text]

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(name, {**core(), **labels})
        return found

    for operation in ("encode", "encode_batch"):
        assert value("pywasmtok_encode_seconds_count", operation=operation) == 1
    for operation in ("decode", "decode_batch"):
        assert value("pywasmtok_decode_seconds_count", operation=operation) == 1
    took = value("pywasmtok_encode_seconds_sum", operation="encode")
    assert took is not None
    assert 0 < took < 10
    assert value("pywasmtok_encode_tokens_sum") == len(encoding)
    assert value("pywasmtok_encode_characters_sum") == len(text)
    assert value("pywasmtok_encoded_tokens_total") == len(encoding) + len(batch.buffer)
    assert value("pywasmtok_encoded_bytes_total") == 3 * len(text.encode()) + 1
    assert value("pywasmtok_decoded_tokens_total") == 3 * len(encoding)
    assert value("pywasmtok_decoded_bytes_total") == 3 * len(text.encode())


def test_segments_and_counting_are_measured(registry: Any) -> None:
    tok = open_bytes(small.file())
    assert metrics.enable(registry)
    encoding = tok.encode_segments(part for part in (("Hello", True), (" wörld", False)))
    assert tok.count("Hello") == len(tok.truncate("Hello", 100).ids)
    assert tok.fits("Hello", 100)

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(name, {**core(), **labels})
        return found

    for operation in ("encode_segments", "count", "fits", "truncate"):
        assert value("pywasmtok_encode_seconds_count", operation=operation) == 1
    assert value("pywasmtok_encoded_tokens_total") == len(encoding)
    assert value("pywasmtok_encoded_bytes_total") == len("Hello wörld".encode())
    with pytest.raises(pywasmtok.InvalidArgument):
        tok.count("Hello", special="never")
    labels = {"operation": "count", "kind": "invalid_argument"}
    assert registry.get_sample_value("pywasmtok_errors_total", labels) == 1


def test_loads_and_compiled_cores(registry: Any) -> None:
    metrics.enable(registry)
    tok = pywasmtok.create_tokenizer("builtin:demo", decoder="core")
    name = "pywasmtok_load_seconds_count"
    assert registry.get_sample_value(name, core()) == 1
    with pytest.raises(pywasmtok.TokenizerError):
        open_bytes(b"{")
    found = [
        sample
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "pywasmtok_core_opened_total"
    ]
    assert {sample.labels["build"] for sample in found} >= {tok.backend.build}
    assert {sample.labels["cache"] for sample in found} <= {"hit", "miss"}


def test_errors_by_kind(registry: Any) -> None:
    metrics.enable(registry)
    tok = open_bytes(small.file())
    with pytest.raises(pywasmtok.InvalidText):
        tok.encode("\ud800")
    with pytest.raises(pywasmtok.InvalidToken):
        tok.decode([999_999], unknown_id="error")
    with pytest.raises(InvalidArgument):
        tok.encode_batch("one text")
    with pytest.raises(InvalidArgument):
        tok.decode_stream().step("x")  # type: ignore[arg-type]
    with pytest.raises(pywasmtok.LoadError):
        factory.from_recipe(tok._recipe._replace(data=b"{}"))
    for operation, kind in (
        ("encode", "invalid_text"),
        ("decode", "invalid_token"),
        ("encode_batch", "invalid_argument"),
        ("stream", "invalid_argument"),
        ("load", "not_a_tokenizer"),
    ):
        labels = {"operation": operation, "kind": kind}
        assert registry.get_sample_value("pywasmtok_errors_total", labels) == 1, labels


def test_fallbacks_by_component_alone(registry: Any) -> None:
    """What stands behind the colon of a reason may be a stranger's text."""
    metrics.enable(registry)
    name = "pywasmtok_fallbacks_total"
    open_bytes(small.UNSERVED, decoder="hf")
    assert registry.get_sample_value(name, {"reason": "regex"}) == 1
    pads: dict[str, object] = {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": None,
    }
    pads |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "!"}
    tok = open_bytes(small.file(padding=pads), decoder="hf")
    tok.encode_batch(["a", "bb"])
    assert registry.get_sample_value(name, {"reason": "padding"}) == 1
    labels = {"operation": "encode_batch", "format": "tokenizer.json", "backend": "core"}
    assert registry.get_sample_value("pywasmtok_encode_seconds_count", labels) == 1


def test_streams_and_stops(registry: Any) -> None:
    metrics.enable(registry)
    tok = open_bytes(small.file())

    def value(name: str, operation: str) -> float | None:
        found: float | None = registry.get_sample_value(name, {"operation": operation})
        return found

    stream = tok.decode_stream()
    assert [stream.step(n) for n in "aé".encode()] == ["a", "", "é"]
    stream.step_batch([0x62, 0xC3])
    assert value("pywasmtok_stream_tokens_total", "stream") == 5
    assert value("pywasmtok_stream_held_total", "stream") == 1
    decoder = tok.stop_decoder(StopSequenceConfig((), ("END",)))
    for token_id in b"aENDb":
        decoder.process_token(token_id)
    assert value("pywasmtok_stream_tokens_total", "stop") == 5
    assert value("pywasmtok_stream_held_total", "stop") == 2
    again = tok.stop_decoder(StopSequenceConfig((ord("!"),)))
    assert again.process_tokens(list(b"a!bc")).consumed == 2
    again.flush()
    for kind in ("string", "token"):
        assert registry.get_sample_value("pywasmtok_stops_total", {"kind": kind}) == 1


def test_the_names_of_the_other_systems(registry: Any) -> None:
    metrics.enable(registry, aliases=("dynamo", "sglang"))
    tok = open_bytes(small.file())
    for _ in range(3):
        tok.decode(tok.encode("Hello world"))
    tok.encode_batch(["a"])
    mock = pywasmtok.create_tokenizer("mock://")
    mock.encode("Hello")
    decoder = tok.stop_decoder(StopSequenceConfig((), ("END",)))
    decoder.process_tokens(list(b"aEND"))
    tok.decode_stream().step(0xC3)
    for wrong in (lambda: tok.encode("\ud800"), lambda: tok.decode([-1])):
        with pytest.raises(pywasmtok.TokenizerError):
            wrong()
    with pytest.raises(pywasmtok.TokenizerError):
        open_bytes(b"{}")
    value = registry.get_sample_value
    theirs = {"tokenizer_type": "huggingface"}
    encode = {**theirs, "operation": "encode"}
    prefix = "sgl_tokenizer_"
    assert value(prefix + "encode_duration_seconds_count", encode) == 4
    mocked = {"tokenizer_type": "mock", "operation": "encode"}
    assert value(prefix + "encode_duration_seconds_count", mocked) == 1
    assert value(prefix + "encode_duration_seconds_bucket", {**encode, "le": "+Inf"}) == 4
    decode = {**theirs, "operation": "decode"}
    assert value(prefix + "decode_duration_seconds_count", decode) == 3
    load = {**theirs, "operation": "factory_load"}
    assert value(prefix + "factory_load_duration_seconds_count", load) == 1
    for name, kind in (
        ("encode", "invalid_text"),
        ("decode", "invalid_token"),
        ("factory", "not_a_tokenizer"),
    ):
        assert value(f"{prefix}{name}_errors_total", {"error_type": kind}) == 1
    assert value(prefix + "tokens_per_encode_count", theirs) == 3
    assert value(prefix + "chars_per_encode_sum", theirs) == 33
    assert value(prefix + "stop_sequence_detected") == 1
    assert value(prefix + "stream_incomplete_utf8_total") == 1
    name = "dynamo_frontend_tokenizer_latency_ms"
    assert value(name + "_count", {"operation": "tokenize"}) == 5
    assert value(name + "_count", {"operation": "detokenize"}) == 3
    bounds = {
        sample.labels["le"]
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == name + "_bucket"
    }
    assert bounds == {*(str(0.5 * 2**n) for n in range(11)), "+Inf"}
    seconds = value("pywasmtok_decode_seconds_sum", {**core(), "operation": "decode"})
    assert value(name + "_sum", {"operation": "detokenize"}) == pytest.approx(1000 * seconds)
    # And all of it can be written.
    written = sys.modules["prometheus_client"].generate_latest(registry).decode()
    assert "\nsgl_tokenizer_stop_sequence_detected 1.0\n" in written


def test_labels_are_bounded(registry: Any) -> None:
    metrics.enable(registry, aliases=metrics.ALIASES)
    tok = open_bytes(small.file())
    secret = "a secret of a tenant"
    for n in range(50):
        tok.decode(tok.encode(f"{secret} {n}"))
        with pytest.raises(pywasmtok.TokenizerError):
            tok.encode(f"{secret} {n} \ud800")
    series = [
        (sample.name, tuple(sample.labels.items()))
        for metric in registry.collect()
        for sample in metric.samples
    ]
    assert len(series) == len(set(series)) < 400
    assert secret not in str(series)
    assert _counting.format_of(tok) == "tokenizer.json"
    assert _counting.component_of("model:" + secret) == "model"
    assert _counting.component_of(secret) == "other"


def test_enabling_twice(registry: Any) -> None:
    assert metrics.enable(registry, aliases=("sglang",))
    observer = watch.observer
    assert metrics.enable(registry, aliases=["sglang"])
    assert watch.observer is observer is not None
    with pytest.raises(InvalidArgument, match="already"):
        metrics.enable(registry)
    metrics.disable()
    metrics.disable()
    assert list(registry.collect()) == []
    assert metrics.enable(registry)


def test_wrong_arguments(registry: Any) -> None:
    wrong: list[Any] = ["sglang", ("vllm",), (3,), None, 3, [[]]]
    for aliases in wrong:
        with pytest.raises(InvalidArgument, match="aliases"):
            metrics.enable(registry, aliases=aliases)
    for none in wrong[:2]:
        with pytest.raises(InvalidArgument, match="CollectorRegistry"):
            metrics.enable(none)
    assert not metrics.enabled()
    metrics.enable(registry)
    tok: Any = open_bytes(small.file())
    for given, named in (((), {}), (([[97]],), {"lists": [[97]]})):
        with pytest.raises(TypeError, match="lists"):
            tok.decode_batch(*given, **named)


def test_a_registry_that_has_such_names(registry: Any) -> None:
    sys.modules["prometheus_client"].Counter("pywasmtok_errors", "mine", registry=registry)
    with pytest.raises(InvalidArgument, match="registry"):
        metrics.enable(registry)
    assert [metric.name for metric in registry.collect()] == ["pywasmtok_errors"]
    assert not metrics.enabled()


def test_batches_are_read_once_and_within_bounds(registry: Any) -> None:
    metrics.enable(registry)
    tok = open_bytes(small.file())
    assert tok.decode_batch(lists=iter([[97], [98, 99]])) == ["a", "bc"]
    assert registry.get_sample_value("pywasmtok_decoded_tokens_total", core()) == 3
    with pytest.raises(pywasmtok.InputTooLarge):
        tok.limited(max_batch_items=3).decode_batch(itertools.repeat([97]))
    labels = {"operation": "decode_batch", "kind": "input_too_large"}
    assert registry.get_sample_value("pywasmtok_errors_total", labels) == 1


def test_iterators_of_ids_are_read_once(registry: Any) -> None:
    metrics.enable(registry)
    # Not among the types that are promised.
    tok: Any = open_bytes(small.file())
    assert tok.decode(iter([97, 98])) == "ab"
    assert tok.decode_batch([iter([97]), [98, 99]]) == ["a", "bc"]
    assert tok.decode_stream().step_batch(iter([97, 98])) == "ab"
    assert registry.get_sample_value("pywasmtok_decoded_tokens_total", core()) == 5


def test_streams_made_before_are_counted(registry: Any) -> None:
    stream = open_bytes(small.file()).decode_stream()
    stream.step(97)
    metrics.enable(registry)
    stream.step(97)
    labels = {"operation": "stream"}
    assert registry.get_sample_value("pywasmtok_stream_tokens_total", labels) == 1


def test_threads(registry: Any) -> None:
    metrics.enable(registry)
    tok = open_bytes(small.file())
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        stream = tok.decode_stream()
        for _ in range(100):
            stream.step_batch(tok.encode("Hello world"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    labels = {**core(), "operation": "encode"}
    assert registry.get_sample_value("pywasmtok_encode_seconds_count", labels) == 800
    length = len(tok.encode("Hello world"))
    labels = {"operation": "stream"}
    assert registry.get_sample_value("pywasmtok_stream_tokens_total", labels) == 800 * length


def test_enabling_while_others_call(registry: Any) -> None:
    tok = open_bytes(small.file())
    ids = tok.encode("Hello world").ids
    done = threading.Event()
    wrong: list[object] = []

    def work() -> None:
        while not done.is_set():
            found = tok.encode("Hello world").ids
            if found != ids:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        metrics.enable(registry)
        metrics.disable()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_counts_for_itself(registry: Any) -> None:
    metrics.enable(registry)
    tok = open_bytes(small.file())
    tok.encode("Hello")
    labels = {**core(), "operation": "encode"}
    child = os.fork()
    if child == 0:
        tok.encode("Hello")
        count = registry.get_sample_value("pywasmtok_encode_seconds_count", labels)
        metrics.disable()
        os._exit(0 if count == 2 and not metrics.enabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert registry.get_sample_value("pywasmtok_encode_seconds_count", labels) == 1
