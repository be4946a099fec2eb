"""Texts made to find differences: rare white space, halves of added tokens, marks on nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

PIECES = [
    # White space of every kind, and what only looks like it.
    *" \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2009\u200b\u2028\u2029\u202f\u205f",
    *"\u3000\ufeff\u2060",
    *("  ", "   ", "\n\n", "\r\n", " \n ", "\t\t", "    " * 4),
    # Contractions, also with letters that fold to s, t and k.
    *("'s", "'S", "'t", "'re", "'RE", "'ve", "'m", "'ll", "'Ll", "'d", "'ſ", "’s", "'", "''"),
    # Digits and numbers of several scripts.
    *("0", "7", "12", "345", "6789", "٣", "४", "๙", "²", "½", "Ⅷ", "𝟗", "㊿", "３", "1,000.5"),
    # Letters: cases without a case, expansions, composed and not.
    *"aZéßŁǅʰªıİſKÅΩσςЖ中文字日本語かなカナ한글ไทยعربيहिन्दीעבריתאָ",
    *("the", " the", "Hello", "WORLD", "camelCase", "e\u0301", "\u1100\u1161\u11a8", "각", "ﬁ"),
    # Marks with nothing to sit on, many on one, in no canonical order.
    *("\u0301", "\u0327\u0301", "a\u0301\u0327\u0316", "\u20dd", "\u0e33", "\u093f", "\u3099"),
    *("\u0300" * 7, "\u0f71\u0f72\u0f74", "\U0001d165\U0001d16e"),
    # Emoji, their joiners and their flags.
    *("👋", "👋🏽", "👨‍👩‍👧‍👦", "❤️", "🏳️‍🌈", "🇩🇪", "🇩", "1️⃣", "\u200d", "\ufe0f", "🫨"),
    # Controls, private use, noncharacters, and markers of other tokenizers.
    *("\0", "\x01", "\x7f", "\xad", "\ue000", "\uf8ff", "\U000f0000", "\U0010ffff", "\ufffd"),
    *("\ufffe", "\U0001ffff", "\u202e", "\u2066", "\U000e0041", "\u2581", "▁▁", "Ġ", "Ċ", "##"),
    # Punctuation and code.
    *'!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~¡¿§«»“”…—。、「」！',
    *("</", "/>", "<|", "|>", "<0x41>", "<unk>", "<s>", "</s>", "def f(x):", "==", "...", "/*"),
]


def texts(seed: str, count: int, added: list[str]) -> Iterator[str]:
    """`count` texts; half of them draw on the added tokens of a file and on pieces of those."""
    dice = random.Random(seed)
    for number in range(count):
        pieces = [_piece(dice, added if number % 2 else []) for _ in range(dice.randint(1, 12))]
        yield "".join(pieces)


def _piece(dice: random.Random, added: list[str]) -> str:
    kind = dice.random()
    if added and kind < 0.3:
        token: str = dice.choice(added)
        cut = dice.random()
        if cut < 0.2:
            return token[: dice.randint(0, len(token))]
        if cut < 0.4:
            return token[dice.randint(0, len(token)) :]
        return token
    if kind < 0.9:
        piece: str = dice.choice(PIECES)
        return piece * dice.choice((1, 1, 1, 1, 1, 2, 3, 7)) if kind < 0.5 else piece
    return _scalar(dice)


def _scalar(dice: random.Random) -> str:
    """Any Unicode scalar value; small ones more often."""
    code = dice.randrange(2 ** dice.randint(7, 20)) + (0x10000 if dice.random() < 0.05 else 0)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def shrink(text: str, fails: Callable[[str], bool]) -> str:
    """The shortest text found that still fails, by taking away ever smaller stretches."""
    size = len(text) // 2
    while size > 0:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if fails(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text


def id_lists(seed: str, count: int, end: int) -> Iterator[list[int]]:
    """Ids in no order that an encoder would give, now and then beyond the vocabulary."""
    dice = random.Random(seed)
    for _ in range(count):
        low = dice.random() < 0.5
        yield [dice.randrange(min(end, 300) if low else end) for _ in range(dice.randint(0, 12))]
