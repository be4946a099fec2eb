"""Counts the tokens of chats for a model of OpenAI."""

from typing import Any

from litellm import token_counter


def load(folder: str) -> Any:
    return "gpt-4o"


def run(model: str, texts: list[str]) -> Any:
    return [
        token_counter(model=model, messages=[{"role": "user", "content": text}]) for text in texts
    ]
