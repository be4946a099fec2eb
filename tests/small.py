"""A tokenizer.json of a few hundred entries, made on the spot: byte-level BPE with a BOS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = "Hello world, héllo 你好 <|user|>x"


def alphabet() -> list[str]:
    """The 256 characters that stand for bytes in byte-level vocabularies, in byte order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def definition(**changes: Any) -> dict[str, Any]:
    """The whole file; `changes` replace top-level keys."""
    vocab = {character: number for number, character in enumerate(alphabet())}
    merges = ["l l", "h e", "H e", "ll o", "he llo", "He llo", "Ġ w", "o r", "Ġw or", "l d"]
    for merge in merges:
        vocab.setdefault(merge.replace(" ", ""), len(vocab))
    added = [
        {"content": "<s>", "special": True},
        {"content": "</s>", "special": True},
        {"content": "<|user|>", "special": True},
        {"content": "<think>", "special": False},
    ]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": len(vocab) + place, **flags, **token} for place, token in enumerate(added)
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 1}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [len(vocab)], "tokens": ["<s>"]},
                "</s>": {"id": "</s>", "ids": [len(vocab) + 1], "tokens": ["</s>"]},
            },
        },
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }
    return {**whole, **changes}


def file(**changes: Any) -> bytes:
    return json.dumps(definition(**changes), ensure_ascii=False).encode()


def write(folder: Path, **changes: Any) -> Path:
    """The path of the file, which is in this folder then."""
    path = folder / "tokenizer.json"
    path.write_bytes(file(**changes))
    return path


# HuggingFace loads it, and the core refuses it: what a grapheme cluster is in a pattern.
UNSERVED = file(
    pre_tokenizer={
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": r"\X"},
                "behavior": "Isolated",
                "invert": False,
            },
            definition()["pre_tokenizer"],
        ],
    },
)
UNSERVED_FEATURE = "regex:Escape:X"
