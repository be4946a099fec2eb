"""The contexts that an evaluation sends to an API, as ids, at most 512 of each."""

import os
from typing import Any

from lm_eval.models.openai_completions import LocalCompletionsAPI


def load(folder: str) -> Any:
    return LocalCompletionsAPI(
        base_url=os.environ.get("BASE_URL", "http://127.0.0.1:8000") + "/v1/completions",
        model=folder,
        tokenizer_backend="huggingface",
    )


def run(model: Any, texts: list[str]) -> Any:
    found = [model.tok_encode(text, left_truncate_len=512) for text in texts]
    return found, model.decode_batch(found[:3]), model.eot_token_id
