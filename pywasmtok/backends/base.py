"""The contract of a backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..errors import SpecialTokenInText, TokenizerError, Unsupported
from ..tokenizer.arguments import Segment, TextPair, as_pair, is_pair
from ..tokenizer.encoding import DetailSource, Encoding, EncodingBatch
from ..tokenizer.fitting import Truncated, truncate_by_encoding
from ..tokenizer.ids import as_bytes
from ..tokenizer.special.policy import is_flag, policy_of

if TYPE_CHECKING:
    from ..tokenizer.ids import Ids
    from ..tokenizer.limits import Limits
    from ..tokenizer.recipe import BackendInfo
    from ..tokenizer.special.policy import AddedName, Special
    from ..tokenizer.special.tokens import SpecialTokens
    from .core import CoreBackend
    from .streaming import Streaming

__all__ = ["Backend", "Complete", "Quick"]


class Quick(NamedTuple):
    """The ids of a short text in one call."""

    most: int
    """Characters that a short text has, at most."""
    ids: Callable[[bytes, int], bytes]
    """Of UTF-8, with the flags of `tokenizer.special.policy`."""
    source: DetailSource
    """What knows the details of an encoding with these ids."""


class Backend(ABC):
    """Encodes and decodes for one tokenizer file. Thread-safe; every error is a TokenizerError."""

    name: ClassVar[str]

    @property
    def quick(self) -> Quick | None:
        """`encode` for a short text, where there is a way with fewer steps."""
        return None

    def encode_instead(
        self, error: TokenizerError, text: str, add_special_tokens: bool, special_is_text: bool
    ) -> Encoding:
        """The answer where `quick` raised this; raises it again if there is none."""
        raise error

    @abstractmethod
    def encode(
        self, text: str, pair: str | None, add_special_tokens: bool, special_is_text: bool = False
    ) -> Encoding:
        """`special_is_text`: the names of special tokens are text like any other."""

    def encode_with(
        self,
        text: str,
        pair: str | None,
        add_special_tokens: bool,
        special_is_text: bool,
        threads: int,
    ) -> Encoding:
        """With so many threads at most, for backends that it makes a difference to."""
        return self.encode(text, pair, add_special_tokens, special_is_text)

    @abstractmethod
    def encode_batch(
        self,
        texts: Sequence[str | TextPair],
        add_special_tokens: bool,
        special_is_text: bool = False,
        threads: int | None = None,
    ) -> EncodingBatch: ...

    def encode_guarded(
        self, text: str, pair: str | None, add_special_tokens: bool, special: Special
    ) -> Encoding:
        """With a `special` that is no flag: `raise`, or some names."""
        policy = policy_of(special, self.added_names)
        raise self._unguarded(f"special:{policy.special}")

    def encode_batch_guarded(
        self, texts: Sequence[str | TextPair], add_special_tokens: bool, special: Special
    ) -> EncodingBatch:
        policy_of(special, self.added_names)
        made = []
        for place, item in enumerate(texts):
            try:
                one = self.encode_guarded(*as_pair(item), add_special_tokens, special)
            except TokenizerError as error:
                inside = (error.path or "").removeprefix("texts") if is_pair(item) else ""
                error.path = f"texts[{place}]{inside}"
                raise
            made.append(one)
        return EncodingBatch.join(made, add_special_tokens)

    def count_guarded(self, text: str, add_special_tokens: bool, special: Special) -> int:
        return len(self.encode_guarded(text, None, add_special_tokens, special))

    def encode_segments(
        self, segments: Sequence[Segment], add_special_tokens: bool, control: str | Set[str]
    ) -> Encoding:
        """One text of trusted and untrusted parts; `control` says which tokens count as special."""
        raise self._unguarded("special:segments")

    def _unguarded(self, feature: str) -> Unsupported:
        return Unsupported(
            f"{self.name} cannot keep special tokens out of a part of a text exactly",
            feature=feature,
            hint='special="none" takes the whole text as text',
        )

    @abstractmethod
    def added_names(self) -> Mapping[str, AddedName]:
        """The added tokens."""

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        special_is_text: bool = False,
        limit: int | None = None,
    ) -> int:
        """How many ids the text has. With a limit, the first number above it will do."""
        return len(self.encode(text, None, add_special_tokens, special_is_text))

    def count_batch(
        self, texts: Sequence[str], add_special_tokens: bool, special: Special
    ) -> list[int]:
        found = []
        for place, text in enumerate(texts):
            try:
                if is_flag(special):
                    found.append(self.count(text, add_special_tokens, special == "none"))
                else:
                    found.append(self.count_guarded(text, add_special_tokens, special))
            except SpecialTokenInText as error:
                error.path = f"texts[{place}]"
                raise
        return found

    def truncate(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special_is_text: bool = False,
        *,
        keep_end: bool = False,
    ) -> Truncated:
        """The longest beginning, or end, of the text that has no more ids than `limit`."""

        def encode(text: str, *, add_special_tokens: bool) -> Encoding:
            return self.encode(text, None, add_special_tokens, special_is_text)

        return truncate_by_encoding(
            encode, text, limit, add_special_tokens=add_special_tokens, keep_end=keep_end
        )

    def truncate_guarded(
        self,
        text: str,
        limit: int,
        add_special_tokens: bool,
        special: Special,
        *,
        keep_end: bool = False,
    ) -> Truncated:
        """`truncate` with a `special` that is no flag."""

        def encode(text: str, *, add_special_tokens: bool) -> Encoding:
            return self.encode_guarded(text, None, add_special_tokens, special)

        return truncate_by_encoding(
            encode, text, limit, add_special_tokens=add_special_tokens, keep_end=keep_end
        )

    @abstractmethod
    def decode(self, ids: Ids, skip_special_tokens: bool, unknown: str = "skip") -> str:
        """`unknown`: what becomes of an id that there is not, `skip`, `error` or `replace`."""

    @abstractmethod
    def decode_batch(
        self,
        lists: Sequence[Ids],
        skip_special_tokens: bool,
        unknown: str = "skip",
        threads: int | None = None,
    ) -> list[str]: ...

    @abstractmethod
    def token_to_id(self, token: str) -> int | None: ...

    @abstractmethod
    def id_to_token(self, token_id: int) -> str | None: ...

    @abstractmethod
    def vocab(self, with_added_tokens: bool) -> dict[str, int]: ...

    def vocab_size(self, with_added_tokens: bool) -> int:
        return len(self.vocab(with_added_tokens))

    @abstractmethod
    def special_tokens(self) -> SpecialTokens: ...

    @abstractmethod
    def close(self) -> None: ...

    # What bounds on calls change (`limited.py`).

    def listed(self, items: Iterable[Any]) -> list[Any]:
        """The items of a call."""
        return list(items)

    def ids_given(self, ids: Ids) -> bytes:
        """The ids of a call, as bytes."""
        return as_bytes(ids)

    def as_one(self) -> AbstractContextManager[None]:
        """Around several calls that are one for the caller: they have one deadline."""
        return nullcontext()

    def encode_within_bounds(self, text: str, encode: Callable[[], Encoding]) -> Encoding:
        """What `encode` answers for a text, within the bounds of a call of `encode`."""
        return encode()


class Complete(Backend):
    """A backend with all that a `Tokenizer` needs: two backends together, or a server."""

    @abstractmethod
    def info(self, build: str | None) -> BackendInfo: ...

    @abstractmethod
    def streaming(self, build: str | None, source: str) -> Streaming:
        """What decodes step by step."""

    @abstractmethod
    def for_limits(self, limits: Limits) -> Complete:
        """What keeps these bounds: this one, or one that shares what it has in memory."""

    def bounded(self, limits: Limits) -> Backend:
        """This one with the bounds that are checked outside of it."""
        return self

    @property
    def chats(self) -> Any:
        """What renders and encodes conversations, where that is not done in this process."""
        return None

    @property
    def core(self) -> CoreBackend | None:
        """The core, where it encodes."""
        return None

    @property
    def refused(self) -> dict[str, int]:
        """How many calls went to a fallback, by reason."""
        return {}

    @property
    def closed(self) -> bool:
        """Whether it was closed by something other than its tokenizer."""
        return False

    def format_of(self, stated: str) -> str:
        """The format of the file."""
        return stated

    def require_file(self, what: str, feature: str) -> None:
        """Raises where the file is not in this process."""

    def reduced(self) -> tuple[Any, ...] | None:
        """What a copy is made of, if not of a recipe."""
        return None

    def described(self, source: str, closed: bool) -> str:
        info = self.info(None)
        return f"<Tokenizer {source} ({'closed' if closed else f'{info.encoder}/{info.decoder}'})>"
