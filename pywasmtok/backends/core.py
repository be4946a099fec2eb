"""The engine in WebAssembly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._ids import as_bytes
from ..encoding import Details, Encoding, EncodingBatch, view
from ..errors import BackendUnavailable, TokenizerError, Unsupported
from ..special import SpecialTokens
from .base import Backend, TextPair, as_pair

if TYPE_CHECKING:
    from .._host import CoreTokenizer
    from .._ids import Ids

__all__ = ["CoreBackend"]


class CoreBackend(Backend):
    name = "core"

    def __init__(self, core: CoreTokenizer) -> None:
        self._core = core
        self._encode_ids = core.encode_ids

    @classmethod
    def load(
        cls, data: bytes, *, build: str | None, source: str | None, options: bytes = b""
    ) -> CoreBackend:
        from .. import _host

        try:
            return cls(_host.load_tokenizer(data, build=build, source=source, options=options))
        except ModuleNotFoundError as error:
            raise BackendUnavailable(
                f"the package {error.name} is not installed",
                source=source,
                hint="Run: pip install wasmtime",
            ) from error

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

    @cached_property
    def _pads_batches(self) -> bool:
        padding = self.info["padding"]
        return bool(padding) and padding["length"] is None

    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        if pair is None:
            data = self._encode_ids(text, add_special_tokens, special_is_text)
        else:
            data = self._core.encode_pair_ids(text, pair, add_special_tokens, special_is_text)
        return Encoding(data, self, text, pair, add_special_tokens, special_is_text)

    def details(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool
    ) -> Details:
        """Encodes once more, with everything."""
        full = self._core.encode_full(text, pair, add_special_tokens, special_is_text)
        return Details(
            tokens=full.tokens,
            offsets=_pairs(full.offsets),
            byte_offsets=_pairs(full.byte_offsets),
            type_ids=view(full.type_ids).tolist(),
            special_tokens_mask=list(full.special_tokens_mask),
            attention_mask=list(full.attention_mask),
        )

    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
    ) -> EncodingBatch:
        if self._pads_batches:
            # Its ids are the core's to give, but not the tokens and offsets of what it padded.
            raise Unsupported(
                "the file pads every text of a batch to the longest", feature="padding:batch"
            )
        singles = [item for item in texts if isinstance(item, str)]
        if len(singles) == len(texts):
            wanted = add_special_tokens, special_is_text
            data, bounds = self._core.encode_batch_ids(singles, *wanted)
            return EncodingBatch(data, bounds, self, singles, *wanted)
        return EncodingBatch.join(
            [self.encode(*as_pair(item), add_special_tokens, special_is_text) for item in texts],
            add_special_tokens,
            special_is_text,
        )

    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        return self._core.decode(as_bytes(ids), skip_special_tokens, unknown)

    def decode_batch(
        self, lists: Sequence[Ids], skip_special_tokens: bool, unknown: str = "skip"
    ) -> list[str]:
        return self._core.decode_batch(_as_bytes_each(lists), skip_special_tokens, unknown)

    def token_to_id(self, token: str) -> int | None:
        return self._core.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        return self._core.id_to_token(token_id)

    def vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return self._core.vocab(with_added_tokens)

    def special_tokens(self) -> SpecialTokens:
        return special_tokens_of(self.info)

    def close(self) -> None:
        self._core.close()


def special_tokens_of(info: dict[str, Any]) -> SpecialTokens:
    special = {token["content"]: token["id"] for token in info["added_tokens"] if token["special"]}
    roles = {role: (token, number) for role, token, number in info["roles"]}
    return SpecialTokens.from_file(special, roles)


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
