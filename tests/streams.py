"""Small tokenizers for streams, and lists of ids that are hard to stream."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import small

import pywasmtok
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}
WORDS = ["▁hi", "hi", "▁", "x", "▁x", "a", "▁b", "b", "OP", "ST", "�", "Hello"]


def llama(**changes: Any) -> bytes:
    """Ids 0 to 255 are bytes; then words, `</s>` (special) and `<think>` (not special)."""
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
    for word in WORDS:
        vocab[word] = len(vocab)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": len(vocab), "content": "</s>", "special": True, **flags},
        {"id": len(vocab) + 1, "content": "<think>", "special": False, **flags},
    ]
    whole = {
        "added_tokens": added,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": LLAMA,
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    return small.file(**{**whole, **changes})


def open_bytes(data: bytes, encoder: str = "auto", decoder: str = "core") -> pywasmtok.Tokenizer:
    return from_recipe(Recipe(data, "small", Options(encoder, decoder, build=None, preload=False)))


def ids_of(tok: pywasmtok.Tokenizer, *tokens: str) -> list[int]:
    found = [tok.token_to_id(token) for token in tokens]
    assert None not in found
    return [number for number in found if number is not None]


def bytes_of(text: str | bytes) -> list[int]:
    """Ids of the byte-level tokenizer of `small`, and of `llama`: one a byte."""
    return list(text.encode() if isinstance(text, str) else text)


def any_ids(dice: random.Random, pools: Sequence[Sequence[int]]) -> list[int]:
    """Short runs, each of one pool: bytes, words, special tokens, anything."""
    ids: list[int] = []
    for _ in range(dice.randint(0, 5)):
        pool = dice.choice(pools)
        start = dice.randrange(len(pool))
        count = dice.randint(1, 5)
        # A run of text stays in order; it is cut inside characters often enough.
        run = dice.random() < 0.5
        ids += pool[start : start + count] if run else dice.choices(pool, k=count)
    return ids


def cut(dice: random.Random, ids: Sequence[int]) -> list[Sequence[int]]:
    parts = []
    while ids:
        size = dice.randint(1, len(ids))
        parts.append(ids[:size])
        ids = ids[size:]
    return parts
