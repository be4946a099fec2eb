"""Ids and masks of documents, for a training set."""

from typing import Any

from tokenizers import Tokenizer


def load(folder: str) -> Any:
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_truncation(max_length=512)
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    return tokenizer


def run(tokenizer: Any, texts: list[str]) -> Any:
    encodings = tokenizer.encode_batch(texts)
    return [(encoding.ids, encoding.attention_mask) for encoding in encodings]
