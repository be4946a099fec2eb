"""What stands beside a tokenizer is never a reason to fail unless it was asked for."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import small
from assets import ROOT, needs_assets

import pywasmtok
from pywasmtok.loading.sources.sidecars import MAX_BYTES, read_sidecars
from pywasmtok.loading.sources.transformers_rules import config_for_core
from pywasmtok.tokenizer.recipe import Sidecars


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    return tmp_path


def write(folder: Path, **files: Any) -> None:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def beside(folder: Path) -> Sidecars:
    return read_sidecars(str(folder).encode())


def test_roles_come_from_the_configuration(folder: Path) -> None:
    write(
        folder,
        tokenizer_config={
            "bos_token": "<s>",
            "eos_token": {"content": "</s>", "lstrip": False},
            "pad_token": None,
            "mask_token": "<mask>",
        },
        special_tokens_map={"sep_token": "<|user|>"},
    )
    for source in (folder, folder / "tokenizer.json"):
        tok = pywasmtok.create_tokenizer(source)
        special = tok.special_tokens
        assert (special.bos, special.eos, special.sep) == ("<s>", "</s>", "<|user|>")
        assert special.pad is None
        # It is named, and no token of this vocabulary: nothing else is made of that.
        assert special.mask == "<mask>"
        assert "<mask>" not in special.ids
        assert special.ids["</s>"] == tok.token_to_id("</s>")
        assert special.additional == ()
        assert pickle.loads(pickle.dumps(tok)).special_tokens == special


def test_without_a_configuration_nothing_is_guessed(folder: Path) -> None:
    special = pywasmtok.create_tokenizer(folder).special_tokens
    assert (special.bos, special.eos) == (None, None)
    assert special.additional == ("<s>", "</s>", "<|user|>")


def test_an_older_configuration_yields_to_the_map(folder: Path) -> None:
    write(folder, tokenizer_config={"eos_token": "<s>"}, special_tokens_map={"eos_token": "</s>"})
    assert beside(folder).roles() == {"eos": "</s>"}
    write(folder, tokenizer_config={"eos_token": "<s>", "added_tokens_decoder": {}})
    assert beside(folder).roles() == {"eos": "<s>"}


def test_ends_of_text_are_a_union(folder: Path) -> None:
    write(folder, config={"eos_token_id": 2}, generation_config={"eos_token_id": [7, 2, -1, True]})
    assert beside(folder).eos_token_ids() == (7, 2)
    assert pywasmtok.get_tokenizer_info(folder).eos_token_ids == (7, 2)
    write(folder, config={}, generation_config={"eos_token_id": None})
    assert beside(folder).eos_token_ids() == ()


def test_templates(folder: Path) -> None:
    stated = [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}, {"name": 3}]
    write(folder, tokenizer_config={"chat_template": stated})
    assert beside(folder).templates == {"default": "a", "rag": "b"}
    write(folder, chat_template={"chat_template": "from json"})
    assert beside(folder).templates == {"default": "from json"}
    (folder / "chat_template.jinja").write_text("from jinja")
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("tools")
    # A place counts as a whole: a template for tools of one model's release next to the default of
    # another would be a mixture that nobody has trained with.
    assert beside(folder).templates == {"default": "from jinja", "tool_use": "tools"}
    info = pywasmtok.get_tokenizer_info(folder)
    assert info.chat_templates == {"default": 10, "tool_use": 5}
    assert info.chat_template_places == (
        "chat_template.jinja, additional_chat_templates/tool_use.jinja",
        "chat_template.json",
        "tokenizer_config.json",
    )


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"\xff{}", b"[" * 100_000, b"{}" + b" " * MAX_BYTES],
    ids=["cut", "array", "no-utf8", "deep", "large"],
)
def test_a_broken_one_is_a_note_until_it_is_needed(content: bytes, folder: Path) -> None:
    (folder / "tokenizer_config.json").write_bytes(content)
    assert pywasmtok.create_tokenizer(folder).encode("Hello").tokens == ["<s>", "Hello"]
    (note,) = pywasmtok.get_tokenizer_info(folder).notes
    assert note.startswith("tokenizer_config.json: ")
    with pytest.raises(pywasmtok.InvalidFile, match=r"tokenizer_config\.json"):
        pywasmtok.create_tokenizer(folder, apply_config=True)


def test_added_tokens_that_are_none(folder: Path) -> None:
    for wrong in ({"x": {"content": "a"}}, {"1": "a"}, {"1": {"content": 3}}):
        write(folder, tokenizer_config={"added_tokens_decoder": wrong})
        with pytest.raises(pywasmtok.InvalidFile, match="not an id and a token"):
            pywasmtok.create_tokenizer(folder, apply_config=True)


@needs_assets
@pytest.mark.parametrize(
    "path", sorted((ROOT / "sidecars").glob("*.json")), ids=lambda path: path.name
)
def test_real_ones_can_be_read(path: Path, tmp_path: Path) -> None:
    for name in ("tokenizer_config", "special_tokens_map", "added_tokens", "chat_template"):
        if path.stem.endswith(name):
            (tmp_path / f"{name}.json").write_bytes(path.read_bytes())
    found = beside(tmp_path)
    assert found.problems == ()
    config_for_core(found, bos_and_eos=True)
    if path.stem.endswith("chat_template"):
        assert found.templates


@pytest.mark.parametrize(
    "config",
    [
        {"chat_template": "{{ '\\ud800' if false else 'a' }}{{ messages[0].content }}"},
        {"bos_token": "\ud800", "chat_template": "x"},
    ],
)
def test_a_lone_surrogate_names_no_token(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    expected = pywasmtok.create_tokenizer(tmp_path / "tokenizer.json").encode("ab").ids
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert pywasmtok.create_tokenizer(tmp_path).encode("ab").ids == expected


def test_folders_in_place_of_files_leave_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with pytest.raises(pywasmtok.LoadError):
            pywasmtok.create_tokenizer(tmp_path)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_an_id_of_thousands_of_digits() -> None:
    listed = {"9" * 5000: {"content": "x"}}
    config = {"tokenizer_config.json": {"added_tokens_decoder": listed}}
    sidecars = Sidecars(objects=config)
    with pytest.raises(pywasmtok.InvalidFile):
        sidecars.added_tokens()
