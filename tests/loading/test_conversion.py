"""HuggingFace beside a format that it does not read: it gets what the core makes of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok import _host
from pywasmtok.cli.main import main


class Foreign:
    """Stands for a format of its own: the core reads it, HuggingFace only what it becomes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.differences: list[str] = []
        self.refusal: pywasmtok.TokenizerError | None = None
        self.made = 0
        load = _host.load_tokenizer

        def load_tokenizer(data: bytes, **given: Any) -> Any:
            core = load(small.file(), **given)
            known = core.info()
            monkeypatch.setattr(core, "info", lambda: {**known, "format": "foreign"})
            return core

        monkeypatch.setattr(_host, "load_tokenizer", load_tokenizer)
        monkeypatch.setattr(_host, "convert", self.convert, raising=False)
        monkeypatch.setattr(_host, "fingerprint", lambda *_, **__: ("one", "another"))
        monkeypatch.setattr(
            _host, "detect", lambda data, **_: {"format": "foreign", "reason": "a test"}
        )

    def convert(self, data: bytes, options: bytes = b"", **_: Any) -> tuple[bytes, list[str]]:
        self.made += 1
        if self.refusal is not None:
            raise self.refusal
        return small.file(), self.differences


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Foreign:
    return Foreign(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.foreign"
    path.write_bytes(b"not for HuggingFace")
    return path


def test_huggingface_decodes_what_was_converted(foreign: Foreign, path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path)
    assert tok.format == "foreign"
    assert foreign.made == 0
    ids = tok.encode("Hello").ids
    assert tok.decode(ids) == tok.decode(ids) == "Hello"
    assert (tok.backend.encoder, tok.backend.decoder) == ("core", "hf")
    assert tok.backend.decoder_reason is None
    assert foreign.made == 1
    # The libraries of such formats raise for an id that there is not.
    with pytest.raises(pywasmtok.InvalidToken):
        tok.decode([5000])


def test_what_a_tokenizer_json_decodes_otherwise_the_core_decodes(
    foreign: Foreign, path: Path
) -> None:
    foreign.differences = ["added_tokens:in_text", "decoder:bytes"]
    tok = pywasmtok.create_tokenizer(path)
    assert tok.decode(tok.encode("Hello")) == "Hello"
    assert (tok.backend.decoder, tok.backend.decoder_reason) == ("core", "decoder:bytes")
    info = pywasmtok.get_tokenizer_info(path)
    assert (info.encoder, info.decoder, info.decoder_reason) == ("core", "core", "decoder:bytes")


def test_what_cannot_be_converted_the_core_decodes(foreign: Foreign, path: Path) -> None:
    foreign.refusal = pywasmtok.Unsupported("no place for it", feature="convert:model")
    tok = pywasmtok.create_tokenizer(path, preload=True)
    assert tok.decode(tok.encode("Hello")) == "Hello"
    assert (tok.backend.decoder, tok.backend.decoder_reason) == ("core", "convert:model")
    with pytest.raises(pywasmtok.Unsupported, match="no place"):
        pywasmtok.create_tokenizer(path, encoder="hf")


def test_huggingface_encodes_only_what_it_encodes_alike(foreign: Foreign, path: Path) -> None:
    foreign.differences = ["decoder:bytes"]
    tok = pywasmtok.create_tokenizer(path, encoder="hf")
    assert tok.encode("Hello").served_by == "hf"
    assert tok.backend.decoder == "core"
    foreign.differences = ["added_tokens:in_text"]
    with pytest.raises(pywasmtok.Unsupported, match="added_tokens:in_text") as caught:
        pywasmtok.create_tokenizer(path, encoder="hf")
    assert caught.value.feature == "convert:encode"


def test_the_core_alone_converts_nothing(foreign: Foreign, path: Path) -> None:
    tok = pywasmtok.create_tokenizer(path, encoder="core", decoder="core")
    assert tok.decode(tok.encode("Hello")) == "Hello"
    assert tok.backend.decoder == "core"
    tok.close()
    assert foreign.made == 0


def test_the_command(
    foreign: Foreign, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign.differences = ["added_tokens:in_text"]
    assert main(["convert", str(path), str(tmp_path)]) == 0
    assert (tmp_path / "tokenizer.json").read_bytes() == small.file()
    assert "differs: added_tokens:in_text" in capsys.readouterr().out
    assert main(["convert", str(path), str(tmp_path / "none" / "x.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err
