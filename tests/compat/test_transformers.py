"""The drop-in inside of transformers, side by side with the library there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tokenizers
from assets import Asset, needs_assets

from pywasmtok.compat.tokenizers import Tokenizer

transformers = pytest.importorskip("transformers")

TEXTS = ["Hello world", "naïve café 🌶️ 中文", "a " * 30, ""]

# fmt: off
CALLS: list[Callable[[Any], Any]] = [
    lambda tok: tok(TEXTS[0]),
    lambda tok: tok(TEXTS[0], TEXTS[1]),
    lambda tok: tok(TEXTS),
    lambda tok: tok(TEXTS, padding=True, truncation=True, max_length=9),
    lambda tok: tok(TEXTS, padding="max_length", max_length=12, truncation=True,
                    padding_side="left"),
    lambda tok: tok(TEXTS, TEXTS, padding=True, truncation="only_second", max_length=80),
    lambda tok: tok(TEXTS, return_offsets_mapping=True, return_special_tokens_mask=True),
    lambda tok: tok(TEXTS[2], max_length=8, stride=2, truncation=True,
                    return_overflowing_tokens=True, return_offsets_mapping=True),
    lambda tok: tok([["two", "words"], ["three"]], is_split_into_words=True),
    lambda tok: tok(TEXTS[1], add_special_tokens=False),
    lambda tok: tok("a <extra> b"),
    lambda tok: tok.tokenize(TEXTS[1]),
    lambda tok: tok.decode(tok(TEXTS[1])["input_ids"]),
    lambda tok: tok.batch_decode(tok(TEXTS)["input_ids"], skip_special_tokens=True),
    lambda tok: tok.convert_ids_to_tokens(tok(TEXTS[1])["input_ids"]),
    lambda tok: tok.convert_tokens_to_ids(["a", "<extra>"]),
    lambda tok: tok.add_tokens(["<more>", "<even more>"]),
    lambda tok: tok("a <more> b")["input_ids"],
    lambda tok: (len(tok), tok.vocab_size, tok.get_added_vocab(), tok.all_special_ids),
    lambda tok: tok(TEXTS[1]).word_ids(),
    lambda tok: tok(TEXTS[1]).sequence_ids(),
    lambda tok: tok(TEXTS[1]).char_to_token(3),
    lambda tok: tok(TEXTS[1]).tokens(),
    lambda tok: tok(TEXTS[0], split_special_tokens=True),
]
# fmt: on


@needs_assets
@pytest.mark.parametrize("family", ["bert-base-cased", "gpt2", "llama3"])
def test_it_is_a_tokenizer_object(family: str) -> None:
    data = Asset(family, "tokenizer.json").read()

    def wrapped(inner: object) -> Any:
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=inner, pad_token="<extra>", additional_special_tokens=["<x>"]
        )

    ours = wrapped(Tokenizer.from_buffer(data))
    theirs = wrapped(tokenizers.Tokenizer.from_buffer(data))
    assert isinstance(ours.backend_tokenizer, Tokenizer)
    for number, call in enumerate(CALLS):
        one, other = call(ours), call(theirs)
        if isinstance(other, transformers.BatchEncoding):
            one, other = dict(one), dict(other)
        assert one == other, number
    assert ours.backend_tokenizer.core is not None
    theirs.add_bos_token = ours.add_bos_token = False
    assert ours("ab")["input_ids"] == theirs("ab")["input_ids"]
