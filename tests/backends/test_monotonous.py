"""A megabyte of the same thing: what makes work quadratic, or a stack overflow.

Nothing is timed. The slowest takes a quarter of a second; quadratic work would not come to its end.
"""

from __future__ import annotations

import random
import string

import pytest
from assets import Asset, needs_assets, open_huggingface, open_tokenizer

import pywasmtok

MEGABYTE = 1 << 20


def base64() -> str:
    dice = random.Random(5)
    return "".join(dice.choices(string.ascii_letters + string.digits + "+/", k=MEGABYTE))


TEXTS = {
    "one letter": "a" * MEGABYTE,
    "spaces": " " * MEGABYTE,
    "newlines": "\n" * MEGABYTE,
    "signs": "!" * MEGABYTE,
    "base64": base64(),
    "Han": "字" * (MEGABYTE // 3),
    "combining marks": "\u0301" * (MEGABYTE // 2),
    "NUL": "\0" * MEGABYTE,
}

# What makes long grapheme clusters, or is looked at from behind to find their ends.
CLUSTERS = {
    "flags": "🇩🇪" * (MEGABYTE // 8),
    "conjuncts": "क्" * (MEGABYTE // 6),
    "families": "👨\u200d" * (MEGABYTE // 7),
    "prepended": "\u0600" * (MEGABYTE // 2),
    "syllables": "\u1100" * (MEGABYTE // 3),
    "line ends": "\r\n" * (MEGABYTE // 2),
}


def check(tok: pywasmtok.Tokenizer, text: str) -> None:
    encoding = tok.encode(text, add_special_tokens=False)
    text_again = tok.decode(encoding)
    assert text_again.strip() == text.strip()


@pytest.mark.parametrize("kind", TEXTS)
def test_the_embedded_tokenizer(kind: str) -> None:
    check(pywasmtok.create_tokenizer("builtin:demo", encoder="core", decoder="core"), TEXTS[kind])


@needs_assets
@pytest.mark.parametrize("family", ["llama3", "gpt-oss", "deepseek-v3", "gemma3", "mistral-v1"])
def test_real_files(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core", decoder="core")
    for text in TEXTS.values():
        check(tok, text)
        # The reference need not be asked for the whole.
        start = text[:5000]
        assert tok.encode(start).ids == hf.encode(start).ids


@needs_assets
@pytest.mark.parametrize("family", ["bert-base-cased", "nmt", "t5", "xlnet"])
def test_real_files_that_lose_text(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core", decoder="core")
    for text in (TEXTS | CLUSTERS).values():
        encoding = tok.encode(text, add_special_tokens=False)
        start = text[:5000]
        ours, theirs = tok.encode(start), hf.encode(start)
        assert (ours.ids, ours.offsets) == (theirs.ids, theirs.offsets)
        assert tok.decode(ours) == hf.decode(theirs.ids)
        tok.decode(encoding)
