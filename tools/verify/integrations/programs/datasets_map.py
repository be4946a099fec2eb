"""Tokenizes a data set in batches."""

from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer


def load(folder: str) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def run(tokenizer: Any, texts: list[str]) -> Any:
    def tokenize(batch: dict[str, list[str]]) -> Any:
        return tokenizer(batch["text"], truncation=True, max_length=512)

    data = Dataset.from_dict({"text": texts})
    return data.map(tokenize, batched=True, remove_columns=["text"])[:]
