"""Texts without a place to cut, longer than any word, side by side with HuggingFace's library: they
take another way through the core (wasm-core/engine/src/model/bpe/long/backtrack.rs).

PYWASMTOK_RANDOM sets the number of texts a file (10000 for a thorough run).
"""

from __future__ import annotations

import os
import random
import string
from collections.abc import Iterator
from functools import lru_cache

import pytest
import tokenizers
from assets import Asset, needs_assets, open_tokenizer

COUNT = int(os.environ.get("PYWASMTOK_RANDOM", "60"))

pytestmark = needs_assets

FAMILIES = ("llama3", "qwen3", "gpt-oss", "gpt2", "deepseek-v3", "mistral-nemo", "gpt-neox")


@lru_cache(maxsize=1)
def reference(family: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(Asset(family, "tokenizer.json").read())


def pieces(rng: random.Random, tokens: list[str]) -> Iterator[str]:
    """Of letters, of signs, and of whole tokens of one kind in a row, which have most to merge."""
    words = [token for token in tokens if token.isalpha()]
    ascii_words = [word for word in words if word.isascii() and word.islower()]
    other_words = [word for word in words if not word.isascii()]
    signs = [token for token in tokens if not any(c.isalnum() or c.isspace() for c in token)]
    blanks = [token for token in tokens if token.isspace()]
    kinds = [string.ascii_lowercase, string.ascii_letters, string.punctuation, "абвгдежзиклмнéèç",
             ascii_words, words, other_words, signs, blanks]  # fmt: skip
    while True:
        kind = rng.choice(kinds)
        # A few in many orders, or many.
        some = rng.sample(list(kind), rng.randrange(1, 5)) if rng.random() < 0.4 else kind
        length = rng.choice((64, 90, 200, 1000, 6000))
        text = ""
        while len(text) < length:
            text += "".join(rng.choices(some, k=50))
        yield text[:length]


@pytest.mark.parametrize("family", FAMILIES)
def test_long_pieces_are_the_references(family: str) -> None:
    hf = reference(family)
    tok = open_tokenizer(Asset(family, "tokenizer.json"))
    rng = random.Random(family)
    tokens = [hf.decode([id], skip_special_tokens=False) for id in range(hf.get_vocab_size(False))]
    tokens = [token for token in tokens if token and "\ufffd" not in token]
    for text, _ in zip(pieces(rng, tokens), range(COUNT), strict=False):
        expected = hf.encode(text, add_special_tokens=False).ids
        assert list(tok.encode(text, add_special_tokens=False).ids) == expected, text
