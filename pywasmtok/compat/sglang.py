"""The functions that SGLang calls for `--tokenizer-backend fastokens`.

SGLang imports a module of the name `fastokens` and calls `patch_transformers()`. A file
`fastokens.py` on the path with this line selects the core:

    from pywasmtok.compat.sglang import patch_transformers, unpatch_transformers
"""

from __future__ import annotations

from .transformers import patch_transformers, unpatch_transformers

__all__ = ["patch_transformers", "unpatch_transformers"]
