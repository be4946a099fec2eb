"""`AutoTokenizer` of transformers, without a patch of transformers."""

from __future__ import annotations

from typing import Any

import transformers

from .backend import use_core

__all__ = ["AutoTokenizer"]


class AutoTokenizer(transformers.AutoTokenizer):
    """A drop-in for `transformers.AutoTokenizer`."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """What `transformers.AutoTokenizer.from_pretrained` returns, with the core inside."""
        return use_core(super().from_pretrained(*args, **kwargs))
