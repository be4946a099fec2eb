"""Masks and type ids that are made without encoding once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small
import tokenizers
from assets import Asset, needs_assets
from tokenizers import processors

import pywasmtok
from pywasmtok.backends.core import CoreBackend

TEXTS = ["a", "a b", "naïve café", "x " * 9]

TEMPLATES: list[Any] = [
    processors.TemplateProcessing("$A:0 x:0 a:2", "$A $B:1 x:1", [("x", 3), ("a", 4)]),
    processors.TemplateProcessing("a:1 $A:1", "a $A $B", [("a", 4)]),
    processors.Sequence(
        [
            processors.TemplateProcessing("x:0 $A:0", "$A $B", [("x", 3)]),
            processors.TemplateProcessing("a:0 $A:0 x:0", "$A $B", [("x", 3), ("a", 4)]),
        ]
    ),
]


def compare(path: Path, *, without_details: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tokenizers.Tokenizer.from_file(str(path))
    with pywasmtok.create_tokenizer(path, encoder="core") as ours:
        assert ours.encode("a").type_ids
        if without_details:
            monkeypatch.setattr(CoreBackend, "details", None)
        for text in TEXTS:
            for special in (True, False):
                other = theirs.encode(text, None, False, special)
                for mine in (
                    ours.encode(text, None, special),
                    ours.encode_batch([text], special)[0],
                ):
                    assert mine.attention_mask == other.attention_mask
                    assert mine.type_ids == other.type_ids
                    assert mine.special_tokens_mask == other.special_tokens_mask
                assert (
                    ours.encode(text, text).attention_mask
                    == theirs.encode(text, text).attention_mask
                )


@pytest.mark.parametrize("number", range(len(TEMPLATES)))
def test_templates(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokenizers.Tokenizer.from_buffer(small.file())
    tok.post_processor = TEMPLATES[number]
    path = tmp_path / "tokenizer.json"
    tok.save(str(path))
    # Type ids other than 0 of a text without special tokens need the details.
    compare(path, without_details=number < 1, monkeypatch=monkeypatch)


@needs_assets
@pytest.mark.parametrize("family", ["bert-base-cased", "gpt2", "llama3", "xlnet"])
def test_real_files(tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(Asset(family, "tokenizer.json").read())
    compare(path, without_details=True, monkeypatch=monkeypatch)


def test_guarded_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    monkeypatch.setattr(CoreBackend, "details", None)
    for made in (
        tok.encode("a b", special="raise"),
        tok.encode_segments([("a", True), ("b", False)]),
        tok.encode_batch(["a b"], special="raise")[0],
    ):
        assert made.attention_mask == [1] * len(made)


def test_a_model_without_a_token_for_the_sample(tmp_path: Path) -> None:
    document = {
        "version": "1.0",
        "model": {"type": "Unigram", "unk_id": None, "vocab": [["b", 0.0]]},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    made = pywasmtok.create_tokenizer(path, encoder="core").encode("bb")
    assert (made.ids, made.type_ids, made.special_tokens_mask) == ([0, 0], [0, 0], [0, 0])
