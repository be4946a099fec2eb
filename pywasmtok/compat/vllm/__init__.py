"""A plugin of vLLM: `vllm serve MODEL --tokenizer-mode pywasmtok`.

vLLM finds `register` through the entry point `vllm.general_plugins`. docs/compat-vllm.md says what
the mode does. Without the mode, nothing of vLLM is changed.
"""

from __future__ import annotations

import logging
from typing import Final

__all__ = ["MODE", "register"]

MODE: Final = "pywasmtok"


def register() -> None:
    """Adds the mode to vLLM's registries of tokenizers and renderers. Calling it again changes
    nothing."""
    try:
        from vllm.renderers.registry import RENDERER_REGISTRY
        from vllm.tokenizers.registry import TokenizerRegistry
    except ImportError as error:
        # vLLM calls plugins without a guard: an error here would end each of its processes.
        logging.getLogger(__name__).warning(
            "This vLLM has no registry that pywasmtok knows, so --tokenizer-mode %s is not there: "
            "%s. docs/compat-vllm.md lists the versions.",
            MODE,
            error,
        )
        return
    if MODE not in TokenizerRegistry.tokenizers:
        TokenizerRegistry.register(MODE, "pywasmtok.compat.vllm.tokenizer", "Tokenizer")
    if MODE not in RENDERER_REGISTRY.renderers:
        # Chats are rendered as in mode hf: with the tokenizer's own `apply_chat_template`.
        RENDERER_REGISTRY.register(MODE, "vllm.renderers.hf", "HfRenderer")
