"""Splits documents into chunks of at most 100 tokens of a model."""

from typing import Any

from langchain_text_splitters import RecursiveCharacterTextSplitter
from transformers import AutoTokenizer


def load(folder: str) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
        tokenizer, chunk_size=100, chunk_overlap=10
    )


def run(splitter: Any, texts: list[str]) -> Any:
    return [splitter.split_text(text) for text in texts]
