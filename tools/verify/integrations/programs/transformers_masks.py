"""A padded batch with masks, as a model takes it."""

from typing import Any

from transformers import AutoTokenizer


def load(folder: str) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def run(tokenizer: Any, texts: list[str]) -> Any:
    found = []
    for start in range(0, len(texts), 32):
        batch = tokenizer(
            texts[start : start + 32],
            padding=True,
            truncation=True,
            max_length=512,
            return_tensors="np",
        )
        found.append((batch["input_ids"].tolist(), batch["attention_mask"].tolist()))
    return found
