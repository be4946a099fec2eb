"""Counts the tokens of documents, and cuts what is above a budget."""

from typing import Any

import tiktoken

BUDGET = 200


def load(folder: str) -> Any:
    return tiktoken.encoding_for_model("gpt-4o")


def run(encoding: Any, texts: list[str]) -> Any:
    found = []
    for text in texts:
        tokens = encoding.encode(text, disallowed_special=())
        found.append((len(tokens), encoding.decode(tokens[:BUDGET])))
    return found
