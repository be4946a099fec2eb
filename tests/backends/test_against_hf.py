"""Random nasty texts, side by side with the live reference: everything that it says of them.

PYWASMTOK_RANDOM sets the number of texts a file (20000 for a thorough run).
"""

from __future__ import annotations

import os

import nasty
import pytest
from assets import SERVED, Asset, each_kind, needs_assets, open_huggingface, open_tokenizer
from sidebyside import check_ids, check_pairs, check_texts, check_vocabulary

COUNT = int(os.environ.get("PYWASMTOK_RANDOM", "1000"))

pytestmark = needs_assets


@pytest.mark.parametrize("asset", each_kind(SERVED), ids=lambda asset: asset.id)
def test_against_hf(asset: Asset) -> None:
    # One test a file: loading the reference takes longer than asking it.
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core")
    added = sorted(token.content for token in hf.get_added_tokens_decoder().values())
    check_texts(tok, hf, list(nasty.texts(f"{asset.id} 1", COUNT, added)))
    check_pairs(tok, hf, list(nasty.texts(f"{asset.id} 2", COUNT // 5, added)))
    check_ids(tok, hf, list(nasty.id_lists(asset.id, COUNT, hf.get_vocab_size() + 50)))
    check_vocabulary(tok, hf, added)
