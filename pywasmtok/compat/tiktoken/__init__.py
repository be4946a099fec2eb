"""The shape of tiktoken: its functions, its class `Encoding`, its exceptions.

    from pywasmtok.compat import tiktoken

`patch_tiktoken()` is for libraries that import tiktoken themselves.
docs/compat-tiktoken.md has an example and the differences.
"""

from __future__ import annotations

from ...loading.sources.names import tiktoken_table
from ...loading.sources.ranks.encodings import ENCODINGS
from .encoding import Encoding, get_encoding
from .patch import patch_tiktoken, unpatch_tiktoken

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "patch_tiktoken",
    "unpatch_tiktoken",
]


__version__ = "0.14.0"
"""The version of tiktoken whose shape this is."""


def list_encoding_names() -> list[str]:
    """The names that `get_encoding` takes."""
    return list(ENCODINGS)


def encoding_name_for_model(model_name: str) -> str:
    """The encoding of a model of OpenAI; `KeyError` for other names."""
    rule = tiktoken_table().find(model_name)
    if rule is None:
        raise KeyError(
            f"Could not automatically map {model_name} to a tokeniser. "
            "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
        )
    return rule.source


def encoding_for_model(model_name: str) -> Encoding:
    """`get_encoding(encoding_name_for_model(model_name))`."""
    return get_encoding(encoding_name_for_model(model_name))
