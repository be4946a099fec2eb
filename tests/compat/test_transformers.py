"""The drop-in inside of transformers, side by side with the library there."""

from __future__ import annotations

from typing import Any

import pytest
import tokenizers
from assets import Asset, needs_assets

from compat.calls import compare
from pywasmtok.compat.tokenizers import Tokenizer

transformers = pytest.importorskip("transformers")


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
    compare(ours, theirs)
    assert ours.backend_tokenizer.core is not None
    theirs.add_bos_token = ours.add_bos_token = False
    assert ours("ab")["input_ids"] == theirs("ab")["input_ids"]
