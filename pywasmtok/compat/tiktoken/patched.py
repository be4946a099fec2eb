"""The class of the encodings that a patched tiktoken returns. It imports tiktoken."""

from __future__ import annotations

import tiktoken

from .encoding import Encoding

__all__ = ["PatchedEncoding"]


class PatchedEncoding(Encoding, tiktoken.Encoding):  # type: ignore[override]
    """An instance of tiktoken's class, too: programs check for it with `isinstance`."""
