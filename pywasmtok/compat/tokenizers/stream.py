"""`DecodeStream` of `tokenizers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tokenizers
from tokenizers.decoders import DecodeStream as LibraryStream

from .tokenizer import Tokenizer

__all__ = ["DecodeStream", "replace_stream"]


class DecodeStream:
    """The library's stream, which also takes tokenizers of this package. The reference decodes.
    `tok.core.decode_stream()` is the stream of the core."""

    def __init__(
        self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self._stream: Any = LibraryStream(ids, skip_special_tokens)

    def step(self, tokenizer: Tokenizer | tokenizers.Tokenizer, id: Any) -> str | None:
        """The text that is complete with this id, or these ids; None: there is none yet."""
        if not isinstance(tokenizer, Tokenizer):
            made: str | None = self._stream.step(tokenizer, id)
            return made
        with tokenizer._engine.reference(None) as reference:
            made = self._stream.step(reference, id)
        return made

    def __copy__(self) -> DecodeStream:
        made = DecodeStream()
        made._stream = self._stream.__copy__()
        return made

    def __deepcopy__(self, memo: object) -> DecodeStream:
        return self.__copy__()


def replace_stream() -> Callable[[], None]:
    """Makes `tokenizers.decoders.DecodeStream` the one of this package; the answer puts the
    library's back."""
    decoders: Any = tokenizers.decoders
    library = decoders.DecodeStream

    def restore() -> None:
        if decoders.DecodeStream is DecodeStream:
            decoders.DecodeStream = library

    decoders.DecodeStream = DecodeStream
    return restore
