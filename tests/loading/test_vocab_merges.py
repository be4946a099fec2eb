"""vocab.json and merges.txt, whose configuration may name another class than GPT-2's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small
from chat.environment import needs_reference

import pywasmtok

CLASSES = (
    *("Bart", "CodeGen", "Deberta", "GPT2", "LED", "Longformer"),
    *("Luke", "Mvp", "Roberta", "Whisper"),
)
TEXTS = ("Hello world", "  two\n\n\nwords", "I'LL don't 12345", "a\u0301 \u00e9", "")
CONFIG, MODEL = "tokenizer_config.json", "config.json"


def make(folder: Path, files: dict[str, Any]) -> Path:
    model = small.definition()["model"]
    # The classes have different special tokens, and each is in the vocabulary of its models.
    names = (
        "<s>",
        "</s>",
        "<pad>",
        "<unk>",
        "<mask>",
        "[CLS]",
        "[SEP]",
        "[UNK]",
        "[PAD]",
        "[MASK]",
    )
    vocab = {**model["vocab"], **{name: len(model["vocab"]) + at for at, name in enumerate(names)}}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(model["merges"]) + "\n")
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@needs_reference
@pytest.mark.parametrize("name", CLASSES)
def test_the_classes_that_cut_text_as_gpt2_does(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    make(tmp_path, {CONFIG: {"tokenizer_class": f"{name}Tokenizer"}})
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert name in type(theirs).__name__ or type(theirs).__name__ == "RobertaTokenizer"
    ours = pywasmtok.create_tokenizer(tmp_path)
    for text in TEXTS:
        assert ours.encode(text).ids == theirs.encode(text, add_special_tokens=False), text


@pytest.mark.parametrize(
    ("files", "feature"),
    [
        ({CONFIG: {"tokenizer_class": "Qwen2Tokenizer"}}, "tokenizer_class:Qwen2Tokenizer"),
        ({CONFIG: {"tokenizer_class": "CLIPTokenizerFast"}}, "tokenizer_class:CLIPTokenizerFast"),
        ({MODEL: {"tokenizer_class": "GPTNeoXTokenizer"}}, "tokenizer_class:GPTNeoXTokenizer"),
        ({MODEL: {"model_type": "qwen3"}}, "model_type:qwen3"),
        ({CONFIG: {"auto_map": {"AutoTokenizer": ["x.Y", None]}}}, "auto_map"),
        (
            {CONFIG: {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}},
            "add_prefix_space",
        ),
    ],
)
@pytest.mark.parametrize("given", [".", "vocab.json"])
def test_others_are_refused(
    files: dict[str, Any], feature: str, given: str, tmp_path: Path
) -> None:
    source = make(tmp_path, files) / given
    with pytest.raises(pywasmtok.Unsupported, match=r"GPT-2") as caught:
        pywasmtok.create_tokenizer(source)
    assert caught.value.feature == f"vocab+merges:{feature}"
    with pytest.raises(pywasmtok.Unsupported):
        pywasmtok.get_tokenizer_info(source)
    tok = pywasmtok.create_tokenizer(source, pattern=r"\w+|\W+")
    assert tok.encode("Hello").tokens == ["Hello"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {CONFIG: {"add_prefix_space": False}, MODEL: {"model_type": "opt"}},
        {CONFIG: {"tokenizer_class": "GPT2TokenizerFast"}, MODEL: {"model_type": "starcoder2"}},
    ],
)
def test_files_that_name_gpt2_or_nothing(files: dict[str, Any], tmp_path: Path) -> None:
    tok = pywasmtok.create_tokenizer(make(tmp_path, files))
    assert tok.encode("Hello world").tokens == ["Hello", "Ġwor", "ld"]
