"""Ids and their text, growing together."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from ..ids import as_list, what_is_wrong

if TYPE_CHECKING:
    from ..ids import Ids
    from ..tokenizer import Tokenizer

__all__ = ["Sequence"]


class Sequence:
    """Text and ids may be appended in any order. `text` is always that of all ids decoded at once;
    a text is appended as its ids, so a tokenizer that changes texts changes it here, too.

    Made by `Tokenizer.sequence`. For one thread at a time.
    """

    __slots__ = ("_ids", "_parts", "_stream", "_tokenizer")

    def __init__(
        self, tokenizer: Tokenizer, token_ids: Ids = (), skip_special_tokens: bool = False
    ) -> None:
        self._tokenizer = tokenizer
        self._stream = tokenizer.decode_stream((), skip_special_tokens)
        self._ids: list[int] = []
        self._parts: list[str] = []
        self.append_tokens(token_ids)

    def append_text(self, text: str, add_special_tokens: bool = False) -> str:
        """Encodes the text on its own, and answers what it adds to `text`."""
        return self.append_tokens(self._tokenizer.encode(text, None, add_special_tokens))

    def append_token(self, token_id: int) -> str:
        """The text that is certain now and was not before."""
        try:
            number = index(token_id)
        except TypeError as error:
            raise what_is_wrong((token_id,), error) from None
        text = self._stream.step(number)
        self._ids.append(number)
        self._parts.append(text)
        return text

    def append_tokens(self, token_ids: Ids) -> str:
        ids = as_list(token_ids)
        text = self._stream.step_batch(ids)
        self._ids.extend(ids)
        self._parts.append(text)
        return text

    @property
    def token_ids(self) -> list[int]:
        return list(self._ids)

    @property
    def text(self) -> str:
        """All of it, from the first id on, and with what further ids could still change."""
        self._parts = ["".join(self._parts)]
        return self._parts[0] + self._stream.copy().flush()

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<Sequence of {len(self)} ids: {self.text!r:.60}>"
