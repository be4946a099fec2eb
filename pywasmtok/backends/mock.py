"""A tokenizer of eight words, for tests of code that uses tokenizers. Reached as `mock://` only."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import SpecialTokenInText
from ..tokenizer.arguments import TextPair, as_pair
from ..tokenizer.encoding import Details, Encoding, EncodingBatch
from ..tokenizer.ids import REPLACEMENT, as_bytes, require_known
from ..tokenizer.special.policy import AddedName, Special, policy_of
from ..tokenizer.special.tokens import SpecialTokens
from .base import Backend

if TYPE_CHECKING:
    from ..tokenizer.ids import Ids

__all__ = ["MockBackend"]

_VOCAB = {
    "Hello": 1,
    "world": 2,
    "test": 3,
    "token": 4,
    " ": 5,
    ".": 6,
    "<eos>": 999,
    "<bos>": 1000,
}
_TOKENS = {number: token for token, number in _VOCAB.items()}
_SPECIAL = ("<eos>", "<bos>")
_WORD = re.compile(r"\S+")


class MockBackend(Backend):
    """Splits at white space and joins with spaces; a word that it does not know has no id."""

    name = "mock"

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        ids = [number for number, _, _ in _words(text, pair, special_is_text)]
        data = array("I", ids).tobytes()
        return Encoding(data, self, text, pair, add_special_tokens, special_is_text)

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        words = _words(text, pair, special_is_text)
        return Details(
            tokens=[_TOKENS[number] for number, _, _ in words],
            offsets=[word.span() for _, word, _ in words],
            byte_offsets=[
                (len(word.string[: word.start()].encode()), len(word.string[: word.end()].encode()))
                for _, word, _ in words
            ],
            type_ids=[sequence for _, _, sequence in words],
            special_tokens_mask=[0] * len(words),
            attention_mask=[1] * len(words),
        )

    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> EncodingBatch:
        return EncodingBatch.join(
            [self.encode(*as_pair(item), add_special_tokens, special_is_text) for item in texts],
            add_special_tokens,
            special_is_text,
        )

    def encode_guarded(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Encoding:
        policy = policy_of(special, self.added_names)
        for place, part in enumerate((text,) if pair is None else (text, pair)):
            for number, word, _ in _words(part, None, False):
                if number not in map(_VOCAB.get, _SPECIAL) or number in policy.allowed:
                    continue
                if policy.special == "raise":
                    offset = len(part[: word.start()].encode())
                    raise SpecialTokenInText.named(
                        word.group(),
                        f"the text names the special token {word.group()!r}",
                        f"texts[{place}]",
                        offset,
                    )
                raise self._unguarded("special:some")
        return self.encode(text, pair, add_special_tokens)

    def added_names(self) -> dict[str, AddedName]:
        return {token: AddedName(_VOCAB[token], True) for token in _SPECIAL}

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        values = memoryview(as_bytes(ids)).cast("I")
        if unknown == "error":
            require_known(values, _TOKENS)
        stands_in = None if unknown == "skip" else REPLACEMENT
        found = (_TOKENS.get(number, stands_in) for number in values)
        tokens = [token for token in found if token is not None]
        return " ".join(
            token for token in tokens if not (skip_special_tokens and token in _SPECIAL)
        )

    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]:
        return [self.decode(ids, skip_special_tokens, unknown) for ids in lists]

    def token_to_id(self, token: str) -> int | None:
        return _VOCAB.get(token)

    def id_to_token(self, token_id: int) -> str | None:
        return _TOKENS.get(token_id)

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return dict(_VOCAB)

    def special_tokens(self) -> SpecialTokens:
        return SpecialTokens(
            bos="<bos>",
            eos="<eos>",
            ids={token: _VOCAB[token] for token in _SPECIAL},
            eos_token_ids=(_VOCAB["<eos>"],),
        )

    def close(self) -> None:
        """Nothing to give back."""


def _words(
    text: str, pair: str | None, special_is_text: bool
) -> list[tuple[int, re.Match[str], int]]:
    """(id, place, sequence) of each known word."""
    texts = (text,) if pair is None else (text, pair)
    return [
        (_VOCAB[word.group()], word, sequence)
        for sequence, part in enumerate(texts)
        for word in _WORD.finditer(part)
        if word.group() in _VOCAB and not (special_is_text and word.group() in _SPECIAL)
    ]
