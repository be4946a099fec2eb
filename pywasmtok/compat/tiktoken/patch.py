"""The patch of tiktoken, for libraries that import it: its encodings have the core inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import BackendUnavailable
from ...loading.sources.ranks.encodings import ENCODINGS
from ..patching import Patch, Patches

__all__ = ["patch_tiktoken", "unpatch_tiktoken"]


def patch_tiktoken() -> Patch:
    """Makes `tiktoken.get_encoding` and `tiktoken.encoding_for_model` return encodings of this
    package for tiktoken's own names. Encodings of plugins, and those that a program already has,
    stay tiktoken's. The answer can undo it, and is a context manager that does so at its end.
    """
    return _patches.begin()


def unpatch_tiktoken() -> None:
    """Undoes all patches; without one it does nothing."""
    _patches.end()


def _replace_functions() -> Callable[[], None]:
    try:
        import tiktoken.model
        import tiktoken.registry

        from .patched import PatchedEncoding
    except ImportError as error:
        raise BackendUnavailable(
            "there is no tiktoken to patch",
            hint="`from pywasmtok.compat import tiktoken` needs none; else: pip install tiktoken",
        ) from error
    # `encoding_for_model` reads the name in its own module when it is called.
    modules = (tiktoken, tiktoken.registry, tiktoken.model)
    original = tiktoken.registry.get_encoding

    is_on = True

    def found(encoding_name: str) -> Any:
        is_ours = is_on and isinstance(encoding_name, str) and encoding_name in ENCODINGS
        return PatchedEncoding.published(encoding_name) if is_ours else original(encoding_name)

    for module in modules:
        vars(module)["get_encoding"] = found

    def restore() -> None:
        nonlocal is_on
        is_on = False
        for module in modules:
            # Other code may have wrapped it meanwhile.
            if vars(module)["get_encoding"] is found:
                vars(module)["get_encoding"] = original

    return restore


_patches = Patches(_replace_functions)
