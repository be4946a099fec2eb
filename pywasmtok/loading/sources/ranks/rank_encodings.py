"""Which encoding a rank file has, where a configuration beside it names the model.

The table is small on purpose: a class of transformers, or a type of model, whose tokenizers come as
rank files and whose code knows one encoding. What is not in it is not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ....tokenizer.recipe import Sidecars

__all__ = ["options_for_ranks"]

_BY_CLASS = {
    "QWenTokenizer": "qwen",
    "tokenization_qwen.QWenTokenizer": "qwen",
    "tokenization_kimi.TikTokenTokenizer": "kimi",
    "WhisperTokenizer": "whisper",
}
_BY_MODEL_TYPE = {
    "qwen": "qwen",
    "kimi_k2": "kimi",
    "whisper": "whisper",
    # The Llama models before the third came with a SentencePiece model.
    "llama": "llama3",
    "mllama": "llama3",
    "llama4": "llama4",
}


def options_for_ranks(sidecars: Sidecars) -> dict[str, Any]:
    """Load options for a rank file, which names neither its pattern nor its special tokens."""
    options: dict[str, Any] = {}
    tokens = sidecars.added_tokens()
    if tokens:
        options["special_tokens"] = {token["content"]: number for number, token in tokens.items()}
    encoding = _encoding(sidecars.of("tokenizer_config.json"), sidecars.of("config.json"))
    if encoding is not None:
        options["encoding"] = encoding
    return options


def _encoding(config: Mapping[str, Any], model_config: Mapping[str, Any]) -> str | None:
    """By the class that loads the tokenizer, else by the type of the model."""
    for name in _classes(config):
        if name in _BY_CLASS:
            return _BY_CLASS[name]
    return _BY_MODEL_TYPE.get(str(model_config.get("model_type")))


def _classes(config: Mapping[str, Any]) -> list[str]:
    mapped = config.get("auto_map")
    stated = mapped.get("AutoTokenizer") if isinstance(mapped, Mapping) else mapped
    names = stated if isinstance(stated, list) else [stated]
    return [name for name in (*names, config.get("tokenizer_class")) if isinstance(name, str)]
