"""A backend with bounds on each call.

What can be counted is counted here, before the backend behind it sees the call. Time and memory are
bounded in the sandbox; here begins only the deadline of calls that are several ones of the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from .._host.calls.deadline import within
from .._host.calls.long_text import LONG_TEXT
from .._utf8_texts import Utf8Texts
from ..errors import InputTooLarge, QuotaExceeded, TokenizerError
from ..tokenizer.encoding import ID_BYTES
from ..tokenizer.ids import as_bytes

if TYPE_CHECKING:
    from ..tokenizer.encoding import Encoding, EncodingBatch
    from ..tokenizer.fitting import Truncated
    from ..tokenizer.ids import Ids
    from ..tokenizer.limits import Limits
    from .base import Backend, Quick

__all__ = ["Limited"]

# The types of a batch of texts alone.
_TEXT: Final = {str}
# Of one character, at most.
_UTF8_BYTES: Final = 4


def _checked(name: str, answered: Callable[[Any], int] | None = None) -> Any:
    """The method of the backend behind, between a check of the texts and one of the ids."""

    def call(self: Limited, *args: Any, **how: Any) -> Any:
        # The text and its pair; no other argument is a str, but for lists of texts.
        self.check_text(args[:2] if isinstance(args[0], str) else args[0])
        with self.as_one():
            found = getattr(self.backend, name)(*args, **how)
        if answered is not None:
            self.check_answer(answered(found))
        return found

    call.__name__ = name
    return call


def _ids_of_batch(found: EncodingBatch) -> int:
    return len(found.buffer)


def _ids_kept(found: Truncated) -> int:
    return len(found.encoding)


class Limited:
    """A `Backend` around another one. Methods without bounds are those of that one."""

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self.backend = backend
        self._limits = limits
        self._most_tokens = limits.max_tokens
        self._encode = backend.encode
        self._decode = backend.decode
        most = limits.max_text_bytes
        # So many characters are within the bound, and in one call of the core, for certain.
        self._short = min(LONG_TEXT - 1, LONG_TEXT if most is None else most) // _UTF8_BYTES

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    @property
    def quick(self) -> Quick | None:
        quick = self.backend.quick
        if quick is None:
            return None
        ids_of = quick.ids

        def ids_counted(text: bytes, flags: int) -> bytes:
            found = ids_of(text, flags)
            self.check_answer(len(found) // ID_BYTES)
            return found

        ids = ids_of if self._most_tokens is None else ids_counted
        return quick._replace(most=self._short, ids=ids)

    def encode_instead(
        self, error: TokenizerError, text: str, add_special_tokens: bool, special_is_text: bool
    ) -> Encoding:
        if isinstance(error, QuotaExceeded):
            # The bound of `check_answer`: another backend has no more of it.
            raise error
        found = self.backend.encode_instead(error, text, add_special_tokens, special_is_text)
        self.check_answer(len(found))
        return found

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        if pair is None and len(text) <= self._short:
            # One call of the core, which has the same deadline: it need not be said here.
            found = self._encode(text, None, add_special_tokens, special_is_text)
        else:
            self.check_text((text, pair))
            with self.as_one():
                found = self._encode(text, pair, add_special_tokens, special_is_text)
        if self._most_tokens is not None:
            self.check_answer(len(found))
        return found

    encode_with = _checked("encode_with", len)
    encode_guarded = _checked("encode_guarded", len)
    encode_within_bounds = _checked("encode_within_bounds", len)
    encode_segments = _checked("encode_segments", len)
    encode_batch = _checked("encode_batch", _ids_of_batch)
    encode_batch_guarded = _checked("encode_batch_guarded", _ids_of_batch)
    truncate = _checked("truncate", _ids_kept)
    truncate_guarded = _checked("truncate_guarded", _ids_kept)
    count = _checked("count")
    count_guarded = _checked("count_guarded")
    count_batch = _checked("count_batch")

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        # One call of the core, as a short text is.
        return self._decode(self._few(ids), skip_special_tokens, unknown)

    def decode_batch(self, lists: Sequence[Ids], *how: Any) -> list[str]:
        sized = [_sized(ids) for ids in lists]
        self._check_ids(sum(map(len, sized)))
        with self.as_one():
            return self.backend.decode_batch(sized, *how)

    def as_one(self) -> AbstractContextManager[None]:
        seconds = self._limits.deadline
        return nullcontext() if seconds is None else within(seconds)

    def listed(self, items: Iterable[Any]) -> list[Any]:
        """The items as a list; one that has no end is not read to it."""
        most = self._limits.max_batch_items
        if most is None or (type(items) is list and len(items) <= most):
            return list(items)
        found: list[Any] = []
        for item in items:
            if len(found) == most:
                known = len(items) if isinstance(items, Sized) else most + 1
                raise InputTooLarge.of(
                    f"{known} items; a call may have {most}",
                    most,
                    known,
                    hint="Limits(max_batch_items=...) moves the bound",
                )
            found.append(item)
        return found

    def ids_given(self, ids: Ids) -> bytes:
        return as_bytes(self._few(ids))

    def check_text(self, texts: Any) -> None:
        """Texts, or lists of them, as the arguments of a call have them."""
        most = self._limits.max_text_bytes
        if most is None:
            return
        if isinstance(texts, Utf8Texts):
            size = texts.size
        elif {*map(type, texts)} == _TEXT and _UTF8_BYTES * sum(map(len, texts)) <= most:
            # What nearly every batch is: so few characters that no text has to be looked through.
            return
        else:
            # A value that is no text is refused where it is encoded.
            size = sum(_utf8_length(text, most) for text in _flat(texts) if isinstance(text, str))
        if size > most:
            raise InputTooLarge.of(
                f"text of {size} bytes; a call may have {most}",
                most,
                size,
                hint="Limits(max_text_bytes=...) moves the bound",
            )

    def check_answer(self, count: int) -> None:
        most = self._most_tokens
        if most is not None and count > most:
            raise QuotaExceeded.of(
                f"{count} ids; a call may answer {most}",
                most,
                count,
                hint="Limits(max_tokens=...) moves the bound",
            )

    def _few(self, ids: Ids) -> Any:
        if self._most_tokens is None:
            return ids
        ids = _sized(ids)
        self._check_ids(len(ids))
        return ids

    def _check_ids(self, count: int) -> None:
        most = self._most_tokens
        if most is not None and count > most:
            raise InputTooLarge.of(
                f"{count} ids; a call may have {most}",
                most,
                count,
                hint="Limits(max_tokens=...) moves the bound",
            )


def _sized(ids: Any) -> Any:
    """Ids that can be counted: an iterator is read."""
    try:
        len(ids)
    except TypeError:
        return memoryview(as_bytes(ids)).cast("I")
    return ids


def _flat(items: Iterable[Any]) -> Iterator[object]:
    for item in items:
        if isinstance(item, tuple | list):
            yield from item
        else:
            yield item


def _utf8_length(text: str, most: int) -> int:
    """Exact where it matters: a text that cannot pass the bound is not looked through."""
    if text.isascii():
        return len(text)
    # More characters than bytes may be: it is too long, whatever they are.
    if len(text) > most:
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))
