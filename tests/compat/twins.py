"""The drop-in and the library over one file, and what has to be equal between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import random_files
import tokenizers

from pywasmtok.compat.tokenizers import Encoding, Tokenizer

ATTRIBUTES = (
    "ids", "type_ids", "attention_mask", "special_tokens_mask", "tokens", "offsets",
    "n_sequences", "word_ids", "sequence_ids",
)  # fmt: skip

LOOKUPS = (
    "char_to_token", "char_to_word", "token_to_chars", "token_to_sequence", "token_to_word",
    "word_to_chars", "word_to_tokens",
)  # fmt: skip

TEXTS = ("", "a", "Hello world", "naïve café 🌶️ 中文 test", " leading, trailing  ", "x" * 40)


class Twins(NamedTuple):
    ours: Tokenizer
    theirs: tokenizers.Tokenizer

    @classmethod
    def of(cls, data: bytes) -> Twins:
        return cls(Tokenizer.from_buffer(data), tokenizers.Tokenizer.from_buffer(data))

    def both(self, call: Callable[[Any], Any]) -> None:
        """One call of both, with equal answers or exceptions of one kind."""
        compare(outcome(lambda: call(self.ours)), outcome(lambda: call(self.theirs)))

    def same(self, name: str, *args: Any, **how: Any) -> None:
        """`both`, for one method."""
        self.both(lambda tok: getattr(tok, name)(*args, **how))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except BaseException as error:
        # A panic of the library is no Exception, and its type has no public name. Where texts of a
        # batch fail in both ways, the library's threads decide which error is raised.
        return type(error).__name__.replace("PanicException", "Exception")


def compare(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tokenizers.Encoding):
        compare_encodings(ours, theirs)
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], tokenizers.Encoding):
        assert isinstance(ours, list)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            compare_encodings(one, other)
    else:
        assert ours == theirs
        assert type(ours) is type(theirs)


def compare_encodings(ours: Encoding, theirs: tokenizers.Encoding) -> None:
    assert isinstance(ours, Encoding)
    assert len(ours) == len(theirs)
    # The first ones are made without the reference; then it is asked, and they are equal again.
    for name in (*ATTRIBUTES, *ATTRIBUTES):
        assert getattr(ours, name) == getattr(theirs, name), name
    # Chains of post-processors give one token to several sequences; then the answers of the library
    # to the same call differ from run to run.
    for name in LOOKUPS if theirs.n_sequences == len({*theirs.sequence_ids} - {None}) else ():
        for place in (0, 1, len(theirs) // 2, len(theirs), 10_000):
            found = getattr(ours, name)(place)
            assert found == getattr(theirs, name)(place), (name, place)
    assert repr(ours) == repr(theirs)
    assert len(ours.overflowing) == len(theirs.overflowing)
    for one, other in zip(ours.overflowing, theirs.overflowing, strict=True):
        assert one.ids == other.ids
        assert one.offsets == other.offsets
        assert one.attention_mask == other.attention_mask


def truncations() -> Iterator[dict[str, Any] | None]:
    yield None
    for strategy in ("longest_first", "only_first", "only_second"):
        for direction in ("right", "left"):
            for size, stride in ((0, 0), (1, 0), (2, 0), (3, 1), (5, 0), (6, 2), (200, 0)):
                yield {
                    "max_length": size,
                    "stride": stride,
                    "strategy": strategy,
                    "direction": direction,
                }


def paddings() -> Iterator[dict[str, Any] | None]:
    yield None
    for direction in ("right", "left"):
        for length in (None, 0, 4, 12):
            for multiple in (None, 0, 5):
                yield {
                    "direction": direction,
                    "length": length,
                    "pad_to_multiple_of": multiple,
                    "pad_id": 3,
                    "pad_type_id": 1,
                    "pad_token": "<pad>",
                }


def set_up(tokenizer: Any, truncation: Any, padding: Any) -> None:
    if truncation is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(**truncation)
    if padding is None:
        tokenizer.no_padding()
    else:
        tokenizer.enable_padding(**padding)


def texts(dice: random.Random, count: int) -> list[str]:
    return [random_files.text(dice)[:10] for _ in range(count)]


def batch(dice: random.Random) -> list[Any]:
    """Texts and pairs, mixed or alone."""
    items: list[Any] = [*texts(dice, 3), dice.choice(TEXTS)[:12]]
    pairs = [tuple(texts(dice, 2)), ["ab c", dice.choice(TEXTS)[:12]]]
    return dice.choice([items, items + pairs, pairs, []])
