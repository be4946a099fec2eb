from __future__ import annotations

import gc
import logging
import os
import pathlib
import sys
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok.loading.sources.lazy import LazyFile

FILE = small.file()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(FILE)
    return tmp_path


def test_a_path_in_every_form(folder: Path) -> None:
    path = folder / "tokenizer.json"
    ids = [
        pywasmtok.create_tokenizer(source).encode("Hello").ids
        for source in (path, str(path), os.fsencode(path), folder, str(folder), os.fsencode(folder))
    ]
    assert all(item == ids[0] for item in ids)


@pytest.mark.parametrize("odd", [5, "a\0b", []])
def test_a_cache_of_the_hub_is_a_path(odd: Any) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match="path"):
        pywasmtok.create_tokenizer("org/name", cache_dir=odd, offline=True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="pywasmtok")
    strange = os.path.join(os.fsencode(folder), b"caf\xe9\n")
    os.mkdir(strange)
    path = os.path.join(strange, b"tok\xff.json")
    Path(os.fsdecode(path)).write_bytes(FILE)
    for source in (path, os.fsdecode(path), Path(os.fsdecode(path))):
        tok = pywasmtok.create_tokenizer(source)
        assert tok.backend.encoder == "core"
        assert tok.encode("Hello").tokens == ["<s>", "Hello"]
        assert tok.decode(tok.encode("Hello")) == "Hello"
    # What people and logs see can be printed anywhere.
    assert tok.source.encode("ascii").endswith(rb"caf\xe9\n/tok\xff.json")
    (folder / "broken").write_bytes(b"{")
    with pytest.raises(pywasmtok.SourceNotFound) as caught:
        pywasmtok.create_tokenizer(os.path.join(strange, b"absent\xfe"))
    str(caught.value).encode("ascii")


@pytest.mark.parametrize("name", ["test", "mock", "builtin:demo"])
def test_a_file_or_folder_of_any_name_is_a_path(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file" / name
    file.parent.mkdir()
    file.write_bytes(FILE)
    folder = tmp_path / name
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(FILE)
    for source in (file, folder):
        assert pywasmtok.create_tokenizer(source).encode("Hello").tokens == ["<s>", "Hello"]


def test_a_schema_is_only_a_str(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for source in (pathlib.PurePath("builtin:demo"), b"mock://", b"builtin:demo"):
        with pytest.raises(pywasmtok.SourceNotFound):
            pywasmtok.create_tokenizer(source)
    with pytest.raises(pywasmtok.SourceNotFound, match=r"builtin:demo"):
        pywasmtok.create_tokenizer("builtin:nothing")


def test_the_builtin() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    assert tok.backend.encoder == "core"
    assert tok.source == "builtin:demo"
    text = "Hello world, def f(x): return 1"
    assert tok.decode(tok.encode(text)) == text


def test_from_file_takes_no_folder_and_no_scheme(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert pywasmtok.create_tokenizer_from_file("tokenizer.json").vocab_size == 270
    with pytest.raises(pywasmtok.InvalidArgument, match="folder"):
        pywasmtok.create_tokenizer_from_file(folder)
    with pytest.raises(pywasmtok.SourceNotFound):
        pywasmtok.create_tokenizer_from_file("builtin:demo")


def test_a_chat_template_comes_with_the_options_of_any_source(folder: Path) -> None:
    template = "{{ messages }}"
    tok = pywasmtok.create_tokenizer_with_chat_template(folder, template, decoder="core")
    assert (tok.chat_template, tok.backend.decoder) == (template, "core")


def test_a_byte_order_mark_is_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + FILE)
    for encoder in ("core", "hf"):
        tok = pywasmtok.create_tokenizer(path, encoder=encoder)
        assert tok.decode(tok.encode("Hello")) == "Hello"


def test_what_is_not_there(tmp_path: Path) -> None:
    for name in ("no-such-thing", "no/such/thing", "no/tokenizer.json", Path("no/thing"), b"no/at"):
        with pytest.raises(pywasmtok.SourceNotFound, match=r"no such file or folder") as caught:
            pywasmtok.create_tokenizer(name)
        assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(pywasmtok.SourceNotFound, match=r"tokenizer\.json"):
        pywasmtok.create_tokenizer(tmp_path)


@pytest.mark.parametrize("source", [None, 5, "", "a\0b", b"a\0b", b"", ["x"], "\ud800"])
def test_what_is_no_path(source: object) -> None:
    with pytest.raises((pywasmtok.InvalidArgument, pywasmtok.SourceNotFound)):
        pywasmtok.create_tokenizer(source)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "tokenizer.json"
    os.mkfifo(pipe)
    with pytest.raises(pywasmtok.LoadError, match="no regular file"):
        pywasmtok.create_tokenizer(pipe)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(pywasmtok.LoadError, match="cannot be read"):
        pywasmtok.create_tokenizer(tmp_path / ("x" * 5000))


def test_a_file_that_is_far_too_large(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    with path.open("wb") as stream:
        stream.truncate(600 * 1024 * 1024)
    with pytest.raises(pywasmtok.LimitExceeded, match="bytes"):
        pywasmtok.create_tokenizer(path)


def test_a_file_whose_descriptor_other_code_has_closed(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(FILE)
    file = os.open(tmp_path / "tokenizer.json", os.O_RDONLY)
    lazy = LazyFile(file, os.fstat(file), "tokenizer.json")
    with open(tmp_path / "other", "wb") as other:
        os.dup2(other.fileno(), file)
        with pytest.raises(pywasmtok.LoadError, match="other code has closed"):
            bytes(lazy)
        del lazy
        gc.collect()
        assert os.path.samestat(os.fstat(file), os.fstat(other.fileno()))
        os.close(file)
