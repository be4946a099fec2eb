"""The patch of transformers: fast tokenizers that are made while it is on have the core inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import transformers

from ..patching import Patch, Patches
from ..tokenizers.stream import replace_stream
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
    is_on = True

    @wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if is_on:
            use_core(self)

    def restore() -> None:
        nonlocal is_on
        is_on = False
        # Other code may have wrapped it meanwhile.
        if fast.__init__ is construct:
            fast.__init__ = original
        restore_stream()

    fast.__init__ = construct
    # Parts of transformers give it the tokenizer inside.
    restore_stream = replace_stream()
    return restore


_patches = Patches(_replace_constructor)
