"""Every Unicode scalar value on eleven families, in seven contexts. PYWASMTOK_SLOW=1 runs it.

Above U+1FFFF nearly all code points are rare Han characters, unassigned or of private use. Texts
have 64 of them between spaces, and only one in sixteen has the seven contexts: the reference took
most of the time for them.
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
IN_A_ROW = 64

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
    """All of the first two planes, those that decompose, tags and selectors, and one in sixteen."""
    code = ord(character)
    special = 0x2F800 <= code < 0x2FA20 or 0xE0000 <= code < 0xE0200
    return code < 0x20000 or special or code % 32 in (0, 31)


def contexts(characters: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Names of contexts, and texts with the characters in them."""
    probed = [character for character in characters if in_all_contexts(character)]
    for name, context in CONTEXTS.items():
        yield name, [context.replace("{}", character) for character in probed]
    rest = [character for character in characters if not in_all_contexts(character)]
    yield "in a row", [" ".join(rest[n : n + IN_A_ROW]) for n in range(0, len(rest), IN_A_ROW)]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_scalar_values(family: str) -> None:
    asset = Asset(family, "tokenizer.json")
    hf = open_huggingface(asset)
    tok = open_tokenizer(asset, encoder="core")
    wrong: list[str] = []
    for chunk in scalars():
        for name, texts in contexts(chunk):
            ours = tok.encode_batch(texts, add_special_tokens=False)
            theirs = hf.encode_batch_fast(texts, add_special_tokens=False)
            lists = [encoding.ids for encoding in theirs]
            flat = array("I", [number for ids in lists for number in ids])
            if ours.buffer.tobytes() == flat.tobytes() and ours.ids == lists:
                continue
            wrong += [
                f"{text!a} {name}: {mine} instead of {ids}"
                for text, mine, ids in zip(texts, ours.ids, lists, strict=True)
                if mine != ids
            ]
    assert wrong[:20] == [], f"{len(wrong)} differences"
