"""What `--tokenizer-mode pywasmtok` loads: vLLM's own tokenizer with the core inside."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from ..tokenizers import Tokenizer as Inner
from ..tokenizers.engine import PLAIN, Engine, Settings

__all__ = ["Tokenizer", "exchange"]

# Below the name "vllm", so that vLLM's settings of logging hold.
_log = logging.getLogger("vllm.plugins.pywasmtok")


class Inside(Inner):
    """What is inside of a tokenizer of vLLM, where the reference is loaded."""

    @property
    def decoder(self) -> Any:
        """Not a copy: vLLM reads it for each token that it detokenizes without a stream."""
        reference = self._engine.loaded
        return Inner.decoder.fget(self) if reference is None else reference.decoder  # type: ignore[misc]

    @decoder.setter
    def decoder(self, decoder: Any) -> None:
        Inner.decoder.fset(self, decoder)  # type: ignore[misc]

    def __deepcopy__(self, memo: object) -> Inside:
        """vLLM makes a copy for each thread."""
        return Inside._of(self._engine, self._settings._replace(names_are_text=False))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, super().__reduce__()[1]


def _restored(data: bytes, settings: Settings) -> Inside:
    """Also in a process that loads no tokenizer of this mode itself."""
    with suppress(ModuleNotFoundError):
        from .detokenizer import hook

        hook()
    return Inside._of(Engine(data, None, "copy"), settings)


class Tokenizer:
    """The entry of `TokenizerRegistry`. `from_pretrained` returns what mode hf returns, an object
    of transformers with all its methods. Only the tokenizer inside of it is another."""

    @classmethod
    def from_pretrained(cls, path_or_repo_id: Any, *args: Any, **how: Any) -> Any:
        from vllm.tokenizers.hf import CachedHfTokenizer

        from .detokenizer import hook

        # As mode hf has it.
        how.setdefault("mistral_format", False)
        cached = CachedHfTokenizer.from_pretrained(path_or_repo_id, *args, **how)
        # vLLM's cached properties lie in a class around the object; copies and pickles are made
        # again of the object inside.
        cache, (tokenizer,) = cached.__reduce__()
        reason = exchange(tokenizer)
        if reason is not None:
            _log.warning("pywasmtok leaves %s to tokenizers: %s", path_or_repo_id, reason)
            return cached
        hook()
        _log.info("pywasmtok encodes and decodes for %s", path_or_repo_id)
        return cache(tokenizer)


def exchange(tokenizer: Any) -> str | None:
    """Puts the core into a fast tokenizer of transformers, in place. Returns the reason where it
    stays as it is.

    The core reads what the tokenizer inside writes, not the file: transformers builds some
    tokenizers anew, and adds tokens. That tokenizer stays, as the reference.
    """
    inner = getattr(tokenizer, "_tokenizer", None)
    if inner is None:
        return "it is no fast tokenizer of transformers"
    settings = Settings(inner.truncation, inner.padding, inner.encode_special_tokens)
    ours = Inside._of(Engine(None, inner, "tokenizer.json"), settings)
    core = ours.core
    if core is None:
        return f"the core refuses its tokenizer.json: {ours.refusal}"
    if core.stream_backend != "core":
        return f"its text is {core.stream_backend}"
    PLAIN.apply(inner)
    tokenizer._tokenizer = ours
    return None
