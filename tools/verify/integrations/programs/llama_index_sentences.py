"""Splits documents into sentences of a chunk, with the tokenizer of the model that reads them."""

from typing import Any

from llama_index.core import Document, Settings
from llama_index.core.node_parser import SentenceSplitter
from transformers import AutoTokenizer


def load(folder: str) -> Any:
    Settings.tokenizer = AutoTokenizer.from_pretrained(folder)
    return SentenceSplitter(chunk_size=128, chunk_overlap=16)


def run(splitter: Any, texts: list[str]) -> Any:
    nodes = splitter.get_nodes_from_documents([Document(text=text) for text in texts])
    return [node.get_content() for node in nodes]
