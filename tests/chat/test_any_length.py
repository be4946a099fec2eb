"""Chats are encoded without the truncation and the padding that a file states."""

from __future__ import annotations

from pathlib import Path

import pytest
import small

import pywasmtok
from pywasmtok.chat.templates.catalog import ChatTemplates

NAMES = ("truncation", "padding")


@pytest.mark.parametrize("stated", NAMES)
def test_chats_are_encoded_without(tmp_path: Path, stated: str) -> None:
    values = {
        "truncation": {
            "max_length": 3,
            "strategy": "LongestFirst",
            "stride": 0,
            "direction": "Right",
        },
        "padding": {
            "strategy": {"Fixed": 64},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<s>",
        },
    }
    plain, limited = tmp_path / "plain.json", tmp_path / "limited.json"
    plain.write_bytes(small.file())
    limited.write_bytes(small.file(**{stated: values[stated]}))
    wanted = pywasmtok.create_tokenizer(plain).encode(small.TEXT).ids
    for encoder in ("core", "hf"):
        tok = pywasmtok.create_tokenizer(limited, encoder=encoder)
        assert tok.encode(small.TEXT).ids != wanted
        assert ChatTemplates.of(tok).encoder.encode(small.TEXT).ids == wanted
