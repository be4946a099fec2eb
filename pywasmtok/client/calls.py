"""Requests to one tokenizer, and the library's own types made of the answers."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ..errors import InvalidArgument, Unsupported
from ..tokenizer.arguments import Segment, check_text, segments_of, what_is_wrong_with
from ..tokenizer.encoding import ID_BYTES, Details, Encoding, EncodingBatch
from ..tokenizer.fitting import Truncated, check_limit, check_side
from ..tokenizer.ids import as_bytes
from .address import check_name, path_of
from .answers import ServedChat
from .call import BINARY, Answer, Call, field_of, numbers_of, post
from .errors import BadAnswer

if TYPE_CHECKING:
    from ..tokenizer.ids import Ids
    from ..tokenizer.special.policy import Special

__all__ = ["Fetch", "RemoteText", "TokenizerCalls"]


class Fetch(Protocol):
    """Fetches the details of an encoding, in a client that may block."""

    def __call__(self, call: Call[T], /) -> T: ...


T = TypeVar("T")

_COUNT: Final = struct.Struct("<I")


class RemoteText:
    """The source of the details of ids that a server made, fetched on first access."""

    __slots__ = ("_calls", "_fetch", "_special")
    name = "remote"

    def __init__(self, calls: TokenizerCalls, special: Special, fetch: Fetch | None) -> None:
        self._calls = calls
        self._special = special
        self._fetch = fetch

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        if self._fetch is None:
            raise Unsupported(
                "a property cannot wait for a server",
                feature="remote:details",
                hint="await encode_with_details(...) brings tokens, offsets and masks along",
            )
        asked = text, pair, add_special_tokens, self._special
        found = self._fetch(self._calls.details(*asked))
        if pair is None:
            return found
        return found._replace(byte_offsets=self._fetch(self._calls.byte_offsets(*asked)))


class SettledText:
    """The same where they came with the ids."""

    __slots__ = ("_details",)
    name = "remote"

    def __init__(self, details: Details | None) -> None:
        self._details = details

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        if self._details is None:
            raise Unsupported("the server tells no details of these ids", feature="remote:details")
        return self._details


class TokenizerCalls:
    """All that may be asked of a tokenizer with this name."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name)

    def encode(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special: Special,
        fetch: Fetch | None,
    ) -> Call[Encoding]:
        body = self._text(text, pair, add_special_tokens, special)
        source = RemoteText(self, special, fetch)

        def read(answer: Answer) -> Encoding:
            return Encoding(_ids(answer), source, text, pair, add_special_tokens, special == "none")

        return post(self._path("encode"), body, read, accept=BINARY)

    def encode_with_details(
        self, text: str, add_special_tokens: bool, special: Special
    ) -> Call[Encoding]:
        body = self._text(text, None, add_special_tokens, special) | _DETAILS

        def read(answer: Answer) -> Encoding:
            found = answer.json()
            source = SettledText(_details(found, text))
            data = _as_ids(field_of(found, "ids", list))
            return Encoding(data, source, text, None, add_special_tokens, special == "none")

        return post(self._path("encode"), body, read)

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Call[Details]:
        body = self._text(text, pair, add_special_tokens, special) | _DETAILS
        whole = text if pair is None else None
        return post(self._path("encode"), body, lambda answer: _details(answer.json(), whole))

    def byte_offsets(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Call[list[tuple[int, int]]]:
        body = self._text(text, pair, add_special_tokens, special) | {"offsets": "bytes"}
        return post(self._path("encode"), body, lambda answer: _spans(answer.json(), "offsets"))

    def encode_batch(
        self,
        texts: Sequence[str],
        add_special_tokens: bool,
        special: Special,
        fetch: Fetch | None,
    ) -> Call[EncodingBatch]:
        _check_scalar_values(texts)
        body = {
            "texts": list(texts),
            "add_special_tokens": bool(add_special_tokens),
            "special": _policy(special),
        }
        source = RemoteText(self, special, fetch)
        is_text = special == "none"

        def read(answer: Answer) -> EncodingBatch:
            ids, bounds = _batch(answer, len(texts))
            return EncodingBatch(ids, bounds, source, texts, add_special_tokens, is_text)

        return post(self._path("encode"), body, read, accept=BINARY)

    def encode_segments(
        self, segments: Iterable[Segment], add_special_tokens: bool, control: str | Set[str]
    ) -> Call[Encoding]:
        parts = segments_of(segments)
        _check_scalar_values([text for text, _ in parts])
        body: dict[str, Any] = {
            "segments": [{"text": text, "trusted": trusted} for text, trusted in parts],
            "add_special_tokens": bool(add_special_tokens),
        }
        if control != "special":
            body["control"] = _names("control", control)
        text = "".join(text for text, _ in parts)

        def read(answer: Answer) -> Encoding:
            return Encoding(_ids(answer), SettledText(None), text, None, add_special_tokens)

        return post(self._path("encode"), body, read, accept=BINARY)

    def count(self, text: str, add_special_tokens: bool, special: Special) -> Call[int]:
        body = self._text(text, None, add_special_tokens, special)
        return post(self._path("count"), body, lambda answer: field_of(answer.json(), "count", int))

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool, special: Special
    ) -> Call[list[int]]:
        _check_scalar_values(texts)
        body = {
            "texts": list(texts),
            "add_special_tokens": bool(add_special_tokens),
            "special": _policy(special),
        }

        def read(answer: Answer) -> list[int]:
            counts = field_of(answer.json(), "counts", list)
            if len(counts) != len(texts) or not all(type(count) is int for count in counts):
                raise BadAnswer(f"these are no counts of {len(texts)} texts")
            return counts

        return post(self._path("count"), body, read)

    def fits(self, text: str, n: int, add_special_tokens: bool, special: Special) -> Call[bool]:
        body = self._text(text, None, add_special_tokens, special) | {"n": check_limit(n)}
        return post(self._path("fits"), body, lambda answer: field_of(answer.json(), "fits", bool))

    def truncate(  # noqa: PLR0917
        self,
        text: str,
        n: int,
        side: str,
        add_special_tokens: bool,
        special: Special,
        fetch: Fetch | None,
    ) -> Call[Truncated]:
        check_side(side)
        body = self._text(text, None, add_special_tokens, special)
        source = RemoteText(self, special, fetch)

        def read(answer: Answer) -> Truncated:
            found = answer.json()
            kept = field_of(found, "text", str)
            data = _as_ids(field_of(found, "ids", list))
            return Truncated(
                kept,
                Encoding(data, source, kept, None, add_special_tokens, special == "none"),
                truncated=field_of(found, "truncated", bool),
                exact=field_of(found, "exact", bool),
            )

        return post(self._path("truncate"), body | {"n": check_limit(n), "side": side}, read)

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown_id: str | None) -> Call[str]:
        query = {"skip_special_tokens": "true" if skip_special_tokens else "false"}
        if unknown_id is not None:
            query["unknown_id"] = unknown_id
        return Call(
            "POST",
            self._path("decode"),
            lambda answer: field_of(answer.json(), "text", str),
            as_bytes(ids),
            BINARY,
            query=query,
        )

    def decode_batch(
        self, lists: Sequence[Ids], skip_special_tokens: bool, unknown_id: str | None
    ) -> Call[list[str]]:
        body = {
            "batch": [numbers_of(ids) for ids in lists],
            "skip_special_tokens": bool(skip_special_tokens),
            "unknown_id": unknown_id,
        }

        def read(answer: Answer) -> list[str]:
            texts = field_of(answer.json(), "texts", list)
            if len(texts) != len(lists) or not all(isinstance(text, str) for text in texts):
                raise BadAnswer(f"these are no texts of {len(lists)} lists of ids")
            return texts

        return post(self._path("decode"), body, read)

    def render(self, asked: Mapping[str, Any]) -> Call[str]:
        return post(
            self._path("chat", "render"),
            asked,
            lambda answer: field_of(answer.json(), "text", str),
        )

    def encode_chat(self, asked: Mapping[str, Any]) -> Call[ServedChat]:
        body = {**asked, "masks": True}
        return post(self._path("chat", "encode"), body, lambda answer: _chat(answer.json()))

    def _path(self, *what: str) -> str:
        return path_of("tokenizers", self.name, *what)

    def _text(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> dict[str, Any]:
        check_text(*((text,) if pair is None else (text, pair)))
        wrong = what_is_wrong_with([text if pair is None else (text, pair)])
        if wrong is not None:
            raise wrong
        return {
            "text": text,
            **({} if pair is None else {"pair": pair}),
            "add_special_tokens": bool(add_special_tokens),
            "special": _policy(special),
        }


_DETAILS: Final = {"tokens": True, "offsets": "characters", "masks": True}


def _check_scalar_values(texts: Sequence[str]) -> None:
    check_text(*texts)
    wrong = what_is_wrong_with(texts)
    if wrong is not None:
        raise wrong


def _policy(special: object) -> str | list[str]:
    if special in ("all", "none", "raise"):
        return str(special)
    if isinstance(special, Set):
        return _names("special", special)
    raise InvalidArgument(
        f"special={special!r} is neither 'all', 'none' nor 'raise', nor a set of names"
    )


def _names(what: str, names: str | Set[Any]) -> str | list[str]:
    if isinstance(names, str):
        return names
    if not isinstance(names, Set) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"{what}= is a word or a set of names, not {names!r:.80}")
    return sorted(names)


def _ids(answer: Answer) -> bytes:
    if answer.type != BINARY or len(answer.content) % ID_BYTES:
        raise BadAnswer(f"expected ids as {BINARY}, not {len(answer.content)} bytes {answer.type}")
    return answer.content


def _batch(answer: Answer, texts: int) -> tuple[bytes, bytes]:
    """The number of texts, the number of ids of each, then all ids."""
    data = _ids(answer)
    head = ID_BYTES * (1 + texts)
    if len(data) < head or _COUNT.unpack_from(data)[0] != texts:
        raise BadAnswer(f"these are not the ids of {texts} texts")
    counts = memoryview(data)[ID_BYTES:head].cast("I")
    bounds = list(accumulate(counts, initial=0))
    if ID_BYTES * bounds[-1] != len(data) - head:
        raise BadAnswer("the numbers of ids do not fit to the ids that came")
    return data[head:], array("I", bounds).tobytes()


def _as_ids(values: list[Any]) -> bytes:
    try:
        return array("I", values).tobytes()
    except (OverflowError, TypeError):
        raise BadAnswer("these are no ids") from None


def _details(found: Mapping[str, Any], text: str | None) -> Details:
    """Of a single text the places in bytes follow from those in characters."""
    offsets = _spans(found, "offsets")
    return Details(
        tokens=field_of(found, "tokens", list),
        offsets=offsets,
        byte_offsets=[] if text is None else _in_bytes(offsets, text),
        type_ids=_numbers(found, "type_ids"),
        special_tokens_mask=_numbers(found, "special_tokens_mask"),
        attention_mask=_numbers(found, "attention_mask"),
    )


def _in_bytes(offsets: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    places = _byte_places(text)
    if not all(0 <= start <= end < len(places) for start, end in offsets):
        raise BadAnswer("an offset lies outside the text")
    return [(places[start], places[end]) for start, end in offsets]


def _byte_places(text: str) -> Sequence[int]:
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((len(one.encode()) for one in text), initial=0))


def _numbers(found: Mapping[str, Any], name: str) -> list[int]:
    values = field_of(found, name, list)
    if not all(type(value) is int for value in values):
        raise BadAnswer(f"the answer has no {name!r} of numbers")
    return values


def _spans(found: Mapping[str, Any], name: str) -> list[tuple[int, int]]:
    try:
        return [(int(start), int(end)) for start, end in field_of(found, name, list)]
    except (OverflowError, TypeError, ValueError):
        raise BadAnswer(f"the answer has no {name!r} of places") from None


def _chat(found: Mapping[str, Any]) -> ServedChat:
    data = _as_ids(field_of(found, "ids", list))
    text = field_of(found, "text", str)
    return ServedChat(
        Encoding(data, SettledText(None), text, None, False),
        text,
        _numbers(found, "assistant_mask"),
        _numbers(found, "template_mask"),
        field_of(found, "defused", int),
    )
