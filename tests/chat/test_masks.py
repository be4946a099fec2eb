"""Token masks of generation blocks, as transformers walks over `char_to_token`."""

from __future__ import annotations

import random

import assets
import pytest
import tokenizers
from assets import Asset, needs_assets

from pywasmtok.chat.masks import assistant_mask, token_finder

FILES = [asset for asset in assets.SERVED if asset.family in ("qwen3", "llama2", "bert-base-cased")]
WORDS = ["hello", " ", "\n", "naïve ", "🌶️", "  two", "<|im_end|>", "ﬁ", "日本", "e\u0301", "x" * 40]


def as_transformers(encoding: tokenizers.Encoding, spans: list[tuple[int, int]]) -> list[int]:
    """The loop of `apply_chat_template`, with what it asks the encoding."""
    mask = [0] * len(encoding.ids)
    for start, end in spans:
        first, last = encoding.char_to_token(start), encoding.char_to_token(end - 1)
        if first is None:
            break
        for place in range(first, last + 1 if last else len(mask)):
            mask[place] = 1
    return mask


def random_spans(rng: random.Random, length: int) -> list[tuple[int, int]]:
    cuts = sorted(rng.randrange(length + 1) for _ in range(2 * rng.randrange(4)))
    return [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True) if b > 0]


@needs_assets
@pytest.mark.parametrize("asset", FILES, ids=lambda asset: asset.id)
def test_masks_are_those_of_transformers(asset: Asset) -> None:
    reference = assets.new_huggingface(asset)
    reference.no_padding()
    rng = random.Random(asset.id)
    for _ in range(300):
        reference.no_truncation()
        if rng.random() < 0.4:
            side = rng.choice(["left", "right"])
            reference.enable_truncation(rng.randrange(1, 12), direction=side)
        text = "".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 12)))
        encoding = reference.encode(text, add_special_tokens=rng.random() < 0.3)
        if rng.random() < 0.3:
            encoding.pad(len(encoding.ids) + 3, direction=rng.choice(["left", "right"]))
        spans = random_spans(rng, len(text))
        got = assistant_mask(encoding.offsets, spans)
        assert got == as_transformers(encoding, spans), (text, spans)


def test_the_habits_of_the_walk() -> None:
    offsets = [(0, 2), (2, 5), (5, 6)]
    assert assistant_mask(offsets, [(2, 5)]) == [0, 1, 0]
    # A block that ends in the very first token goes to the end.
    assert assistant_mask(offsets, [(0, 1)]) == [1, 1, 1]
    # So does one whose end was truncated; one whose beginning was ends the walk.
    assert assistant_mask(offsets, [(2, 9)]) == [0, 1, 1]
    assert assistant_mask(offsets, [(7, 9), (2, 5)]) == [0, 0, 0]
    # Where transformers fails.
    assert assistant_mask(offsets, [(0, 0)]) == [0, 0, 0]
    assert assistant_mask([], [(0, 3)]) == []


def test_tokens_that_are_out_of_order_are_found_one_by_one() -> None:
    find = token_finder([(4, 6), (0, 2), (0, 0), (1, 5)])
    assert [find(place) for place in range(7)] == [1, 1, 3, 3, 0, 0, None]
