"""Asks our tokenizer and HuggingFace the same questions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import nasty
import tokenizers

import pywasmtok


def facts(encoding: Any) -> dict[str, Any]:
    """What both kinds of encoding have."""
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "type_ids": encoding.type_ids,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
    }


def difference(ours: Any, theirs: Any) -> dict[str, Any]:
    one, other = facts(ours), facts(theirs)
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


def check_texts(tok: pywasmtok.Tokenizer, hf: tokenizers.Tokenizer, texts: list[str]) -> None:
    def differs(text: str) -> bool:
        return bool(difference(tok.encode(text), hf.encode(text)))

    for text in texts:
        if differs(text):
            small = nasty.shrink(text, differs)
            assert difference(tok.encode(small), hf.encode(small)) == {}, ascii(small)

    for special in (False, True):
        theirs = hf.encode_batch(texts, add_special_tokens=special)
        ours = tok.encode_batch(texts, special)
        assert ours.ids == [encoding.ids for encoding in theirs]

    for text, encoding in zip(texts[:200], ours, strict=False):
        spans = zip(encoding.offsets, encoding.byte_offsets, strict=True)
        for (start, end), (byte_start, byte_end) in spans:
            assert len(text[:start].encode()) == byte_start
            assert len(text[:end].encode()) == byte_end
        for skip in (True, False):
            assert tok.decode(encoding, skip) == hf.decode(encoding.ids, skip)


def check_pairs(tok: pywasmtok.Tokenizer, hf: tokenizers.Tokenizer, texts: list[str]) -> None:
    for text, pair in pairwise(texts):
        for special in (True, False):
            ours = tok.encode(text, pair, special)
            theirs = hf.encode(text, pair, add_special_tokens=special)
            assert difference(ours, theirs) == {}, (ascii(text), ascii(pair), special)


def check_ids(tok: pywasmtok.Tokenizer, hf: tokenizers.Tokenizer, lists: list[list[int]]) -> None:
    for skip in (True, False):
        ours, theirs = tok.decode_batch(lists, skip), hf.decode_batch(lists, skip)
        for ids, our_text, their_text in zip(lists, ours, theirs, strict=True):
            assert our_text == their_text, (ids, skip)


def check_vocabulary(tok: pywasmtok.Tokenizer, hf: tokenizers.Tokenizer, added: list[str]) -> None:
    for number in range(0, hf.get_vocab_size() + 50, 97):
        assert tok.id_to_token(number) == hf.id_to_token(number)
    for token in added[:200]:
        assert tok.token_to_id(token) == hf.token_to_id(token)
    for with_added in (True, False):
        assert tok.get_vocab(with_added) == hf.get_vocab(with_added)
        assert tok.get_vocab_size(with_added) == hf.get_vocab_size(with_added)
