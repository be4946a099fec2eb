"""The search: each text is encoded by both, and what differs is shrunk and put to its cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

from ..errors import BackendFailure, InvalidArgument, Unsupported
from .candidates import Candidates, pieces_of
from .causes import Causes
from .definition import Definition
from .shrink import shrink
from .sides import Outcome, Side, open_side

__all__ = ["BY", "Difference", "Example", "Group", "diff"]

BY = ("ids", "pieces")

# Of each cause: examples that are kept, and texts that are shrunk. Further ones are counted.
_KEPT = 3
_SHRUNK = 200
# Two refusals of a text count as equal: each library has its own words for them.
_REFUSALS = {Unsupported.kind, BackendFailure.kind}
_PIECES, _IDS, _POST, _DECODE = "pieces", "token ids", "post-processing", "decode"


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    a: Mapping[str, Any]
    b: Mapping[str, Any]


@dataclass(slots=True)
class Group:
    cause: str
    texts: int = 0
    """Texts of the search that show it."""
    examples: list[Example] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    a: str
    b: str
    by: str
    seed: int
    texts: int
    """How many were tried."""
    rules: Mapping[str, int | bool] | None
    """How many rules differ, by kind; None: a definition cannot be had."""
    groups: Sequence[Group]

    @property
    def same(self) -> bool:
        return not self.groups

    def as_dict(self) -> dict[str, Any]:
        """All of it in types that JSON has."""
        return {"same": self.same, **asdict(self)}


def diff(
    a: str,
    b: str,
    *,
    by: str = "ids",
    seed: int = 0,
    budget: int = 20_000,
    text: str = "",
    about_a: Mapping[str, Any] | None = None,
    about_b: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Difference:
    """Tries at most `budget` texts on both sources. `text` is a text of your own: its lines come
    first. `about_a` and `about_b` are further arguments of `create_tokenizer`. `progress` is called
    with the number of each text."""
    if by not in BY:
        raise InvalidArgument(f"by={by!r}: one of {', '.join(BY)}")
    if budget < 1:
        raise InvalidArgument(f"budget={budget}: at least 1")
    left = open_side(a, about_a or {})
    try:
        right = open_side(b, about_b or {})
        try:
            return _Search((left, right), by).run(seed, budget, text, progress)
        finally:
            right.close()
    finally:
        left.close()


class _Search:
    def __init__(self, sides: tuple[Side, Side], by: str) -> None:
        self._sides = sides
        self._by = by
        self._groups: dict[str, Group] = {}
        self._shrunk: dict[str, int] = {}

    def run(
        self, seed: int, budget: int, text: str, progress: Callable[[int], None] | None
    ) -> Difference:
        a, b = self._sides
        first, second = (
            None if document is None else Definition(document)
            for document in (a.document(), b.document())
        )
        candidates = Candidates(self._sides, (first, second), seed)
        own = pieces_of(text)
        self._causes = Causes(first, second)
        try:
            tried = 0
            for one in islice(_once(candidates, own), budget):
                tried += 1
                if progress is not None:
                    progress(tried)
                self._try(one)
        finally:
            self._causes.close()
        rules = None if first is None or second is None else first.summary(second)
        groups = sorted(self._groups.values(), key=lambda group: (-group.texts, group.cause))
        return Difference(a.name, b.name, self._by, seed, tried, rules, groups)

    def _try(self, text: str) -> None:
        kind = self._kind(text)
        if kind is None:
            return
        # Of the whole text; the smallest text in it may have another cause.
        cause = self._cause(kind, text)
        if self._shrunk.get(cause, 0) < _SHRUNK:
            self._shrunk[cause] = self._shrunk.get(cause, 0) + 1
            text = shrink(text, lambda smaller: self._kind(smaller) == kind)
            cause = self._cause(kind, text)
            group = self._groups.setdefault(cause, Group(cause))
            self._keep(group, kind, text)
        group = self._groups.setdefault(cause, Group(cause))
        group.texts += 1

    def _keep(self, group: Group, kind: str, text: str) -> None:
        if any(example.text == text for example in group.examples):
            return
        a, b = (self._shown(side, kind, text) for side in self._sides)
        group.examples.append(Example(text, a, b))
        group.examples.sort(key=lambda example: (len(example.text), example.text))
        del group.examples[_KEPT:]

    def _kind(self, text: str) -> str | None:
        """In what respect the two differ; the first of these. None: in none."""
        a, b = (side.encode(text, False) for side in self._sides)
        if self._unlike(a, b):
            # Only the ids differ: the same pieces have other numbers.
            return _IDS if a.pieces == b.pieces and a.error == b.error else _PIECES
        if a.error:
            return None
        if any(len({*self._decoded(a, b, skip)}) > 1 for skip in (False, True)):
            return _DECODE
        # Last: it shows on nearly every text and would hide the others.
        with_special = [side.encode(text, True) for side in self._sides]
        return _POST if self._unlike(*with_special) else None

    def _unlike(self, a: Outcome, b: Outcome) -> bool:
        if a.error or b.error:
            return a.error != b.error and not _REFUSALS.issuperset((a.error, b.error))
        return a.ids != b.ids if self._by == "ids" else a.pieces != b.pieces

    def _decoded(self, a: Outcome, b: Outcome, skip: bool) -> list[str]:
        outcomes = zip(self._sides, (a, b), strict=True)
        return [side.decode(outcome.ids, skip) for side, outcome in outcomes]

    def _cause(self, kind: str, text: str) -> str:
        if kind != _PIECES:
            return kind
        a, b = (side.encode(text, False) for side in self._sides)
        return self._causes.of(text, a, b)

    def _shown(self, side: Side, kind: str, text: str) -> dict[str, Any]:
        outcome = side.encode(text, kind == _POST)
        if outcome.error:
            return {"error": outcome.error}
        shown: dict[str, Any] = {"ids": list(outcome.ids), "pieces": list(outcome.pieces)}
        if kind == _DECODE:
            shown["decoded"] = side.decode(outcome.ids, False)
            shown["decoded without special tokens"] = side.decode(outcome.ids, True)
        return shown


def _once(candidates: Candidates, own: list[str]) -> Iterator[str]:
    """Each text of the rules once. Random texts may repeat: remembering them would take memory."""
    seen: set[str] = set()
    for text in chain(own, candidates.from_rules()):
        if text not in seen:
            seen.add(text)
            yield text
    yield from candidates.at_random(own)
