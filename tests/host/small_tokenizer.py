"""A byte-level BPE that knows one word, and what the reference makes of it."""

from __future__ import annotations

import json

from tokenizers import Tokenizer


def byte_letters() -> list[str]:
    """The letters that byte-level models write for the bytes 0..255."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain}
    letters |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def small_file() -> bytes:
    """A byte-level BPE that knows one word."""
    merges = ["h e", "l l", "he ll", "hell o", "Ġ hello"]
    vocab = {letter: place for place, letter in enumerate(byte_letters())}
    for merge in merges:
        vocab[merge.replace(" ", "")] = len(vocab)
    added = [
        {"id": len(vocab) + place, "content": token, "special": True, "single_word": False,
         "lstrip": False, "rstrip": False, "normalized": False}
        for place, token in enumerate(("<s>", "</s>"))
    ]  # fmt: skip
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": False, "vocab": vocab, "merges": merges,
        },
    }).encode()  # fmt: skip


FILE = small_file()
REFERENCE = Tokenizer.from_str(FILE.decode())


def numbers(ids: bytes) -> list[int]:
    return memoryview(ids).cast("I").tolist()


def expected(text: str) -> list[int]:
    return REFERENCE.encode(text).ids
