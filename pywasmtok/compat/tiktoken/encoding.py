"""tiktoken's class `Encoding` over a `Tokenizer`.

The core encodes, and decodes long lists. Short lists and single tokens are decoded by a table of
the bytes of tokens, as a call of the core takes longer. It is made of the rank file on first use.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, Final, Literal

from ..._locks import ForkSafeLock
from ...errors import InvalidText, LoadError, TokenizerError
from ...loading.conversion import convert
from ...loading.factory import from_recipe, from_source
from ...loading.sources import Request
from ...loading.sources.hub import is_offline
from ...loading.sources.ranks.encodings import ENCODINGS, read_encoding
from ...tokenizer.ids import MAX_ID
from ...tokenizer.recipe import Options, Recipe
from .unstable import Unstable, pieces_of

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from ...tokenizer.encoding import Encoding as Encoded
    from ...tokenizer.tokenizer import Tokenizer

    Allowed = Literal["all"] | Set[str]
    Disallowed = Literal["all"] | Collection[str]

__all__ = ["Encoding", "get_encoding"]

_CORE: Final = Options("core", "core", build=None, preload=False)

# Ids of a list that the table decodes faster than the core.
_MOST_BY_TABLE: Final = 256

_MOST_THREADS: Final = 1024

_NONE: Final[frozenset[str]] = frozenset()


class Encoding:
    """What `get_encoding` returns. It may also be made of its ranks, pattern and special tokens."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """`explicit_n_vocab` is checked: so many tokens there are, with ids below it."""
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self._pat_str = pat_str
        self.name = name
        # Raises for what are no dicts of numbers.
        highest = self.max_token_value
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert highest == explicit_n_vocab - 1
        for one in (pat_str, *special_tokens):
            if not isinstance(one, str):
                raise TypeError(f"{type(one).__name__!r} object is not an instance of 'str'")
        lines = sorted((_as_id(rank), token) for token, rank in mergeable_ranks.items())
        data = b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in lines)
        special = {token: _as_id(number) for token, number in special_tokens.items()}
        load = json.dumps({"pattern": pat_str, "special_tokens": special}).encode()
        try:
            self._tok = from_recipe(Recipe(data, name, _CORE, load))
        except LoadError as error:
            # The caller has no file: the arguments are at fault.
            raise ValueError(str(error)) from error

    @classmethod
    def published(cls, name: str) -> Encoding:
        """One of tiktoken's own, always the same object of this class.

        Its pattern and its ranks are read when they are needed.
        """
        found = _made.get((cls, name))
        if found is not None:
            return found
        with _making:
            if (cls, name) not in _made:
                _made[cls, name] = cls._read(name)
            return _made[cls, name]

    @classmethod
    def _read(cls, name: str) -> Encoding:
        request = Request()
        made = cls.__new__(cls)
        made.name = name
        source = read_encoding(name, offline=is_offline(request))
        made._tok = tok = from_source(source, request, _CORE)
        made._special_tokens = {token: added.id for token, added in tok.added_tokens.items()}
        return made

    _tok: Tokenizer
    _special_tokens: dict[str, int]

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which no name of a special token counts."""
        return self._encode(text, "none").ids

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[int]:
        """The ids of a text. Names of `allowed_special` become special tokens. Those of
        `disallowed_special`, by default all others, raise `ValueError`. What is in neither is text.
        """
        return self._encode(text, self._checked(text, allowed_special, disallowed_special)).ids

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> NDArray[numpy.uint32]:
        """The same as a read-only array. Lone surrogates raise `UnicodeEncodeError`."""
        special = self._checked(text, allowed_special, disallowed_special)
        return self._encode_strict(text, special).numpy()

    def encode_ordinary_batch(
        self, text: Iterable[str], *, num_threads: int = 8
    ) -> list[list[int]]:
        """`encode_ordinary` of each text, with so many threads at most."""
        return self._encode_batch(list(text), "none", num_threads)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """`encode` of each text, with so many threads at most."""
        texts = list(text)
        # `None` is refused here, and by `encode` it is not.
        iter(disallowed_special)
        special = self._checked("", allowed_special, disallowed_special)
        for one in texts:
            self._checked(one, allowed_special, disallowed_special)
        return self._encode_batch(texts, special, num_threads)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NONE,
        disallowed_special: Disallowed = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that stay whatever follows the text, and the sequences that may stand behind them
        so that the whole begins with the text."""
        special = self._checked(text, allowed_special, disallowed_special)
        encoded = self._encode_strict(text, special)
        ids = encoded.ids
        after = next((n for n in range(len(ids), 0, -1) if self.is_special_token(ids[n - 1])), 0)
        tail = text[encoded.offsets[after - 1][1] :] if after else text
        stable, completions = self._unstable.complete(ids[after:], tail)
        return ids[:after] + stable, completions

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that need not be UTF-8. Private in tiktoken, too; programs use it."""
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            start, behind = text[: error.start].decode(), text[error.start :]
        return self._unstable.with_bytes(self.encode_ordinary(start), start, behind)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special or not; `KeyError` if there is none."""
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(token, bytes):
            raise TypeError(f"{type(token).__name__!r} object is not an instance of 'bytes'")
        rank = self._mergeable_ranks.get(token)
        if rank is not None:
            return rank
        try:
            return self._special_tokens[token.decode()]
        except (KeyError, UnicodeDecodeError):
            raise KeyError(token) from None

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids, special tokens included; `KeyError` for an id that there is not."""
        if type(tokens) in {list, tuple}:
            if len(tokens) > _MOST_BY_TABLE:
                # The exceptions of tiktoken are those of the table.
                with suppress(TokenizerError):
                    return self._tok.decode_bytes(tokens, False)
            try:
                found = b"".join(map(self._bytes_of, tokens))
                # A float finds the bytes of the integer that it equals.
                if type(sum(tokens)) is int:
                    return found
            except (KeyError, TypeError):
                # What is at fault is found below.
                pass
        elif isinstance(tokens, str | dict) or not hasattr(tokens, "__getitem__"):
            raise TypeError(f"{type(tokens).__name__!r} object is not an instance of 'Sequence'")
        ids = list(map(index, tokens))
        try:
            return b"".join(map(self._bytes_of, ids))
        except KeyError as error:
            unknown = error.args[0]
        for token in ids:
            _as_id(token)
        raise KeyError(f"Invalid token for decoding: {unknown}")

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. `errors` says what becomes of bytes that are no UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token, special or not; `KeyError` if there is none."""
        try:
            return self._bytes_of(index(token))
        except KeyError:
            unknown = _as_id(token)
        raise KeyError(str(unknown))

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text, and the character at which each token begins. A token that begins inside a
        character has the place of that character."""
        parts = self.decode_tokens_bytes(tokens)
        offsets, characters = [], 0
        for part in parts:
            begun = sum(byte & 0xC0 != 0x80 for byte in part)
            is_inside = part[0] & 0xC0 == 0x80
            offsets.append(max(0, characters - is_inside))
            characters += begun
        return b"".join(parts).decode(), offsets

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` of each list. It runs in this thread."""
        _as_threads(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(
        self, batch: Iterable[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """`decode_bytes` of each list. It runs in this thread."""
        _as_threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted."""
        return self._sorted[:]

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        assert isinstance(token, int)
        return token in self._special_token_values

    @cached_property
    def max_token_value(self) -> int:
        return max([*self._mergeable_ranks.values(), *self._special_tokens.values()])

    @property
    def n_vocab(self) -> int:
        return self.max_token_value + 1

    def __reduce__(self) -> tuple[Any, ...]:
        if self is _made.get((type(self), self.name)):
            return type(self).published, (self.name,)
        given = {"pat_str": self._pat_str, "mergeable_ranks": self._mergeable_ranks}
        given["special_tokens"] = self._special_tokens
        return _again, (type(self), {"name": self.name, **given})

    # What users of tiktoken read to make an encoding out of another one.

    @cached_property
    def _pat_str(self) -> str:
        return str(self._cut["pattern"]["Regex"])

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        words = self._tok.made_of[0].split()
        return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))

    @cached_property
    def _cut(self) -> dict[str, Any]:
        """How text is cut into pieces, as a step of a tokenizer.json."""
        data, load = self._tok.made_of
        # A tokenizer.json cannot say that a special token has the name of another token.
        without_special = json.dumps({**json.loads(load or b"{}"), "special_tokens": {}}).encode()
        document = json.loads(convert(data, without_special, self.name).document)
        return dict(document["pre_tokenizer"]["pretokenizers"][0])

    @cached_property
    def _unstable(self) -> Unstable:
        # For such a pattern the core may cut the white space at the end of a text, with equal ids.
        is_one = self.name == "cl100k_base" or r"\s++$" in self._pat_str
        return Unstable(self._tok, pieces_of(self._cut), self._mergeable_ranks, is_one)

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @cached_property
    def _bytes_of(self) -> Callable[[int], bytes]:
        table = {rank: token for token, rank in self._mergeable_ranks.items()}
        table |= {number: token.encode() for token, number in self._special_tokens.items()}
        return table.__getitem__

    @cached_property
    def _any_special(self) -> re.Pattern[str] | None:
        return _any_of(frozenset(self._special_tokens)) if self._special_tokens else None

    def _checked(self, text: str, allowed: Allowed, disallowed: Disallowed) -> str | Set[str]:
        """The names that become tokens, as `Tokenizer.encode` takes them. Raises for a disallowed
        name in the text."""
        if not allowed and disallowed == "all":
            # The usual call.
            unwanted = self._any_special
        else:
            if allowed == "all":
                allowed = self.special_tokens_set
            if disallowed == "all":
                disallowed = self.special_tokens_set - allowed
            unwanted = _any_of(frozenset(disallowed)) if disallowed else None
        match = unwanted and unwanted.search(text)
        if match:
            raise ValueError(_DISALLOWED.format(repr(match[0])))
        if not isinstance(allowed, Set):
            raise TypeError(f"{type(allowed).__name__!r} object is not an instance of 'set'")
        if allowed is self.special_tokens_set:
            return "all"
        return (allowed and self.special_tokens_set & allowed) or "none"

    def _encode(self, text: str, special: str | Set[str]) -> Encoded:
        try:
            return self._encode_strict(text, special)
        except UnicodeEncodeError:
            return self._encode_strict(_whole(text), special)

    def _encode_strict(self, text: str, special: str | Set[str]) -> Encoded:
        if not isinstance(text, str):
            raise TypeError(f"{type(text).__name__!r} object is not an instance of 'str'")
        if not isinstance(special, str) and not any(name in text for name in special):
            # The quick way to the same ids.
            special = "none"
        try:
            return self._tok.encode(text, None, False, special=special)
        except InvalidText:
            text.encode()
            raise

    def _encode_batch(
        self, texts: list[str], special: str | Set[str], threads: int
    ) -> list[list[int]]:
        for one in texts:
            if not isinstance(one, str):
                raise TypeError(f"{type(one).__name__!r} object is not an instance of 'str'")
        how: Mapping[str, Any] = {"special": special, "threads": _as_threads(threads)}
        try:
            return self._tok.encode_batch(texts, False, **how).ids
        except InvalidText:
            return self._tok.encode_batch(map(_whole, texts), False, **how).ids


_DISALLOWED: Final = (
    "Encountered text corresponding to disallowed special token {0}.\n"
    "If you want this text to be encoded as a special token, "
    "pass it to `allowed_special`, e.g. `allowed_special={{{0}, ...}}`.\n"
    "If you want this text to be encoded as normal text, disable the check for this token "
    "by passing `disallowed_special=(enc.special_tokens_set - {{{0}}})`.\n"
    "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
)


@lru_cache(maxsize=128)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    # Of two names that begin alike the longer one is found, as in the core.
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def _whole(text: str) -> str:
    """The text with lone surrogates replaced, and pairs of them joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _as_id(token: Any) -> int:
    """Raises for what cannot be an id."""
    number = int(index(token))
    if not 0 <= number <= MAX_ID:
        raise OverflowError("out of range integral type conversion attempted")
    return number


def _as_threads(given: Any) -> int | None:
    """What a pool of Python's takes as the number of its threads."""
    if given is None:
        return None
    if given <= 0:
        raise ValueError("max_workers must be greater than 0")
    return max(1, int(given)) if given < _MOST_THREADS else _MOST_THREADS


def _again(kind: type[Encoding], given: dict[str, Any]) -> Encoding:
    return kind(**given)


_made: Final[dict[tuple[type[Encoding], str], Encoding]] = {}
_making: Final = ForkSafeLock()


def get_encoding(encoding_name: str) -> Encoding:
    """One of tiktoken's encodings, always the same object; `ValueError` for other names."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    if encoding_name not in ENCODINGS:
        known = ", ".join(ENCODINGS)
        raise ValueError(f"Unknown encoding {encoding_name}.\nEncodings of pywasmtok: {known}")
    return Encoding.published(encoding_name)
