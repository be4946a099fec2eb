"""The patch of transformers: fast tokenizers that are made while it is on have the core inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Self

import transformers

from ..._locks import ForkSafeLock
from .backend import use_core

__all__ = ["Patch", "patch_transformers", "unpatch_transformers"]

_lock = ForkSafeLock()
_active: list[Patch] = []
_originals: dict[type, Callable[..., None]] = {}


class Patch:
    """One call of `patch_transformers`. transformers is as it was once all of them are undone."""

    def undo(self) -> None:
        """Ends this patch; again does nothing. Tokenizers that were made stay as they are."""
        with _lock:
            if self in _active:
                _active.remove(self)
            if not _active:
                _restore()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.undo()


def patch_transformers() -> Patch:
    """Makes `transformers.AutoTokenizer` and all fast tokenizer classes use the core.

    It changes one method, the constructor that all fast classes share. The answer can undo it, and
    is a context manager that does so at its end.
    """
    patch = Patch()
    with _lock:
        _active.append(patch)
        if not _originals:
            # Version 5 calls the same class TokenizersBackend.
            _replace_constructor(transformers.PreTrainedTokenizerFast)
    return patch


def unpatch_transformers() -> None:
    """Undoes all patches; without one it does nothing."""
    with _lock:
        _active.clear()
        _restore()


def _replace_constructor(fast: Any) -> None:
    original = _originals[fast] = fast.__init__

    @wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        use_core(self)

    fast.__init__ = construct


def _restore() -> None:
    while _originals:
        fast, original = _originals.popitem()
        fast.__init__ = original  # type: ignore[misc]
