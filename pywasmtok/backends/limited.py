"""A tokenizer with bounds on each call.

What can be counted is counted here, before the core sees it. Time and memory are bounded below, in
the sandbox; here it is only said when a call begins, so that all that it does has one end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set, Sized
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import (
    DeadlineExceeded,
    InputTooLarge,
    InvalidArgument,
    MemoryLimit,
    QuotaExceeded,
    TemplateLimitExceeded,
    Unsupported,
)
from ..tokenizer.ids import as_bytes
from ..tokenizer.limits import Limits
from ..tokenizer.tokenizer import Tokenizer
from . import Hybrid

if TYPE_CHECKING:
    from ..chat.session import ChatSession
    from ..tokenizer.arguments import Segment, TextPair
    from ..tokenizer.encoding import Encoding, EncodingBatch
    from ..tokenizer.fitting import Truncated
    from ..tokenizer.ids import Ids
    from ..tokenizer.special.policy import Special
    from ..tokenizer.streaming.sequence import Sequence as TokenSequence
    from ..tokenizer.streaming.spans import TokenSpan
    from ..tokenizer.streaming.stop import StopSequenceConfig, StopSequenceDecoder
    from ..tokenizer.streaming.stream import DecodeStream
    from .streaming import Streaming

__all__ = ["TokenizerWithLimits", "limited", "view_of"]

T = TypeVar("T")

# The types of a batch of texts alone.
_TEXT = {str}
# Of one character, at most.
_UTF8_BYTES = 4

# Views that a tokenizer remembers; a program has few kinds of bounds.
_MOST_VIEWS = 64


def limited(tok: Tokenizer, limits: Limits | None, bounds: dict[str, Any]) -> Tokenizer:
    """What `Tokenizer.limited` says."""
    if limits is None:
        try:
            limits = Limits(**bounds)
        except TypeError as error:
            raise InvalidArgument(f"limited() takes the arguments of Limits: {error}") from None
    elif bounds or not isinstance(limits, Limits):
        raise InvalidArgument("limited() takes a pywasmtok.Limits, or the arguments of one")
    if tok.limits is not None:
        limits = tok.limits.tightened(limits)
    view = tok.views.get(limits)
    if view is None or view.closed:
        view = view_of(tok, limits)
        if len(tok.views) < _MOST_VIEWS:
            tok.views[limits] = view
    return view


def view_of(tok: Tokenizer, limits: Limits) -> Tokenizer:
    """A new one, which shares what `tok` has in memory."""
    hybrid = tok.hybrid
    if limits.needs_sandbox:
        core = tok.core_backend
        if core is None:
            raise Unsupported(
                f"{tok.backend.encoder} has no bounds on time and memory; only the core has them",
                feature="limits:encoder",
            )
        inside = core.limited(limits.deadline, limits.memory)
        hybrid = Hybrid(inside, inside, source=tok.source)
    recipe = tok.recipe._replace(limits=limits)
    view = _View(hybrid, recipe, build=tok.backend.build, file_format=tok.format)
    view.of = tok if hybrid is tok.hybrid else None
    view.chat_sandbox = tok.chat_sandbox
    return view


class TokenizerWithLimits(Tokenizer):
    @cached_property
    def _bounds(self) -> Limits:
        return self._recipe.limits or Limits()

    def encode(
        self,
        text: str,
        pair: str | None = None,
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> Encoding:
        if pair is None and special == "all" and threads is None and self._is_short(text):
            # One call of the core, which has the same deadline: it need not be said here.
            found = super().encode(text, None, add_special_tokens)
        else:
            self._check_text((text, pair))
            with self._time():
                found = super().encode(
                    text, pair, add_special_tokens, special=special, threads=threads
                )
        most = self._bounds.max_tokens
        return found if most is None else self._checked(found, len(found))

    def encode_batch(
        self,
        texts: Iterable[str | TextPair],
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
        threads: int | None = None,
    ) -> EncodingBatch:
        if not isinstance(texts, str | bytes) and isinstance(texts, Iterable):
            texts = self._few(texts)
            if not self._surely_fit(texts):
                self._check_text(_flat(texts))
        with self._time():
            found = super().encode_batch(
                texts, add_special_tokens, special=special, threads=threads
            )
        return self._checked(found, len(found.buffer))

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool = True,
        *,
        control: str | Set[str] = "special",
    ) -> Encoding:
        if not isinstance(segments, str | bytes) and isinstance(segments, Iterable):
            segments = self._few(segments)
            self._check_text(_flat(segments))
        with self._time():
            found = super().encode_segments(segments, add_special_tokens, control=control)
        return self._checked(found, len(found))

    def count(self, text: str, add_special_tokens: bool = True, *, special: Special = "all") -> int:
        self._check_text((text,))
        with self._time():
            return super().count(text, add_special_tokens, special=special)

    def count_batch(
        self, texts: Iterable[str], add_special_tokens: bool = True, *, special: Special = "all"
    ) -> list[int]:
        if not isinstance(texts, str | bytes) and isinstance(texts, Iterable):
            texts = self._few(texts)
            if not self._surely_fit(texts):
                self._check_text(texts)
        with self._time():
            return super().count_batch(texts, add_special_tokens, special=special)

    def fits(
        self, text: str, n: int, add_special_tokens: bool = True, *, special: Special = "all"
    ) -> bool:
        self._check_text((text,))
        with self._time():
            return super().fits(text, n, add_special_tokens, special=special)

    def truncate(
        self,
        text: str,
        n: int,
        side: str = "right",
        add_special_tokens: bool = True,
        *,
        special: Special = "all",
    ) -> Truncated:
        self._check_text((text,))
        with self._time():
            found = super().truncate(text, n, side, add_special_tokens, special=special)
        return self._checked(found, len(found.encoding))

    def decode(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> str:
        # One call of the core, which has the same deadline: it need not be said here.
        return super().decode(self._few_ids(ids), skip_special_tokens, unknown_id=unknown_id)

    def decode_batch(
        self,
        lists: Iterable[Ids],
        skip_special_tokens: bool = True,
        *,
        unknown_id: str | None = None,
        threads: int | None = None,
    ) -> list[str]:
        if not isinstance(lists, str | bytes) and isinstance(lists, Iterable):
            lists = [_sized(ids) for ids in self._few(lists)]
            self._check_ids(sum(map(len, lists)))
        with self._time():
            return super().decode_batch(
                lists, skip_special_tokens, unknown_id=unknown_id, threads=threads
            )

    def decode_bytes(
        self, ids: Ids, skip_special_tokens: bool = True, *, unknown_id: str | None = None
    ) -> bytes:
        ids = self._few_ids(ids)
        with self._time():
            return super().decode_bytes(ids, skip_special_tokens, unknown_id=unknown_id)

    def token_spans(self, ids: Ids, skip_special_tokens: bool = True) -> list[TokenSpan]:
        ids = self._few_ids(ids)
        with self._time():
            return super().token_spans(ids, skip_special_tokens)

    def decode_stream(
        self,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        *,
        byte_runs: str = "exact",
        unknown_id: str | None = None,
        history: bool = False,
    ) -> DecodeStream:
        prompt_ids = self._few_ids(prompt_ids)
        with self._time():
            return super().decode_stream(
                prompt_ids,
                skip_special_tokens,
                byte_runs=byte_runs,
                unknown_id=unknown_id,
                history=history,
            )

    def stop_decoder(
        self,
        config: StopSequenceConfig,
        prompt_ids: Ids = (),
        skip_special_tokens: bool = True,
        **how: Any,
    ) -> StopSequenceDecoder:
        prompt_ids = self._few_ids(prompt_ids)
        with self._time():
            return super().stop_decoder(config, prompt_ids, skip_special_tokens, **how)

    def sequence(self, token_ids: Ids = (), skip_special_tokens: bool = False) -> TokenSequence:
        token_ids = self._few_ids(token_ids)
        with self._time():
            return super().sequence(token_ids, skip_special_tokens)

    def apply_chat_template(self, conversation: Any, *args: Any, **how: Any) -> Any:
        return self._chat_call(super().apply_chat_template, conversation, *args, **how)

    def encode_chat(self, messages: Sequence[Any], **how: Any) -> Any:
        return self._chat_call(super().encode_chat, messages, **how)

    def chat_session(self, **how: Any) -> ChatSession:
        return self._chat_call(super().chat_session, **how)

    def _chat_call(self, call: Callable[..., T], *args: Any, **how: Any) -> T:
        how["limits"] = self._bounds.for_templates(how.get("limits"))
        try:
            with self._time():
                return call(*args, **how)
        except TemplateLimitExceeded as error:
            raise self._of_this_tokenizer(error) from error

    def _of_this_tokenizer(self, error: TemplateLimitExceeded) -> Exception:
        """A bound of a template that is one of this tokenizer says so."""
        bounds, said = self._bounds, error.message
        if error.feature == "deadline" and bounds.deadline is not None:
            return DeadlineExceeded.of(said, bounds.deadline, bounds.deadline)
        if error.feature == "memory" and bounds.memory is not None:
            return MemoryLimit.of(said, bounds.memory, None)
        most = bounds.max_template_output
        if error.feature == "output" and most is not None:
            return QuotaExceeded.of(said, most, most + 1)
        return error

    @cached_property
    def _short_text(self) -> int:
        """So many characters are within the bound, and in one call of the core, for certain."""
        from .._host.calls.tokenizer import LONG_TEXT

        most = self._bounds.max_text_bytes
        return (LONG_TEXT - 1 if most is None else min(LONG_TEXT - 1, most)) // _UTF8_BYTES

    def _is_short(self, text: str) -> bool:
        return isinstance(text, str) and len(text) <= self._short_text

    def _time(self) -> AbstractContextManager[None]:
        seconds = self._bounds.deadline
        if seconds is None:
            return nullcontext()
        from .._host.calls.deadline import within

        return within(seconds)

    def _check_text(self, texts: Iterable[object]) -> None:
        most = self._bounds.max_text_bytes
        if most is None:
            return
        size = 0
        for text in texts:
            # A value that is no text is refused where it is encoded.
            if isinstance(text, str):
                size += _utf8_length(text, most)
        if size > most:
            raise InputTooLarge.of(
                f"text of {size} bytes; a call may have {most}",
                most,
                size,
                hint="Limits(max_text_bytes=...) moves the bound",
            )

    def _surely_fit(self, texts: list[Any]) -> bool:
        """Whether texts alone, and so few characters that no UTF-8 of them passes the bound: what
        nearly every batch is, and found out without looking at each text."""
        most = self._bounds.max_text_bytes
        if most is None:
            return True
        return {*map(type, texts)} == _TEXT and _UTF8_BYTES * sum(map(len, texts)) <= most

    def _few(self, items: Iterable[T]) -> list[T]:
        """The items as a list; one that has no end is not read to it."""
        most = self._bounds.max_batch_items
        if most is None or (type(items) is list and len(items) <= most):
            return list(items)
        found: list[T] = []
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

    def _few_ids(self, ids: Ids) -> Any:
        if self._bounds.max_tokens is None:
            return ids
        ids = _sized(ids)
        self._check_ids(len(ids))
        return ids

    def _check_ids(self, count: int) -> None:
        most = self._bounds.max_tokens
        if most is not None and count > most:
            raise InputTooLarge.of(
                f"{count} ids; a call may have {most}",
                most,
                count,
                hint="Limits(max_tokens=...) moves the bound",
            )

    def _checked(self, answer: T, count: int) -> T:
        most = self._bounds.max_tokens
        if most is not None and count > most:
            raise QuotaExceeded.of(
                f"{count} ids; a call may answer {most}",
                most,
                count,
                hint="Limits(max_tokens=...) moves the bound",
            )
        return answer


class _View(TokenizerWithLimits):
    of: Tokenizer | None = None
    """The tokenizer that decodes its streams, too."""

    @property
    def streaming(self) -> Streaming:
        return super().streaming if self.of is None or self.closed else self.of.streaming

    def close(self) -> None:
        """The tokenizer that it is a view of goes on."""
        self._end()


def _sized(ids: Any) -> Any:
    """Ids that can be counted: an iterator is read."""
    return ids if hasattr(ids, "__len__") else memoryview(as_bytes(ids)).cast("I")


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
