"""Splits documents at tokens of a model of OpenAI."""

from typing import Any

from langchain_text_splitters import TokenTextSplitter


def load(folder: str) -> Any:
    return TokenTextSplitter(model_name="gpt-4o", chunk_size=100, chunk_overlap=10)


def run(splitter: Any, texts: list[str]) -> Any:
    return [splitter.split_text(text) for text in texts]
