"""What the core refuses, HuggingFace serves: said once, with the reason, and nothing is dropped."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from backends.test_hf import HOSTILE, PANICS
from pywasmtok import _host, errors
from pywasmtok._host.wasm import abi
from pywasmtok.tokenizer.special import policy


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small.write(tmp_path)


@pytest.fixture
def unserved(tmp_path: Path) -> Path:
    """What HuggingFace loads and the core refuses."""
    path = tmp_path / "clusters.json"
    path.write_bytes(small.UNSERVED)
    return path


@pytest.fixture
def refuse_load(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def refuse(error: Exception) -> None:
        def load(data: bytes, **_: Any) -> Any:
            raise copy.copy(error)

        monkeypatch.setattr(_host, "load_tokenizer", load)

    return refuse


class Faulty:
    """A core whose encodes raise what the test says; everything else is the real one."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.error: errors.TokenizerError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def _fail(self) -> None:
        if self.error is not None:
            raise copy.copy(self.error)

    def encode_ids(self, *given: Any) -> bytes:
        self._fail()
        ids: bytes = self._core.encode_ids(*given)
        return ids

    def short_ids(self, *given: Any) -> bytes:
        self._fail()
        ids: bytes = self._core.short_ids(*given)
        return ids

    def encode_pair_ids(self, *given: Any) -> bytes:
        self._fail()
        ids: bytes = self._core.encode_pair_ids(*given)
        return ids

    def encode_batch_ids(self, *given: Any) -> tuple[bytes, bytes]:
        self._fail()
        answer: tuple[bytes, bytes] = self._core.encode_batch_ids(*given)
        return answer


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> list[Faulty]:
    """Every core that is loaded from here on, wrapped."""
    made: list[Faulty] = []
    real = _host.load_tokenizer

    def load(data: bytes, **options: Any) -> Any:
        made.append(Faulty(real(data, **options)))
        return made[-1]

    monkeypatch.setattr(_host, "load_tokenizer", load)
    return made


LOAD_REFUSALS = [
    (errors.Unsupported("m", feature="normalizer:Precompiled"), "normalizer:Precompiled"),
    (errors.ArtifactError("m"), "artifact_error"),
    (errors.HostUnsupported("m"), "host_unsupported"),
    (errors.CoreTrap("m"), "core_trap"),
    (errors.BackendUnavailable("no wasmtime"), "backend_unavailable"),
    (errors.BackendFailure("a defect of the engine"), "backend_failure"),
]


@pytest.mark.parametrize(("error", "reason"), LOAD_REFUSALS, ids=lambda item: str(item)[:30])
def test_at_load(
    error: errors.TokenizerError,
    reason: str,
    path: Path,
    refuse_load: Callable[[Exception], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    refuse_load(error)
    tok = pywasmtok.create_tokenizer(path)
    assert tok.backend == ("hf", "hf", reason, None, None)
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.name == "pywasmtok"
    assert warning.getMessage().startswith(
        f"Core cannot serve {path}, falling back to HuggingFace: {reason}"
    )
    caplog.clear()
    encoding = tok.encode(small.TEXT)
    assert encoding.served_by == "hf"
    assert tok.decode(encoding, skip_special_tokens=False) == "<s>" + small.TEXT
    assert caplog.records == []


@pytest.mark.parametrize(
    "error",
    [
        errors.ArtifactError("no core builds"),
        errors.HostUnsupported("no library"),
        ModuleNotFoundError("No module named 'wasmtime'", name="wasmtime"),
    ],
    ids=lambda item: type(item).__name__,
)
def test_streams_where_the_core_cannot_run(
    error: Exception, path: Path, refuse_load: Callable[[Exception], None]
) -> None:
    refuse_load(error)
    tok = pywasmtok.create_tokenizer(path)
    assert tok.stream_backend.startswith("held until flush: ")
    ids = tok.encode(small.TEXT, add_special_tokens=False).ids
    stream = tok.decode_stream()
    assert [stream.step_batch(ids), stream.flush()] == ["", tok.decode(ids)]
    with pytest.raises(errors.Unsupported, match="held back"):
        tok.stop_decoder(pywasmtok.StopSequenceConfig(stop_sequences=("x",)))


@pytest.mark.parametrize("options", [{"encoder": "core"}, {"decoder": "core"}])
@pytest.mark.parametrize(("error", "reason"), LOAD_REFUSALS, ids=lambda item: str(item)[:30])
def test_who_insists_on_the_core_gets_its_error(
    error: errors.TokenizerError,
    reason: str,
    options: dict[str, Any],
    path: Path,
    refuse_load: Callable[[Exception], None],
) -> None:
    refuse_load(error)
    with pytest.raises(type(error)):
        pywasmtok.create_tokenizer(path, **options)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidFile("m"),
        errors.LimitExceeded("m"),
        errors.NotATokenizer("m"),
        errors.EmptyFile("m"),
        errors.Unsupported("m", feature="format:gguf"),
    ],
    ids=lambda error: error.kind,
)
def test_a_bad_file_is_no_reason(
    error: errors.TokenizerError, path: Path, refuse_load: Callable[[Exception], None]
) -> None:
    refuse_load(error)
    with pytest.raises(type(error)):
        pywasmtok.create_tokenizer(path)


def test_a_real_feature(unserved: Path, caplog: pytest.LogCaptureFixture) -> None:
    tok = pywasmtok.create_tokenizer(unserved)
    assert tok.backend == ("hf", "hf", small.UNSERVED_FEATURE, None, None)
    assert tok.encode("abba", add_special_tokens=False).tokens == ["a", "b", "b", "a"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert copy.copy(tok).backend == tok.backend


def test_where_huggingface_refuses_too_the_core_speaks(tmp_path: Path) -> None:
    path = small.write(tmp_path, model={"type": "Quantum", "vocab": {}})
    with pytest.raises(pywasmtok.Unsupported) as caught:
        pywasmtok.create_tokenizer(path)
    assert caught.value.feature == "model:Quantum"
    assert "HuggingFace" in str(caught.value)
    assert isinstance(caught.value.__cause__, pywasmtok.InvalidFile)


def test_where_huggingface_is_missing(unserved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(pywasmtok.BackendUnavailable, match="pip install tokenizers") as caught:
        pywasmtok.create_tokenizer(unserved)
    assert small.UNSERVED_FEATURE in str(caught.value)


CALL_REFUSALS = [
    (errors.CoreTrap("stopped"), "core_trap"),
    (errors.BackendFailure("a defect of the engine"), "backend_failure"),
    (errors.LimitExceeded("too far back"), "limit_exceeded"),
    (errors.LimitExceeded("too far back", feature="regex:limit"), "regex:limit"),
    (errors.Unsupported("m", feature="truncation:pair"), "truncation:pair"),
]


@pytest.mark.parametrize(("error", "reason"), CALL_REFUSALS, ids=lambda item: str(item)[:30])
def test_at_a_call(
    error: errors.TokenizerError,
    reason: str,
    path: Path,
    faulty: list[Faulty],
    caplog: pytest.LogCaptureFixture,
) -> None:
    tok = pywasmtok.create_tokenizer(path)
    texts: list[Any] = ["Hello", small.TEXT, ("é", "world")]
    expected = [tok.encode(*((item,) if isinstance(item, str) else item)) for item in texts]
    assert (tok.backend.reason, tok.fallbacks) == (None, {})

    faulty[0].error = error
    answers = [tok.encode(*((item,) if isinstance(item, str) else item)) for item in texts]
    assert answers == expected
    assert [answer.served_by for answer in answers] == ["hf"] * 3
    assert [answer.offsets for answer in answers] == [item.offsets for item in expected]
    assert list(tok.encode_batch(texts)) == expected
    assert tok.backend == ("core", "hf", reason, tok.backend.build, None)
    assert tok.fallbacks == {reason: 4}
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert reason in warnings[0].getMessage()

    faulty[0].error = None
    assert tok.encode("Hello").served_by == "core"


@pytest.mark.parametrize(("error", "reason"), CALL_REFUSALS, ids=lambda item: str(item)[:30])
def test_at_a_call_of_who_insists_on_the_core(
    error: errors.TokenizerError, reason: str, path: Path, faulty: list[Faulty]
) -> None:
    tok = pywasmtok.create_tokenizer(path, encoder="core")
    faulty[0].error = error
    for use in (lambda: tok.encode("x"), lambda: tok.encode_batch(["x"])):
        with pytest.raises(type(error)):
            use()
    assert tok.fallbacks == {}


def test_too_many_ids_are_no_reason(path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path).limited(max_tokens=2)
    for special in ("all", "none"):
        with pytest.raises(pywasmtok.QuotaExceeded):
            tok.encode(small.TEXT, special=special)
    assert tok.fallbacks == {}


@pytest.mark.parametrize("special", ["all", "none"])
def test_the_fallback_is_bounded_and_takes_names_alike(
    special: str, path: Path, faulty: list[Faulty]
) -> None:
    tok = pywasmtok.create_tokenizer(path)
    text = "<s> Hello"
    expected = tok.encode(text, special=special)
    faulty[0].error = errors.CoreTrap("stopped")
    answer = tok.limited(max_tokens=len(expected)).encode(text, special=special)
    assert (answer, answer.served_by) == (expected, "hf")
    with pytest.raises(pywasmtok.QuotaExceeded):
        tok.limited(max_tokens=len(expected) - 1).encode(text, special=special)


def test_flags_of_short_calls_are_those_of_the_abi() -> None:
    assert policy.WITH_SPECIAL_TOKENS == abi.ENCODE_ADD_SPECIAL_TOKENS
    assert policy.NAMES_ARE_TEXT == abi.ENCODE_SPECIAL_IS_TEXT


def test_a_wrong_text_is_no_reason(path: Path, faulty: list[Faulty]) -> None:
    tok = pywasmtok.create_tokenizer(path)
    faulty[0].error = errors.InvalidText("m")
    with pytest.raises(pywasmtok.InvalidText):
        tok.encode("\ud800")
    assert tok.fallbacks == {}


def test_where_the_fallback_panics_too(
    tmp_path: Path, faulty: list[Faulty], caplog: pytest.LogCaptureFixture
) -> None:
    path = small.write(tmp_path, pre_tokenizer=PANICS)
    tok = pywasmtok.create_tokenizer(path)
    for core in faulty:
        core.error = errors.LimitExceeded("too far back")
    with pytest.raises(pywasmtok.TokenizerError, match="PanicException"):
        tok.encode(HOSTILE)
    assert [record for record in caplog.records if "call" in record.getMessage()] == []


def test_a_batch_that_is_padded_together(tmp_path: Path) -> None:
    padding = {
        "strategy": "BatchLongest",
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 267,
        "pad_type_id": 0,
        "pad_token": "</s>",
    }
    path = small.write(tmp_path, padding=padding)
    tok = pywasmtok.create_tokenizer(path)
    assert tok.encode("Hello").served_by == "core"
    batch = tok.encode_batch(["Hello world", ("é", "x"), "Hello"])
    assert {len(encoding) for encoding in batch} == {5}
    assert batch[2].tokens == ["</s>"] * 3 + ["<s>", "Hello"]
    assert batch[2].attention_mask == [0] * 3 + [1, 1]
    assert tok.fallbacks == {"padding:batch": 1}
    with pytest.raises(pywasmtok.Unsupported):
        pywasmtok.create_tokenizer(path, encoder="core").encode_batch(["Hello"])


def test_the_environment_can_insist_too(unserved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYWASMTOK_ENCODER", "core")
    with pytest.raises(pywasmtok.Unsupported):
        pywasmtok.create_tokenizer(unserved)


def test_what_is_described_is_what_would_be_made(unserved: Path) -> None:
    """HuggingFace does not read what `apply_config` adds: then there is no fallback."""
    (unserved.parent / "tokenizer_config.json").write_text('{"pad_token": "<pad>"}')
    for apply, encoder in ((False, "hf"), (True, None)):
        info = pywasmtok.get_tokenizer_info(unserved, apply_config=apply)
        assert (info.encoder, info.decoder) == (encoder, encoder)
        assert info.falls_back == small.UNSERVED_FEATURE
    with pytest.raises(pywasmtok.Unsupported):
        pywasmtok.create_tokenizer(unserved, apply_config=True)


def test_a_failure_of_the_core_is_described(
    unserved: Path, refuse_load: Callable[[Exception], None]
) -> None:
    refuse_load(errors.BackendFailure("made up"))
    assert pywasmtok.get_tokenizer_info(unserved).encoder == "hf"
    refuse_load(errors.HostLimit("made up"))
    for function in (pywasmtok.get_tokenizer_info, pywasmtok.create_tokenizer):
        with pytest.raises(errors.HostLimit):
            function(unserved)
