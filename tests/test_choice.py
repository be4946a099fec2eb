from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok._choice import choose_decoder, choose_encoder

VARIABLES = ("PYWASMTOK_ENCODER", "PYWASMTOK_DECODER", "DYN_TOKENIZER")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_defaults() -> None:
    assert choose_encoder(None) == "auto"
    assert choose_decoder(None) == "hf"


@pytest.mark.parametrize("variable", ["PYWASMTOK_ENCODER", "DYN_TOKENIZER"])
@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("auto", "auto"),
        ("core", "core"),
        ("wasm", "auto"),
        ("fast", "auto"),
        ("fastokens", "auto"),
        ("fasttokens", "auto"),
        ("hf", "hf"),
        ("huggingface", "hf"),
        ("default", "hf"),
        ("slow", "hf"),
        ("  HuggingFace ", "hf"),
        ("", "auto"),
    ],
)
def test_every_spelling_that_was_ever_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, meaning: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert choose_encoder(None) == meaning


def test_our_variable_comes_before_dynamos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYN_TOKENIZER", "hf")
    monkeypatch.setenv("PYWASMTOK_ENCODER", "core")
    assert choose_encoder(None) == "core"


def test_dynamos_variable_does_not_choose_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYN_TOKENIZER", "core")
    assert choose_decoder(None) == "hf"
    monkeypatch.setenv("PYWASMTOK_DECODER", "core")
    assert choose_decoder(None) == "core"


@pytest.mark.parametrize("variable", VARIABLES)
def test_an_unknown_value_is_named_and_the_default_used(
    variable: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(variable, "gigatoken")
    chosen = choose_decoder(None) if "DECODER" in variable else choose_encoder(None)
    assert chosen == ("hf" if "DECODER" in variable else "auto")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("pywasmtok", logging.WARNING)
    message = record.getMessage()
    assert f"Unrecognized {variable} value 'gigatoken'" in message
    assert "huggingface" in message


@pytest.mark.parametrize("argument", ["auto", "core"])
def test_a_stale_variable_does_not_outlive_an_argument(
    argument: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DYN_TOKENIZER", "hf")
    monkeypatch.setenv("PYWASMTOK_ENCODER", "nonsense")
    monkeypatch.setenv("PYWASMTOK_DECODER", "nonsense")
    assert choose_encoder(argument) == argument
    assert choose_decoder("hf") == "hf"
    assert caplog.records == []


@pytest.mark.parametrize("options", [{"encoder": "fastokens"}, {"decoder": "auto"}, {"build": "x"}])
def test_an_unknown_argument_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="is none of"):
        pywasmtok.create_tokenizer("builtin:demo", **options)


def test_the_environment_reaches_the_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(small.file())
    caplog.set_level(logging.INFO, logger="pywasmtok")
    monkeypatch.setenv("DYN_TOKENIZER", "huggingface")
    assert pywasmtok.create_tokenizer(path).backend == ("hf", "hf", None, None, None)
    assert caplog.messages == ["Using HuggingFace tokenizer backend"]
    caplog.clear()
    tok = pywasmtok.create_tokenizer(path, encoder="auto")
    build = tok.backend.build
    assert tok.backend == ("core", "hf", None, build, None)
    assert caplog.messages == [f"Using core tokenizer backend ({build})"]


def test_what_is_chosen_is_not_written_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(os.environ)
    pywasmtok.create_tokenizer("mock://", encoder="hf")
    assert dict(os.environ) == before
