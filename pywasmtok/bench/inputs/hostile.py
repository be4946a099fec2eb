"""Texts that no splitting cuts, and others that are known to be slow somewhere."""

from __future__ import annotations

import base64
import itertools
import random
import string
from collections.abc import Callable

__all__ = ["HOSTILE", "hostile_text", "turned"]

ZWJ = "\u200d"
PEOPLE = "👨👩👧👦🧑👴👵"
THINGS = "💻🚀🔬🎨🌾🍳⚖✈"
SKINS = ["", *map(chr, range(0x1F3FB, 0x1F400))]


def letters(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=size))


def encoded_bytes(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size * 3 // 4 + 3)).decode()


def digits(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(string.digits, k=size))


def han(rng: random.Random, size: int) -> str:
    return "".join(chr(rng.randrange(0x4E00, 0x9FA6)) for _ in range(size // 3 + 1))


def joined_emoji(rng: random.Random, size: int) -> str:
    """One endless family: people and what they do, joined, some with a colour of skin."""
    parts = []
    for _ in range(size // 12 + 1):
        parts += [rng.choice(PEOPLE), rng.choice(SKINS), ZWJ, rng.choice(THINGS), ZWJ]
    return "".join(parts)


def marks(rng: random.Random, size: int) -> str:
    """One letter under ever more combining marks."""
    return "e" + "".join(chr(rng.randrange(0x300, 0x36F)) for _ in range(size // 2))


def punctuation(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(string.punctuation, k=size))


def repeated(text: str) -> Callable[[random.Random, int], str]:
    return lambda _, size: "".join(itertools.islice(itertools.cycle(text), size))


HOSTILE: dict[str, Callable[[random.Random, int], str]] = {
    "one letter": repeated("a"),
    "spaces": repeated(" "),
    "newlines": repeated("\n"),
    "=-": repeated("=-"),
    "random letters": letters,
    "base64": encoded_bytes,
    "digits": digits,
    "Han": han,
    "joined emoji": joined_emoji,
    "combining marks": marks,
    "punctuation": punctuation,
}


def hostile_text(kind: str, size: int, seed: int) -> str:
    """So many bytes of it, or a character less."""
    text = HOSTILE[kind](random.Random(f"{kind} {size} {seed}"), size)
    return text.encode()[:size].decode(errors="ignore")


def turned(text: str, times: int) -> str:
    """A new text of the same kind: some libraries cache whole texts. It is rotated by a small part
    of its length, so that most of it stays in one piece. Each is also one character shorter, since
    rotating a run of one letter changes nothing."""
    at = 1009 * times % len(text)
    return (text[at:] + text[:at])[: len(text) - times]
