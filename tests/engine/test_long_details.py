"""Tokens, offsets and masks of a long text in parts: those of one call, for every kind of file."""

from __future__ import annotations

import json
import os
import random
from functools import partial

import pytest
import random_files
import small
from assets import SERVED, Asset, each_kind, needs_assets, new_huggingface, open_tokenizer

import pywasmtok
from pywasmtok import errors
from pywasmtok._host.calls.full_encoding import FullEncoding, joined
from pywasmtok._host.calls.long_text import _full
from pywasmtok._host.calls.tokenizer import CoreTokenizer, encode_flags
from pywasmtok.loading.factory import from_recipe
from pywasmtok.tokenizer.tokenizer import Options, Recipe

from .test_parallel import core_of, some_text

FILES = max(40, int(os.environ.get("PYWASMTOK_RANDOM", "1000")) // 8)
SIZES = (11, 16, 40, 300)


def compare(core: CoreTokenizer, text: str, size: int) -> int:
    """In how many parts it was done."""
    core._parallel.part = size
    data, most = text.encode(), 0
    for add, names_are_text in ((True, False), (False, False), (True, True)):
        flags = encode_flags(add, names_are_text)
        try:
            whole: FullEncoding = core._short(partial(_full, data, flags), len(data))
        except errors.TokenizerError:
            # The model has no token for a part of the text, or nothing to truncate.
            return 0
        found = core._parallel.encode_full(core._run, data, flags)
        parts = [whole] if found is None else list(found)
        assert joined(parts) == whole, (text, size, add, names_are_text)
        most = max(most, len(parts))
    return most


@needs_assets
@pytest.mark.parametrize("asset", each_kind(SERVED), ids=lambda asset: asset.id)
def test_real_files(asset: Asset) -> None:
    core = core_of(open_tokenizer(asset))
    done = [
        compare(core, some_text(f"{asset.id}{size}", 1500), size) for size in SIZES for _ in "ab"
    ]
    if core.info()["truncation"] is None and core.info()["padding"] is None:
        _, never = core.last_cut("a a", 1)
        assert never or max(done) > 20


@needs_assets
@pytest.mark.parametrize("family", ["llama3.1", "bert-base-cased", "t5", "xlnet", "llama2"])
def test_parts_are_what_the_reference_has(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    core, reference = core_of(open_tokenizer(asset)), new_huggingface(asset)
    reference.no_truncation()
    reference.no_padding()
    core._parallel.part = 300
    text = some_text(family, 8000)
    parts = core._parallel.encode_full(core._run, text.encode(), encode_flags(True, False))
    assert parts is not None
    found, expected = joined(parts), reference.encode(text)
    assert memoryview(found.ids).cast("I").tolist() == expected.ids
    assert found.tokens() == expected.tokens
    numbers = memoryview(found.offsets).cast("I").tolist()
    assert list(zip(numbers[::2], numbers[1::2], strict=True)) == expected.offsets
    assert memoryview(found.type_ids).cast("I").tolist() == expected.type_ids
    assert list(found.special_tokens_mask) == expected.special_tokens_mask


def test_random_files() -> None:
    parts = 0
    for seed in range(FILES):
        file = random_files.Maker(seed).file()
        model = json.loads(file)["model"]
        if model.get("continuing_subword_prefix") and model.get("byte_fallback"):
            # The bytes of the prefix are tokens, too: ranges beyond their piece, which the
            # reference turns into numbers without meaning.
            continue
        recipe = Recipe(file, str(seed), Options("core", "core", build=None, preload=False))
        dice = random.Random(seed)
        try:
            core = core_of(from_recipe(recipe))
        except errors.TokenizerError:
            continue
        for size in SIZES[:3]:
            text = "".join(random_files.text(dice) for _ in range(12))
            parts += compare(core, text, size) > 1
    assert parts > FILES // 4


def test_what_a_chain_of_post_processors_adds_is_no_text() -> None:
    """The second one marks the tokens of the first as tokens of the text."""
    roberta = {
        "type": "RobertaProcessing",
        "sep": ["</s>", small.definition()["model"]["vocab"]["a"]],
        "cls": ["<s>", small.definition()["model"]["vocab"]["b"]],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    chain = {"type": "Sequence", "processors": [roberta, roberta]}
    file = json.dumps(small.definition(post_processor=chain)).encode()
    core = core_of(from_recipe(Recipe(file, "a chain", Options("core", "core", None, False))))
    text = "Hello world, and so on.\n" * 50
    assert len(core.encode_ids(text)) > len(core.encode_ids(text, False)) + 8
    core._parallel.part = core._parallel.smallest = 40
    assert core._encode_long(text.encode(), 1) == core.encode_ids(text)
    compare(core, text, 40)


def test_an_encoding_of_a_long_text() -> None:
    """What users see: the same lists for the whole, and part after part."""
    tok = pywasmtok.create_tokenizer("builtin:demo")
    text = "Hello, wörld! Привет, 世界!\n" * 20_000
    encoding = tok.encode(text)
    parts = list(encoding.detail_parts())
    assert len(parts) > 1
    for name in ("tokens", "offsets", "byte_offsets", "type_ids", "attention_mask"):
        assert [one for part in parts for one in getattr(part, name)] == getattr(encoding, name)
    assert len(encoding.tokens) == len(encoding)
    data = text.encode()
    for (start, end), (low, high) in zip(encoding.offsets, encoding.byte_offsets, strict=True):
        assert text[start:end].encode() == data[low:high]
    (single,) = tok.encode("Hello").detail_parts()
    assert single.tokens == tok.encode("Hello").tokens
