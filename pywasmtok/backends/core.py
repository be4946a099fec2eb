"""The engine in WebAssembly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BackendUnavailable, TokenizerError, Unsupported
from ..tokenizer.arguments import Segment, TextPair, as_pair
from ..tokenizer.encoding import AnyDetails, DetailSource, Encoding, EncodingBatch, view
from ..tokenizer.fitting import Truncated, no_room
from ..tokenizer.ids import as_bytes
from ..tokenizer.special.policy import (
    AddedName,
    Special,
    control_ids,
    is_flag,
    policy_of,
    segments_document,
)
from ..tokenizer.special.tokens import SpecialTokens
from .base import Backend, Quick

if TYPE_CHECKING:
    from .._host import CoreTokenizer, Snapshots
    from .._host.calls.full_encoding import FullEncoding
    from ..loading.sources.lazy import LazyFile
    from ..tokenizer.ids import Ids
    from ..tokenizer.limits import Limits

__all__ = ["CoreBackend"]

# Of a long text, so many times the part that was too short is looked at next.
_GROWTH = 4

# Characters of texts whose ids are made to be counted.
_COUNTED_TOGETHER = 1 << 18

# Ids whose tokens are remembered.
_NAMES_KEPT = 1 << 14


class CoreBackend(Backend):
    name = "core"

    def __init__(self, core: CoreTokenizer) -> None:
        self._core = core

    @classmethod
    def load(
        cls,
        data: bytes | LazyFile,
        *,
        build: str | None,
        source: str | None,
        options: bytes = b"",
        threads: int | None = None,
        snapshots: Snapshots = None,
        limits: Limits | None = None,
    ) -> CoreBackend:
        from .. import _host

        try:
            core = _host.load_tokenizer(
                data,
                build=build,
                source=source,
                options=options,
                threads=threads,
                snapshots=snapshots,
                deadline=None if limits is None else limits.deadline,
                memory=None if limits is None else limits.memory,
            )
        except ModuleNotFoundError as error:
            raise BackendUnavailable(
                f"the package {error.name} is not installed",
                source=source,
                hint="Run: pip install wasmtime",
            ) from error
        return cls(core)

    def limited(self, deadline: float | None, memory: int | None) -> CoreBackend:
        """The same file with bounds on each call; it is closed with this one."""
        return CoreBackend(self._core.limited(deadline, memory))

    @property
    def quick(self) -> Quick:
        # The flags of the ABI are the same numbers.
        return Quick(self._core.short_characters, self._core.short_ids, self)

    @property
    def build(self) -> str:
        return self._core.build

    @property
    def core(self) -> CoreTokenizer:
        return self._core

    @cached_property
    def info(self) -> dict[str, Any]:
        """What the core says of the file; see docs/abi.md."""
        return self._core.info()

    @property
    def format(self) -> str:
        """The kind of file, such as `gguf`."""
        return str(self._core.about.get("format") or self.info["format"])

    @cached_property
    def _pads_batches(self) -> bool:
        padding = self.info["padding"]
        return bool(padding) and padding["length"] is None

    def _require_no_padding(self) -> None:
        if self._pads_batches:
            # Its ids are the core's to give, but not the tokens and offsets of what it padded.
            raise Unsupported(
                "the file pads every text of a batch to the longest", feature="padding:batch"
            )

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        if pair is None:
            data = self._core.encode_ids(text, add_special_tokens, special_is_text)
        else:
            data = self._core.encode_pair_ids(text, pair, add_special_tokens, special_is_text)
        return Encoding(data, self, text, pair, add_special_tokens, special_is_text)

    def encode_with(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special_is_text: bool,
        threads: int,
    ) -> Encoding:
        wanted = add_special_tokens, special_is_text
        if pair is not None:
            return self.encode(text, pair, *wanted)
        data = self._core.encode_ids_with(threads, text, *wanted)
        return Encoding(data, self, text, pair, *wanted)

    @cached_property
    def never_pads(self) -> bool:
        """Whether every id is of the text, or of the post-processor."""
        return self.info["padding"] is None

    def plain_ends(self) -> tuple[int, int] | None:
        """How many tokens the post-processor puts before and behind a single text, where it does
        nothing else. None: the masks are in the details alone."""
        return None if self._sample is None else self._sample.ends

    def plain_type_ids(self, size: int, add_special_tokens: bool) -> list[int]:
        """The type ids of a single text with so many ids, where there are `plain_ends`."""
        assert self._sample is not None
        (before, behind), types = self._sample
        of_text = types[before : before + 1]
        if not add_special_tokens:
            return of_text * size
        return types[:before] + of_text * (size - before - behind) + types[len(types) - behind :]

    @cached_property
    def _sample(self) -> _Sample | None:
        frame = self.info["frame"]
        if frame is None or not self.never_pads or self.info["truncation"]:
            return None
        before, behind = len(frame["prefix"]), len(frame["suffix"])
        try:
            found = self.details("a", None, True, False)
        except Unsupported:
            # The model has no token for this text.
            return None
        types, size = found.type_ids, len(found.type_ids) - before - behind
        mask = [1] * before + [0] * size + [1] * behind
        # Chains of post-processors mark some of their tokens as tokens of the text.
        if size <= 0 or len({*types[before : before + size]}) > 1:
            return None
        return _Sample((before, behind), types) if found.special_tokens_mask == mask else None

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> AnyDetails:
        """Encodes once more, with everything."""
        return _Details(self._core.encode_full(text, pair, add_special_tokens, special_is_text))

    def detail_parts(
        self, text: str, add_special_tokens: bool, special_is_text: bool
    ) -> Iterator[AnyDetails]:
        wanted = add_special_tokens, special_is_text
        return map(_Details, self._core.encode_full_parts(text, None, *wanted))

    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> EncodingBatch:
        from .._utf8_texts import Utf8Texts

        self._require_no_padding()
        singles: Sequence[str] = (
            texts
            if isinstance(texts, Utf8Texts)
            else [item for item in texts if isinstance(item, str)]
        )
        if len(singles) == len(texts):
            wanted = add_special_tokens, special_is_text
            data, bounds = self._core.encode_batch_ids(singles, *wanted, threads)
            return EncodingBatch(data, bounds, self, singles, *wanted)
        return EncodingBatch.join(
            [self.encode(*as_pair(item), add_special_tokens, special_is_text) for item in texts],
            add_special_tokens,
            special_is_text,
        )

    def encode_guarded(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Encoding:
        policy = policy_of(special, self.added_names)
        texts = [text] if pair is None else [text, pair]
        source = _Guarded(self, texts, policy.document(is_pair=pair is not None))
        return Encoding(source.ids(add_special_tokens), source, text, pair, add_special_tokens)

    def encode_batch_guarded(
        self, texts: Sequence[str | TextPair], add_special_tokens: bool, special: Special
    ) -> EncodingBatch:
        policy = policy_of(special, self.added_names)
        self._require_no_padding()
        singles = [item for item in texts if isinstance(item, str)]
        if len(singles) != len(texts):
            return super().encode_batch_guarded(texts, add_special_tokens, special)
        document = policy.document()
        data, bounds = self._core.encode_with(singles, document, add_special_tokens, is_batch=True)
        sources: list[DetailSource] = [_Guarded(self, [text], document) for text in singles]
        return EncodingBatch(data, bounds, sources, singles, add_special_tokens)

    def encode_segments(
        self, segments: Sequence[Segment], add_special_tokens: bool, control: str | Set[str]
    ) -> Encoding:
        is_all = isinstance(control, str) and control == "added"
        also = self._all_control if is_all else control_ids(control, self.added_names)
        texts = [text for text, _ in segments]
        source = _Guarded(self, texts, segments_document(segments, also))
        data = source.ids(add_special_tokens)
        return Encoding(data, source, "".join(texts), None, add_special_tokens)

    @cached_property
    def _all_control(self) -> tuple[int, ...]:
        return control_ids("added", self.added_names)

    @cached_property
    def _added_names(self) -> dict[str, AddedName]:
        tokens = self.info["added_tokens"]
        return {token["content"]: AddedName(token["id"], token["special"]) for token in tokens}

    def added_names(self) -> dict[str, AddedName]:
        return self._added_names

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        special_is_text: bool = False,
        limit: int | None = None,
    ) -> int:
        wanted = add_special_tokens, special_is_text
        if limit is None:
            return self._core.count(text, *wanted)
        # Neither the UTF-8 of the whole text nor a copy of it is made as long as a part will do.
        size = _first_part(limit)
        while size < len(text):
            found = self._core.count(text[:size], *wanted, limit, more_text=True)
            if found > limit:
                return found
            size *= _GROWTH
        return self._core.count(text, *wanted, limit)

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool, special: Special
    ) -> list[int]:
        together = is_flag(special) and not self._pads_batches
        if not together or sum(map(len, texts)) > _COUNTED_TOGETHER:
            return super().count_batch(texts, add_special_tokens, special)
        _, bounds = self._core.encode_batch_ids(texts, add_special_tokens, special == "none", None)
        return [end - start for start, end in pairwise(view(bounds).tolist())]

    def truncate(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special_is_text: bool = False,
        *,
        keep_end: bool = False,
    ) -> Truncated:
        from .._host.wasm import abi

        size = _first_part(limit)
        while True:
            more = size < len(text)
            part = text
            if more:
                part = text[len(text) - size :] if keep_end else text[:size]
            kept_text, kept = self._core.truncate(
                part,
                limit,
                add_special_tokens,
                special_is_text,
                keep_end=keep_end,
                more_text=more,
            )
            if kept.outcome == abi.TRUNCATE_NO_ROOM:
                raise no_room(limit, kept.of_empty)
            if kept.outcome != abi.TRUNCATE_NEEDS_MORE:
                break
            size *= _GROWTH
        encoding = Encoding(kept.ids, self, kept_text, None, add_special_tokens, special_is_text)
        return Truncated(
            kept_text,
            encoding,
            truncated=kept.outcome != abi.TRUNCATE_WHOLE,
            exact=kept.outcome != abi.TRUNCATE_INEXACT,
        )

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        return self._core.decode(as_bytes(ids), skip_special_tokens, unknown)

    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]:
        each = _as_bytes_each(lists)
        return self._core.decode_batch(each, skip_special_tokens, unknown, threads)

    def token_to_id(self, token: str) -> int | None:
        return self._core.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        return (
            self._name_of(token_id) if type(token_id) is int else self._core.id_to_token(token_id)
        )

    @cached_property
    def _name_of(self) -> Callable[[int], str | None]:
        """A call of the core takes twenty times as long as what is remembered."""
        return lru_cache(maxsize=_NAMES_KEPT)(self._core.id_to_token)

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return self._core.vocab(with_added_tokens)

    def vocab_size(self, with_added_tokens: bool) -> int:
        size = len(self.vocab(with_added_tokens))
        if self.info["model"] != "Unigram":
            return size
        # A piece that is listed twice has two ids, and `tokenizers` counts both.
        once = len(self.vocab(False)) if with_added_tokens else size
        return size - once + int(self.info["vocab_size"])

    def special_tokens(self) -> SpecialTokens:
        return special_tokens_of(self.info)

    def close(self) -> None:
        self._core.close()


class _Sample(NamedTuple):
    """What the post-processor does to one text."""

    ends: tuple[int, int]
    type_ids: list[int]


class _Guarded(NamedTuple):
    """The source of an encoding under a policy: texts that make one encoding together."""

    backend: CoreBackend
    texts: list[str]
    document: bytes

    @property
    def name(self) -> str:
        return CoreBackend.name

    @property
    def never_pads(self) -> bool:
        return self.backend.never_pads

    def ids(self, add_special_tokens: bool) -> bytes:
        return self.backend.core.encode_with(self.texts, self.document, add_special_tokens)[0]

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> AnyDetails:
        full = self.backend.core.encode_with_full(self.texts, self.document, add_special_tokens)
        return _Details(full)


class _Details:
    """Lists that are made when they are asked for: those of a long text take much memory."""

    def __init__(self, full: FullEncoding) -> None:
        self._full = full

    @cached_property
    def tokens(self) -> list[str]:
        return self._full.tokens()

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        return _pairs(self._full.offsets)

    @cached_property
    def byte_offsets(self) -> list[tuple[int, int]]:
        return _pairs(self._full.byte_offsets)

    @cached_property
    def type_ids(self) -> list[int]:
        return view(self._full.type_ids).tolist()

    @cached_property
    def special_tokens_mask(self) -> list[int]:
        return list(self._full.special_tokens_mask)

    @cached_property
    def attention_mask(self) -> list[int]:
        return list(self._full.attention_mask)


def special_tokens_of(info: dict[str, Any]) -> SpecialTokens:
    special = {token["content"]: token["id"] for token in info["added_tokens"] if token["special"]}
    roles = {role: (token, number) for role, token, number in info["roles"]}
    return SpecialTokens.from_file(special, roles, info["ends"])


def _first_part(limit: int) -> int:
    """Characters that are likely to have more ids than this."""
    return 6 * limit + 256


def _pairs(data: bytes) -> list[tuple[int, int]]:
    numbers = iter(view(data).tolist())
    return list(zip(numbers, numbers, strict=True))


def _as_bytes_each(lists: Sequence[Ids]) -> list[bytes]:
    made: list[bytes] = []
    for place, ids in enumerate(lists):
        try:
            made.append(as_bytes(ids))
        except TokenizerError as error:
            error.message = f"list {place}: {error.message}"
            raise
    return made
