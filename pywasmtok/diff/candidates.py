"""Texts on which two tokenizers may differ: from their rules, then at random from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from .definition import Definition
from .sides import Side

__all__ = ["Candidates", "pieces_of"]

_Rule = TypeVar("_Rule")

# Of each kind of rule, how many are tried at most.
_RULES = 2000
_LONGEST = 400

# Between the bars: what splits, normalizers and vocabularies treat in different ways.
_WORDS = (
    "|a|ab| the|The|HELLO|don't|I'LL|we're|'s|'S|\u2019s|it\u2019s|\u0130|ß|\ufb01|camelCase",
    " |  |   |\t|\t\t|\n|\r\n|\r|\n\n| \n|\n |  a|a  b|a \n b|\xa0|\u2003|\u3000|\x85|\u2028",
    "\ufeff|\x00|\x7f|\u200b|\u200d|0|1|12|123|1234|12345|1,000.50| 1| 12|\u0663|\u2167|²|½|a1|1a",
    ".|,|!|?|...|!!|?!\n|/|//|_|__|-|--|=|==|(|)|()|{}|[|]|://|http://a.b/c|\\n|#|##|@a|$1|…|—",
    "é|e\u0301|\u0301|a\u0301b|\u212b|\u00c5|你|你好|日本語|か|か\u3099|カ|ｶﾞ|한글|\u1112\u1161|я|Я|ё|ы!",
    "\u0634|\u0647\u0627|\u0915\u094d|\u0e44\u0e17|\U0001d4b3|🌶|👩\u200d👩\u200d👧|🇩🇪|❤\ufe0f|👋🏽|\uff21|ⅷ",
    "\ue000|\U0010fffd|\ufffd|▁|▁a|Ġ|Ċ|<0x0A>|</w>|<|>|<s>|</s>|<pad>|<unk>|[UNK]|[CLS]|<|im_start|>",
)
_PROBES = tuple(dict.fromkeys(part for words in _WORDS for part in words.split("|")))
_ATOMS = (*_PROBES[1:], "<|", "|>", "|")
_RANGES = (
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x300, 0x36F),
    (0x370, 0x52F),
    (0x590, 0x6FF),
    (0x900, 0x97F),
    (0xE00, 0xE7F),
    (0x2000, 0x206F),
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFB00, 0xFFEF),
    (0x1F300, 0x1FAFF),
)


class Candidates:
    def __init__(
        self,
        sides: tuple[Side, Side],
        definitions: tuple[Definition | None, Definition | None],
        seed: int,
    ) -> None:
        self._sides = sides
        self._definitions = definitions
        self._random = Random(seed)

    def from_rules(self) -> Iterator[str]:
        yield from _PROBES
        for probe in _PROBES:
            yield from (f"a{probe}b", f" {probe} ")
        a, b = self._definitions
        if a is None or b is None:
            return
        for name in self._some(a.changed_added(b)):
            yield from (
                name,
                f"a{name}b",
                f" {name} ",
                f"a {name} b",
                f"{name}{name}",
                name.lower(),
            )
        for side, ours, theirs in ((0, a, b), (1, b, a)):
            for token in self._some(ours.changed_entries(theirs)):
                yield from _placed(self._text(side, token))
            changed = ours.changed_merges(theirs)
            for merge in self._some(changed):
                yield from _placed(self._text(side, *merge))
            following: dict[str, list[str]] = {}
            for left, right in changed:
                following.setdefault(left, []).append(right)
            # Merges that want the same token: their order decides.
            for left, right in self._some(changed):
                for last in following.get(right, [])[:4]:
                    yield from _placed(self._text(side, left, right, last))

    def at_random(self, own: Sequence[str] = ()) -> Iterator[str]:
        """Without end."""
        random = self._random
        words = [
            (side, list(definition.vocab))
            for side, definition in enumerate(self._definitions)
            if definition is not None and definition.vocab
        ]
        added = sorted({name for d in self._definitions if d is not None for name in d.added})
        while True:
            parts = []
            for _ in range(random.randint(1, 8)):
                kind = random.random()
                if kind < 0.4 and words:
                    side, tokens = random.choice(words)
                    parts.append(self._text(side, random.choice(tokens)))
                elif kind < 0.5 and own:
                    text = random.choice(own)
                    start = random.randrange(len(text))
                    parts.append(text[start : start + random.randint(1, 40)])
                elif kind < 0.55 and added:
                    parts.append(random.choice(added))
                elif kind < 0.8:
                    parts.append(random.choice(_ATOMS))
                else:
                    first, last = random.choice(_RANGES)
                    length = random.randint(1, 4)
                    parts.append("".join(chr(random.randint(first, last)) for _ in range(length)))
            yield "".join(parts)[:_LONGEST]

    def _some(self, rules: list[_Rule]) -> list[_Rule]:
        return rules if len(rules) <= _RULES else self._random.sample(rules, _RULES)

    def _text(self, side: int, *tokens: str) -> str:
        """What these tokens stand for. Bytes that are no character become U+FFFD."""
        definition = self._definitions[side]
        assert definition is not None
        ids = tuple(definition.vocab[token] for token in tokens if token in definition.vocab)
        return self._sides[side].decode(ids, False)


def pieces_of(text: str) -> list[str]:
    """A text of the user in lines, and long lines in parts."""
    lines = text.splitlines(keepends=True)
    return [
        line[start : start + _LONGEST] for line in lines for start in range(0, len(line), _LONGEST)
    ]


def _placed(text: str) -> tuple[str, ...]:
    return text, f" {text}", f"a{text}", f"{text}b"
