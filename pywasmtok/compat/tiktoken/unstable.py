"""`encode_with_unstable`: which ids stay whatever follows a text, and what may stand behind them.

The last piece of a text is unstable: more text may make it longer. A completion is a sequence of
ids whose bytes begin with those of the last piece. Its last id reaches their end or passes it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from ...loading.factory import from_recipe
from ...tokenizer.recipe import Options, Recipe

if TYPE_CHECKING:
    from ...tokenizer.tokenizer import Tokenizer

__all__ = ["Unstable", "pieces_of"]

Pieces = Callable[[str], list[tuple[int, int]]]
"""Start and end of each piece of a text, in characters."""

# What Python takes for white space, and Unicode does not.
_NO_SPACE = frozenset("\x1c\x1d\x1e\x1f")


def pieces_of(cut: Mapping[str, Any]) -> Pieces:
    """By a step of a tokenizer.json: each piece is one unknown token of a model of words."""
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    document = json.dumps({"version": "1.0", "pre_tokenizer": cut, "model": model}).encode()
    options = Options("core", "core", build=None, preload=False, snapshots=False)
    words = from_recipe(Recipe(document, "pieces", options))
    return lambda text: words.encode(text, None, False).offsets


class Unstable:
    def __init__(
        self, tok: Tokenizer, pieces: Pieces, ranks: dict[bytes, int], one_last_space: bool
    ) -> None:
        """`one_last_space`: white space at the end of a text is one piece in any case."""
        self._tok = tok
        self._pieces = pieces
        self._one_last_space = one_last_space
        self._ranks = ranks
        self._sorted = sorted(ranks)
        self._token = {rank: token for token, rank in ranks.items()}

    def complete(self, ids: list[int], text: str) -> tuple[list[int], list[list[int]]]:
        """The stable ones among the ids of a text without special tokens, and the completions."""
        first = self._first_unstable(ids, text)
        end = b"".join(map(self._token.__getitem__, ids[first:]))
        found: set[tuple[int, ...]] = set()
        if end:
            found.update((self._ranks[token],) for token in self._starting_with(end))
        whole, broken = [], []
        for place in range(1, len(end)):
            for token in self._starting_with(end[place:]):
                longer = end[:place] + token
                try:
                    whole.append(longer.decode())
                except UnicodeDecodeError:
                    broken.append(longer)
        made = self._tok.encode_batch(set(whole), False, special="none").ids
        made += map(self._merged, broken)
        found.update(self._up_to(len(end), longer) for longer in made)
        # White space may be cut before its last character, when something else follows.
        before, last = end.decode()[:-1], end.decode()[-1:]
        if before and _is_white(last):
            found.add((*self._merged(before.encode()), *self._merged(last.encode())))
        return ids[:first], list(map(list, sorted(found)))

    def with_bytes(self, ids: list[int], text: str, behind: bytes) -> list[int]:
        """The ids of a text with these bytes behind it, which are no UTF-8. The last piece and the
        bytes are one piece."""
        first = self._first_unstable(ids, text)
        end = b"".join(map(self._token.__getitem__, ids[first:])) + behind
        rank = self._ranks.get(end)
        return ids[:first] + (self._merged(end) if rank is None else [rank])

    def _first_unstable(self, ids: list[int], text: str) -> int:
        """The first id of the last piece. White space before white space is unstable, too: more of
        it may join them."""
        pieces = self._pieces(text)
        start, end = pieces.pop() if pieces else (0, 0)
        while self._one_last_space and pieces and _is_white(text[pieces[-1][0] : end]):
            start, _ = pieces.pop()
        size, first = len(text[start:end].encode()), len(ids)
        while size > 0:
            first -= 1
            size -= len(self._token[ids[first]])
        if first < len(ids) and self._is_blank(ids[first]):
            while first and self._is_blank(ids[first - 1]):
                first -= 1
        return first

    def _is_blank(self, token: int) -> bool:
        return not self._token[token].strip(b" \n\t")

    def _starting_with(self, start: bytes) -> Iterator[bytes]:
        place = bisect_left(self._sorted, start)
        while place < len(self._sorted) and self._sorted[place].startswith(start):
            yield self._sorted[place]
            place += 1

    def _up_to(self, size: int, ids: list[int]) -> tuple[int, ...]:
        """The first of the ids that have so many bytes together."""
        for count, token in enumerate(ids, 1):
            size -= len(self._token[token])
            if size <= 0:
                return tuple(ids[:count])
        return tuple(ids)

    def _merged(self, piece: bytes) -> list[int]:
        """A piece that is not UTF-8, or must not be cut: the core takes neither. The pair of the
        lowest rank is merged, the first of them, until there is none."""
        rank_of, size = self._ranks.get, len(piece)
        # Each part stands where its first byte is; its neighbours by the same places.
        parts = [piece[n : n + 1] for n in range(size)]
        before, behind = list(range(-1, size)), list(range(1, size + 2))
        pairs = [
            (rank, n) for n in range(size - 1) if (rank := rank_of(piece[n : n + 2])) is not None
        ]
        heapify(pairs)
        while pairs:
            rank, left = heappop(pairs)
            right = behind[left]
            # One of both may be a part of another by now.
            if not parts[left] or right >= size or rank_of(parts[left] + parts[right]) != rank:
                continue
            parts[left] += parts[right]
            parts[right] = b""
            behind[left] = behind[right]
            before[behind[left]] = left
            for place in (before[left], left):
                if place >= 0 and behind[place] < size:
                    rank = rank_of(parts[place] + parts[behind[place]])
                    if rank is not None:
                        heappush(pairs, (rank, place))
        return [self._ranks[part] for part in parts if part]


def _is_white(text: str) -> bool:
    return text.isspace() and _NO_SPACE.isdisjoint(text)
