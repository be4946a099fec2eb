"""The tokenizers of transformers, with the core as their encoder.

    from pywasmtok.compat.transformers import patch_transformers

    patch_transformers()  # from here on, transformers.AutoTokenizer and the fast classes use it

docs/compat-transformers.md has examples and the differences.
"""

from __future__ import annotations

from .auto import AutoTokenizer
from .backend import Backend, backend_of, use_core
from .patch import Patch, patch_transformers, unpatch_transformers

__all__ = [
    "AutoTokenizer",
    "Backend",
    "Patch",
    "backend_of",
    "patch_transformers",
    "unpatch_transformers",
    "use_core",
]
