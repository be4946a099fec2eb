"""Counts the tokens of chats with the tokenizer of a model that LiteLLM does not know."""

from pathlib import Path
from typing import Any

from litellm import create_tokenizer, decode, encode, token_counter


def load(folder: str) -> Any:
    text = Path(folder, "tokenizer.json").read_text(encoding="utf-8")
    return create_tokenizer(text)


def run(custom: Any, texts: list[str]) -> Any:
    found: list[Any] = []
    for text in texts:
        messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]
        found.append(token_counter(model="mine", custom_tokenizer=custom, messages=messages))
    tokens = encode(model="mine", custom_tokenizer=custom, text=texts[0])
    return found, tokens, decode(model="mine", custom_tokenizer=custom, tokens=tokens)
