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
        reference: tokenizers.Tokenizer | None
        reference = tokenizer._engine.loaded if isinstance(tokenizer, Tokenizer) else tokenizer
        if reference is None:
            assert isinstance(tokenizer, Tokenizer)
            with tokenizer._engine.reference(None) as reference:
                return self._stream.step(reference, id)  # type: ignore[no-any-return]
        return self._stream.step(reference, id)  # type: ignore[no-any-return]

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
