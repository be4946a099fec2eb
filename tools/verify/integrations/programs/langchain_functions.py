"""Splits documents with functions of a tokenizer: at its tokens, and by a length in tokens."""

from typing import Any

from langchain_text_splitters import RecursiveCharacterTextSplitter
from langchain_text_splitters.base import Tokenizer as TokenSplit
from langchain_text_splitters.base import split_text_on_tokens
from tokenizers import Tokenizer


def load(folder: str) -> Any:
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    at_tokens = TokenSplit(
        chunk_overlap=10, tokens_per_chunk=100, decode=tokenizer.decode, encode=encode
    )
    by_length = RecursiveCharacterTextSplitter(
        chunk_size=100, chunk_overlap=10, length_function=count
    )
    return at_tokens, by_length


def run(splitters: Any, texts: list[str]) -> Any:
    at_tokens, by_length = splitters
    return [
        (split_text_on_tokens(text=text, tokenizer=at_tokens), by_length.split_text(text))
        for text in texts
    ]
