"""Random and mutated texts for encoders, in blocks that depend on a seed and a number alone.

A block is a list of texts of one shape. The shapes are there for the paths of an encoder: many
calls of a few bytes, whole windows of a scanner and what lies across their edges, texts of tens of
kilobytes, pieces longer than any cache takes, and texts so long that threads share them.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Sequence

from pywasmtok.bench.inputs.texts import Tape
from tools.verify import nasty

# A block has about so many bytes, and the text that is cut is longer than what is done in one call.
BLOCK = 256 * 1024
LONG = 640 * 1024

# Whatever makes a block different has to change this: a log is continued only by equal texts.
VERSION = 1

REAL = ("english", "code", "zhja", "mixed", "chat")

SPACES = " \t\n\r\v\f\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000"
# Where the windows of scanners end, and one byte to each side.
EDGES = (15, 16, 17, 31, 32, 33, 47, 48, 49, 62, 63, 64, 65, 66, 127, 128, 129, 191, 192, 193)

# What a piece without an end is made of: one class each, and two that split it again.
GIANTS = (
    *("a", "A", "aB", "é", "ж", "中", "ไ", " ", "\n", "\r\n", " \n", "\t", "7", "٣", "=", "!?"),
    *(".", "\u0301", "a\u0301", "👋", "👨\u200d👩\u200d", "\0", "\ue000", "\u200b", "'s", "</"),
    *("\u2581", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef"),
    *("的一是不了人我在有他这中大来上", "かなカナ"),
)


def real_text(seed: int, size: int, kinds: Sequence[str] = REAL) -> list[str]:
    """Text that looks like what people send, `size` bytes of each kind."""
    return [Tape(kind, seed).take(size) for kind in kinds]


class Maker:
    """Makes the blocks for one tokenizer."""

    def __init__(self, seed: int, added: Sequence[str], real: Sequence[str]) -> None:
        """`added`: the special tokens of the tokenizer, to be met whole and in part."""
        self._seed = seed
        self._added = [token for token in added if token]
        self._real = [text for text in real if text]
        self._dice = random.Random()
        self._mixtures: tuple[Callable[[int], str], ...] = (
            self._pieces,
            self._few_pieces,
            self._mutant,
            self._mutant,
            self._edge,
            self._names,
        )

    def block(self, number: int) -> tuple[str, list[str]]:
        """The name of its shape, and the texts."""
        self._dice = random.Random(f"{self._seed} {number}")
        shapes = ("short", "windows", "short", "medium", "windows", "giant", "short", "long")
        shape = shapes[number % len(shapes)]
        texts: list[str] = []
        size = 0
        while size < (LONG if shape == "long" else BLOCK):
            text = self._text(shape)
            texts.append(text)
            size += len(text.encode())
        if shape == "long":
            # What stays beside it is done in the same batch, by the same threads.
            texts = ["".join(texts), *texts[:40]]
        return shape, texts

    def _text(self, shape: str) -> str:
        dice = self._dice
        if shape == "short":
            return self._some(dice.choice((2, 8, 20, 60)))
        if shape == "windows":
            return self._some(dice.choice((80, 200, 600)))
        if shape == "giant":
            return self._some(20) + self._giant(dice.choice((300, 3000, 12_000))) + self._some(20)
        if shape == "long" and dice.random() < 0.004:
            return self._giant(30_000)
        return "".join(self._some(400) for _ in range(dice.randint(2, 60)))

    def _some(self, size: int) -> str:
        return self._dice.choice(self._mixtures)(size)

    def _pieces(self, size: int) -> str:
        """Anything behind anything."""
        dice = self._dice
        chosen = dice.choices(nasty.PIECES, k=dice.randint(1, max(size // 3, 1)))
        if self._added and dice.random() < 0.3:
            chosen[dice.randrange(len(chosen))] = self._name()
        if dice.random() < 0.3:
            chosen[dice.randrange(len(chosen))] = self._scalars(dice.randint(1, 5))
        return "".join(chosen)

    def _few_pieces(self, size: int) -> str:
        """Two to five pieces in every order: what patterns with alternatives trip over."""
        dice = self._dice
        chosen = dice.choices(nasty.PIECES, k=dice.randint(2, 5))
        if dice.random() < 0.4:
            chosen += dice.choice((SPACES, " \n\t", "'stremvld", "aZ1 ", "/\n\r "))
        return "".join(dice.choices(chosen, k=dice.randint(1, max(size // 2, 1))))

    def _mutant(self, size: int) -> str:
        """A slice of real text with some edits."""
        dice = self._dice
        if not self._real:
            return self._pieces(size)
        source = dice.choice(self._real)
        start = dice.randrange(len(source))
        text = source[start : start + dice.randint(1, 2 * size)]
        for _ in range(dice.choice((0, 1, 2, 5))):
            text = self._edited(text)
        return text

    def _edited(self, text: str) -> str:
        dice = self._dice
        one, other = sorted((dice.randint(0, len(text)), dice.randint(0, len(text))))
        other = min(other, one + 12)
        before, between, behind = text[:one], text[one:other], text[other:]
        kind = dice.randrange(9)
        if kind == 0:
            between = ""
        elif kind == 1:
            between = between * dice.randint(2, 4)
        elif kind == 2:
            between = between.replace(" ", dice.choice(SPACES)).replace("\n", dice.choice(SPACES))
        elif kind == 3:
            between = dice.choice((str.upper, str.lower, str.title, str.swapcase))(between)
        elif kind == 4:
            between = unicodedata.normalize(dice.choice(("NFD", "NFC", "NFKD")), between)
        elif kind == 5:
            between = self._name()
        elif kind == 6:
            between = self._scalars(dice.randint(1, 3))
        else:
            between += dice.choice(nasty.PIECES)
        return before + between + behind

    def _edge(self, size: int) -> str:
        """Filling up to the edge of a window, then what must not be cut there."""
        dice = self._dice
        filling = dice.choice(("a", "ab ", " ", "1", "=", "the end ", "é", "中", "\n", "'s"))
        edge = dice.choice(EDGES)
        text = ""
        while len(text.encode()) < size or not text:
            filled = (filling * edge).encode()[: edge - dice.choice((0, 0, 1, 2, 3))]
            text += filled.decode(errors="ignore")
            text += "".join(dice.choices(nasty.PIECES, k=dice.randint(1, 3)))
        return text

    def _names(self, size: int) -> str:
        """Added tokens, parts of them, and little in between."""
        dice = self._dice
        count = dice.randint(1, max(min(size // 12, 12), 1))
        return "".join(
            self._name() if dice.random() < 0.6 else dice.choice(nasty.PIECES) for _ in range(count)
        )

    def _name(self) -> str:
        dice = self._dice
        name = dice.choice(self._added) if self._added else dice.choice(("<s>", "<|end|>", "[SEP]"))
        if dice.random() < 0.6:
            return name
        cut = dice.randint(0, len(name))
        return name[:cut] if dice.random() < 0.5 else name[cut:]

    def _giant(self, size: int) -> str:
        dice = self._dice
        letters = dice.choice(GIANTS)
        if dice.random() < 0.5:
            return letters * (size // len(letters.encode()) + 1)
        return "".join(dice.choices(letters, k=size // (len(letters[0].encode()))))

    def _scalars(self, count: int) -> str:
        dice = self._dice
        codes = (dice.randrange(2 ** dice.randint(7, 20)) for _ in range(count))
        return "".join("\ufffd" if 0xD800 <= code < 0xE000 else chr(code) for code in codes)
