"""vLLM's incremental detokenizer over a stream of the core.

The hook is one name of one module of vLLM: `vllm.v1.engine.detokenizer.FastIncrementalDetokenizer`.
`hook` puts a subclass there, `unhook` puts the original back. For tokenizers without the core
inside, the subclass does what the original does.
"""

from __future__ import annotations

from typing import Any

from vllm.v1.engine import detokenizer as _module

from ...errors import InvalidArgument, InvalidToken
from ..tokenizers import Tokenizer as Inner

__all__ = ["StreamDetokenizer", "hook", "unhook"]

_Original: Any = _module.FastIncrementalDetokenizer


class StreamDetokenizer(_Original):  # type: ignore[misc]
    """Stop strings, offsets and spaces are vLLM's. The text of an id is that of our stream."""

    def __new__(cls, tokenizer: Any, request: Any) -> Any:
        inner = getattr(tokenizer, "_tokenizer", None)
        if not isinstance(inner, Inner):
            return _Original(tokenizer, request)
        if inner.core is None:
            # It was changed so that the core refuses it. The original takes the library's only.
            return _module.SlowIncrementalDetokenizer(tokenizer, request)
        return super().__new__(cls)

    def __init__(self, tokenizer: Any, request: Any) -> None:
        super().__init__(tokenizer, request)
        # vLLM does not flush, so a run of byte tokens must not wait for its end.
        self._stream = tokenizer._tokenizer.core.decode_stream(
            request.prompt_token_ids or (), self.skip_special_tokens, byte_runs="eager"
        )

    def _protected_step(self, next_token_id: int) -> str | None:
        try:
            text: str = self._stream.step(next_token_id)
        except (InvalidArgument, InvalidToken):
            # As vLLM has it: a wrong id has no text.
            _module.logger.exception("Encountered invalid token id: %r", next_token_id)
            return None
        return text


def hook() -> None:
    _module.FastIncrementalDetokenizer = StreamDetokenizer


def unhook() -> None:
    """Requests that are under way keep their detokenizer."""
    _module.FastIncrementalDetokenizer = _Original
