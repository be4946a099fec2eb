"""Every Unicode scalar value on eleven families, in seven contexts. PYWASMTOK_SLOW=1 runs it.

Of code points that are unassigned or of private use only one in eight has more than one context.
They are of one class, and the reference took most of the time for them.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator

import pytest
from assets import Asset, needs_assets, open_huggingface, open_tokenizer

# fmt: off
FAMILIES = (
    "llama3", "qwen3", "gpt-oss", "deepseek-v3", "gemma3", "gpt2", "mistral-v1",
    "bert-base-cased", "nmt", "t5", "xlnet",
)
# fmt: on

CONTEXTS = {
    "alone": "{}",
    "after a letter": "a{}",
    "before a letter": "{}a",
    "after a space": " {}",
    "between digits": "1{}2",
    "after an apostrophe": "'{}",
    "doubled": "{}{}",
}

CHUNK = 1 << 14

pytestmark = [
    needs_assets,
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("PYWASMTOK_SLOW") != "1", reason="slow: set PYWASMTOK_SLOW=1"
    ),
]


def scalars() -> Iterator[list[str]]:
    """All scalar values in chunks."""
    everything = [*range(0xD800), *range(0xE000, 0x110000)]
    for start in range(0, len(everything), CHUNK):
        yield [chr(code) for code in everything[start : start + CHUNK]]


def in_all_contexts(character: str) -> bool:
    """All below U+34000, the start of plane 14 (tags, selectors), and elsewhere two of sixteen."""
    code = ord(character)
    return code < 0x34000 or 0xE0000 <= code < 0xE0200 or code % 16 in (0, 15)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_scalar_values(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core")
    wrong: list[str] = []
    for chunk in scalars():
        probed = [character for character in chunk if in_all_contexts(character)]
        for name, context in CONTEXTS.items():
            characters = chunk if name == "alone" else probed
            texts = [context.replace("{}", character) for character in characters]
            ours = tok.encode_batch(texts, add_special_tokens=False)
            theirs = hf.encode_batch_fast(texts, add_special_tokens=False)
            lists = [encoding.ids for encoding in theirs]
            flat = array("I", [number for ids in lists for number in ids])
            if ours.buffer.tobytes() == flat.tobytes() and ours.ids == lists:
                continue
            wrong += [
                f"U+{ord(character):04X} {name}: {mine} instead of {ids}"
                for character, mine, ids in zip(characters, ours.ids, lists, strict=True)
                if mine != ids
            ]
    assert wrong[:20] == [], f"{len(wrong)} differences"
