from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
import small
from assets import Asset, needs_assets

import pywasmtok
from pywasmtok.loading.choice import choose_decoder, choose_encoder
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

VARIABLES = ("PYWASMTOK_ENCODER", "PYWASMTOK_DECODER", "DYN_TOKENIZER", "DYN_TOKENIZER_BACKEND")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_defaults() -> None:
    assert choose_encoder(None) == "auto"
    assert choose_decoder(None) == "hf"


@pytest.mark.parametrize(
    ("variable", "value", "meaning"),
    [
        *[("PYWASMTOK_ENCODER", value, "auto") for value in ("auto", "wasm", "fast", "fastokens")],
        *[("PYWASMTOK_ENCODER", value, "hf") for value in ("hf", "huggingface", "slow")],
        ("PYWASMTOK_ENCODER", "core", "core"),
        ("PYWASMTOK_ENCODER", "default", "default"),
        ("PYWASMTOK_ENCODER", "  HuggingFace ", "hf"),
        ("PYWASMTOK_ENCODER", "", "auto"),
        ("DYN_TOKENIZER", "default", "default"),
        ("DYN_TOKENIZER", "fastokens", "auto"),
        ("DYN_TOKENIZER", "basetenkenizer", "auto"),
        ("DYN_TOKENIZER_BACKEND", "fast", "auto"),
        ("DYN_TOKENIZER_BACKEND", "default", "default"),
    ],
)
def test_each_variable_has_its_values(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, meaning: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert choose_encoder(None) == meaning


@pytest.mark.parametrize("value", ["fast", "hf", "huggingface"])
def test_what_dynamo_does_not_know_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    monkeypatch.setenv("DYN_TOKENIZER", value)
    assert choose_encoder(None) == "auto"
    assert f"Unrecognized DYN_TOKENIZER value '{value}'" in caplog.text


@pytest.mark.parametrize(("argument", "meaning"), [("default", "default"), ("fastokens", "auto")])
def test_dynamos_names_are_understood_as_arguments(argument: str, meaning: str) -> None:
    assert choose_encoder(argument) == meaning


@needs_assets
@pytest.mark.parametrize(
    ("family", "file", "encoder"),
    [
        ("mistral-v3", "tokenizer.model", "core"),
        ("tiktoken-openai", "r50k_base.tiktoken", "core"),
        ("mistral-common", "tekken_240911.json", "core"),
        ("gguf-llamacpp", "ggml-vocab-gpt-2.gguf", "core"),
        ("gpt2", "tokenizer.json", "hf"),
    ],
)
def test_default_has_no_effect_on_what_huggingface_does_not_read(
    monkeypatch: pytest.MonkeyPatch, family: str, file: str, encoder: str
) -> None:
    monkeypatch.setenv("DYN_TOKENIZER", "default")
    asset = Asset(family, file)
    encoding = {"encoding": "r50k_base"} if file.endswith(".tiktoken") else {}
    load = json.dumps(encoding).encode() if encoding else b""
    options = Options(choose_encoder(None), "hf", None, False)
    tok = from_recipe(Recipe(asset.read(), file, options, load))
    assert tok.backend.encoder == encoder
    assert len(tok.encode("Hello world")) > 0


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
    assert "known: " in message


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


@pytest.mark.parametrize("options", [{"encoder": "gigatoken"}, {"decoder": "auto"}, {"build": "x"}])
def test_an_unknown_argument_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="is none of"):
        pywasmtok.create_tokenizer("builtin:demo", **options)


def test_the_environment_reaches_the_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = small.write(tmp_path)
    caplog.set_level(logging.INFO, logger="pywasmtok")
    monkeypatch.setenv("DYN_TOKENIZER", "default")
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
