"""Which template counts, from the files of a model to the argument of a call."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import small
from assets import ROOT, needs_assets
from gguf_files import byte_level, gguf

import pywasmtok
from pywasmtok import Unsupported
from pywasmtok.loading.sources.templates import TemplatePlace, of_gguf, of_value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    return tmp_path


def write(folder: Path, **files: object) -> None:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def test_the_order_of_places(folder: Path) -> None:
    assert pywasmtok.create_tokenizer(folder).chat_template is None
    write(folder, tokenizer_config={"chat_template": "config"})
    assert pywasmtok.create_tokenizer(folder).chat_template == "config"
    write(folder, chat_template={"chat_template": "legacy"})
    assert pywasmtok.create_tokenizer(folder).chat_template == "legacy"
    (folder / "chat_template.jinja").write_bytes(b"jinja\r\n")
    tok = pywasmtok.create_tokenizer(folder)
    # Byte for byte: the renderer knows what a line break is.
    assert tok.chat_template == "jinja\r\n"
    given = pywasmtok.create_tokenizer_with_chat_template(folder, "argument")
    assert given.chat_template == "argument"
    given.set_chat_template("{{ set }}")
    assert given.get_chat_template() == "{{ set }}"
    assert given.get_chat_template("{{ call }}") == "{{ call }}"
    given.set_chat_template(None)
    assert given.chat_template == "jinja\r\n"
    info = pywasmtok.get_tokenizer_info(folder)
    assert info.chat_template_places == (
        "chat_template.jinja",
        "chat_template.json",
        "tokenizer_config.json",
    )
    assert info.chat_templates == {"default": 7}


def test_templates_by_name(folder: Path) -> None:
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "rag.jinja").write_text("R")
    tok = pywasmtok.create_tokenizer(folder)
    with pytest.raises(pywasmtok.InvalidArgument, match="no default: rag"):
        tok.get_chat_template()
    assert tok.get_chat_template("rag") == "R"
    assert tok.get_chat_template("unknown") == "unknown"
    (folder / "chat_template.jinja").write_text("D")
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("T")
    tok = pywasmtok.create_tokenizer(folder)
    assert tok.chat_template == {"default": "D", "rag": "R", "tool_use": "T"}
    assert tok.get_chat_template() == "D"
    assert tok.get_chat_template(tools=[]) == "T"
    assert tok.get_chat_template("default", tools=[]) == "D"


def test_a_single_template_has_no_name(folder: Path) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(folder, "{{ x }}")
    assert tok.get_chat_template("default") == "default"
    tok.set_chat_template({"default": "{{ y }}"})
    assert tok.get_chat_template("default") == "{{ y }}"
    tok.set_chat_template([{"name": "default", "template": "{{ z }}"}])
    assert tok.chat_template == {"default": "{{ z }}"}
    for wrong in ({}, [], [3], {"a": 1}):
        with pytest.raises(pywasmtok.InvalidArgument, match="no template"):
            tok.set_chat_template(wrong)  # type: ignore[arg-type]


def test_as_transformers_chooses(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    (folder / "chat_template.jinja").write_text("D")
    more = folder / "additional_chat_templates"
    for stated in (
        "config",
        [{"name": "default", "template": "a"}, {"name": "x", "template": "b"}],
    ):
        write(folder, tokenizer_config={"chat_template": stated, "tokenizer_class": "X"})
        for files in ((), ("rag",), ("rag", "tool_use")):
            for name in files:
                more.mkdir(exist_ok=True)
                (more / f"{name}.jinja").write_text(name)
            theirs = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
            ours = pywasmtok.create_tokenizer(folder)
            assert ours.chat_template == theirs.chat_template
            for asked in (None, "default", "x", "rag", "other"):
                choices: tuple[list[Any] | None, ...] = (None, [], [{}])
                for tools in choices:
                    expected = theirs.get_chat_template(asked, tools)
                    assert ours.get_chat_template(asked, tools) == expected
        for path in more.iterdir():
            path.unlink()
        more.rmdir()


def test_a_path_or_a_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "mine.jinja"
    path.write_text("{{ é }}", encoding="utf-8")

    def opened(template: Any) -> object:
        return pywasmtok.create_tokenizer_with_chat_template(folder, template).chat_template

    assert opened(path) == opened(str(path)) == opened("{{ é }}") == "{{ é }}"
    monkeypatch.chdir(folder)
    assert opened("mine.jinja") == "{{ é }}"
    assert opened("words alone") == "words alone"
    assert opened("") == ""
    for missing in (Path("none"), "none.jinja", "/none", "./none", "../none"):
        with pytest.raises(pywasmtok.SourceNotFound, match="path of a chat template"):
            opened(missing)
    path.write_bytes(b"ab\xff")
    with pytest.raises(pywasmtok.InvalidFile, match="UTF-8"):
        opened(path)
    assert opened(None) == pywasmtok.create_tokenizer(folder).chat_template
    with pytest.raises(pywasmtok.LoadError):
        opened(folder)


def test_copies_have_what_was_set(folder: Path) -> None:
    tok = pywasmtok.create_tokenizer_with_chat_template(folder, "{{ x }}")
    fingerprint = tok.fingerprint
    tok.set_chat_template({"a": "1", "default": "2"})
    for again in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok)):
        assert again.chat_template == {"a": "1", "default": "2"}
    assert tok.fingerprint == fingerprint


def test_the_keys_of_gguf(tmp_path: Path) -> None:
    data = byte_level(specials=[("<e>", 3)], eos_token_id=256)
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({**data, "tokenizer.chat_template": "{{ one }}"}))
    tok = pywasmtok.create_tokenizer(path)
    assert tok.chat_template == "{{ one }}"
    assert pywasmtok.get_tokenizer_info(path).chat_template_places == ("GGUF metadata",)
    more = {"tokenizer.chat_templates": ["rag"], "tokenizer.chat_template.rag": "R"}
    path.write_bytes(gguf({**data, **more, "tokenizer.chat_template": "{{ one }}"}))
    for encoder in ("core", "auto"):
        tok = pywasmtok.create_tokenizer(path, encoder=encoder)
        assert tok.chat_template == {"default": "{{ one }}", "rag": "R"}
    (tmp_path / "chat_template.jinja").write_text("beside")
    assert pywasmtok.create_tokenizer(path).chat_template == "beside"
    assert pywasmtok.get_tokenizer_info(path).chat_template_places == (
        "chat_template.jinja",
        "GGUF metadata",
    )


def test_formats_that_are_no_template(folder: Path) -> None:
    for model, said in (("kimi_k3", "Kimi-K3"), ("gpt_oss", "harmony"), ("deepseek_v4", "V4")):
        write(folder, config={"model_type": model})
        with pytest.raises(Unsupported, match=said) as caught:
            pywasmtok.create_tokenizer(folder).get_chat_template()
        assert caught.value.feature == f"chat_format:{model}"
        assert "set_chat_template" in str(caught.value)
    write(folder, config={"model_type": "llama"})
    with pytest.raises(pywasmtok.InvalidArgument, match="no chat template"):
        pywasmtok.create_tokenizer(folder).get_chat_template()
    # A model of such a kind with a template has one.
    write(folder, config={"model_type": "gpt_oss"}, tokenizer_config={"chat_template": "T"})
    assert pywasmtok.create_tokenizer(folder).get_chat_template() == "T"


@needs_assets
def test_tekken_has_none() -> None:
    path = next((ROOT / "mistral-common").glob("*tekken*.json*"), None)
    if path is None or path.suffix == ".xz":
        pytest.skip("not unpacked")
    with pytest.raises(Unsupported, match="mistral-common"):
        pywasmtok.create_tokenizer(path).get_chat_template()


def test_values_that_state_nothing() -> None:
    for value in (None, 3, [], {}, [{"name": "a"}], {"a": 2}):
        assert of_value("x", value) is None
    assert of_value("x", "") == TemplatePlace("x", {"default": ""})
    assert of_gguf(()) is None


def test_a_broken_template_is_a_note_until_it_is_needed(folder: Path) -> None:
    write(folder, tokenizer_config={"chat_template": "config"})
    (folder / "chat_template.json").write_text("[]")
    for name, count in (("chat_template.json", 1), ("chat_template.jinja", 2)):
        (folder / "chat_template.jinja").write_bytes(b"\xff" if count == 2 else b"good")
        if count == 1:
            (folder / "chat_template.jinja").unlink()
        tok = pywasmtok.create_tokenizer(folder)
        assert tok.encode("Hello").tokens == ["<s>", "Hello"]
        with pytest.raises(pywasmtok.InvalidFile, match=name):
            tok.get_chat_template()
        info = pywasmtok.get_tokenizer_info(folder)
        assert len(info.notes) == count
        assert info.notes[0].startswith(name)
        assert info.chat_template_places[0] == name
        tok.set_chat_template("{{ x }}")
        assert tok.get_chat_template() == "{{ x }}"
