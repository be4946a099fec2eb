"""The patch of transformers: fast tokenizers that are made while it is on have the core inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import transformers

from ..patching import Patch, Patches
from .backend import use_core

__all__ = ["Patch", "patch_transformers", "unpatch_transformers"]


def patch_transformers() -> Patch:
    """Makes `transformers.AutoTokenizer` and all fast tokenizer classes use the core.

    It changes one method, the constructor that all fast classes share. The answer can undo it, and
    is a context manager that does so at its end.
    """
    return _patches.begin()


def unpatch_transformers() -> None:
    """Undoes all patches; without one it does nothing."""
    _patches.end()


def _replace_constructor() -> Callable[[], None]:
    # Version 5 calls the same class TokenizersBackend.
    fast: Any = transformers.PreTrainedTokenizerFast
    original = fast.__init__

    @wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        use_core(self)

    def restore() -> None:
        fast.__init__ = original

    fast.__init__ = construct
    return restore


_patches = Patches(_replace_constructor)
