"""What encodes inside of a tokenizer of transformers."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import tokenizers

from ..tokenizers import Tokenizer

__all__ = ["Backend", "backend_of", "use_core"]

T = TypeVar("T")


class Backend(NamedTuple):
    """What encodes inside of a tokenizer of transformers, and why it is not the core."""

    name: str
    """`core`; `tokenizers` for the library of that name; `transformers` for classes in Python."""
    reason: str | None = None
    """None for `core`."""


def use_core(tokenizer: T) -> T:
    """Puts the core into a tokenizer of transformers, and returns that tokenizer.

    One that is not built on `tokenizers` stays as it is. Its object of `tokenizers` becomes a part
    of the new one: keep no other use of it.
    """
    holder: Any = tokenizer
    inner = getattr(holder, "_tokenizer", None)
    if isinstance(inner, tokenizers.Tokenizer):
        name = getattr(holder, "name_or_path", "") or type(holder).__name__
        made = Tokenizer.of_reference(inner, str(name))
        # With transformers 4 the `decode` of CLIP is an attribute that its class adds.
        vars(made).update(vars(inner))
        holder._tokenizer = made
    return tokenizer


def backend_of(tokenizer: Any) -> Backend:
    """What encodes inside of a tokenizer of transformers. The first call, or the first text, loads
    the core."""
    inner = getattr(tokenizer, "_tokenizer", None)
    if isinstance(inner, Tokenizer):
        refusal = inner.refusal
        return Backend("core") if refusal is None else Backend("tokenizers", refusal)
    if isinstance(inner, tokenizers.Tokenizer):
        return Backend("tokenizers", "it was made without patch_transformers() or use_core()")
    return Backend("transformers", f"{type(tokenizer).__name__} is not built on tokenizers")
