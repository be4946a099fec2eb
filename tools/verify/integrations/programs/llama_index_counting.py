"""Counts the tokens that an index embeds."""

from typing import Any

import tiktoken
from llama_index.core import MockEmbedding
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler


def load(folder: str) -> Any:
    encoding = tiktoken.encoding_for_model("gpt-4o")
    counter = TokenCountingHandler(tokenizer=encoding.encode)
    model = MockEmbedding(embed_dim=8, callback_manager=CallbackManager([counter]))
    return counter, model


def run(loaded: Any, texts: list[str]) -> Any:
    counter, model = loaded
    counter.reset_counts()
    model.get_text_embedding_batch(texts)
    return counter.total_embedding_token_count
