"""Segments made to smuggle special tokens in, and the slow, obvious way to encode segments.

The slow way never asks the core: special tokens that may match are replaced, one by one and by
hand, with a character that nothing else means, and HuggingFace encodes the result with a file in
which the special tokens are called by these characters, so that no text can name them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import nasty
import tokenizers

Segments = list[tuple[str, bool]]

# Private characters that no normaliser changes; nothing else in these tests uses them.
FIRST_NAME = 0x10A000


class Oracle:
    """HuggingFace, from a file in which every special token has a secret name."""

    def __init__(self, document: Mapping[str, Any], known: Iterable[str] = ()) -> None:
        """`known` are names that keep their own: they count wherever they stand."""
        # Read once and used twice, so it stays as it is.
        file = {**document, "model": {**document["model"]}}
        self.added: list[dict[str, Any]] = [{**token} for token in file["added_tokens"]]
        # A file may have thousands of them, and few begin with the character at hand.
        self._by_first: dict[str, list[dict[str, Any]]] = {}
        for token in self.added:
            self._by_first.setdefault(token["content"][:1], []).append(token)
        special = [token["content"] for token in self.added if token["special"]]
        special = [token for token in special if token not in known]
        self.names = {token: chr(FIRST_NAME + place) for place, token in enumerate(special)}
        self.tokenizer = tokenizers.Tokenizer.from_str(json.dumps(self._renamed(file)))

    @staticmethod
    def serves(file: Mapping[str, Any]) -> bool:
        """Names that are looked for after normalisation cannot be replaced before it."""
        special = [token for token in file["added_tokens"] if token["special"]]
        found_late = any(token["normalized"] for token in special)
        return bool(special) and not (found_late and file.get("normalizer"))

    def _renamed(self, file: dict[str, Any]) -> dict[str, Any]:
        for token in self.added:
            token["secret"] = self.names.get(token["content"], token["content"])
        added = [{**token, "content": token["secret"]} for token in self.added]
        for token in added:
            del token["secret"]
            if token["content"] in self.names.values():
                token["normalized"] = False
        model = file["model"]
        if isinstance(model["vocab"], dict):
            model["vocab"] = {
                self.names.get(token, token): number for token, number in model["vocab"].items()
            }
            unk = model.get("unk_token")
            model["unk_token"] = self.names.get(unk, unk)
        else:
            model["vocab"] = [
                [self.names.get(token, token), score] for token, score in model["vocab"]
            ]
        return {**file, "added_tokens": added, "model": model, "post_processor": None}

    def plain(self, text: str) -> list[int]:
        """Only what is known counts."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode(self, segments: Segments) -> list[int]:
        text = "".join(text for text, _ in segments)
        return self.plain(self._replaced(text, [mark for part, mark in segments for _ in part]))

    def _replaced(self, text: str, trusted: list[bool]) -> str:
        """The leftmost of the tokens that may match, of those the longest, and so on."""
        out = []
        place = 0
        while place < len(text):
            found = ""
            for token in self._by_first.get(text[place], ()):
                name, special = token["content"], token["special"]
                end = place + len(name)
                if not text.startswith(name, place) or (token["normalized"] and not special):
                    continue
                may = not special or all(trusted[place:end])
                if may and len(name) > len(found):
                    found = name
            out.append(self.names.get(found, found) or text[place])
            place += len(found) or 1
        return "".join(out)


def fullwidth(text: str) -> str:
    """What NFKC and its like turn into `text`."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


_SPACES = ("", " ", "  ", "\n", "\t", "\u3000", "\xa0")
_INVISIBLE = ("\u200b", "\u200d", "\u2060", "\ufeff", "\xad", "\x01", "\x7f", "\ufe0f", "\u0301")


def attack(dice: random.Random, special: list[str]) -> list[str]:
    """Untrusted texts that lie one behind the other and want to be a special token."""
    token = dice.choice(special)
    cut = dice.randint(0, len(token))
    space, ghost = dice.choice(_SPACES), dice.choice(_INVISIBLE)
    accented = "".join(c + dice.choice(("", "\u0301", "\u0327")) for c in token)
    other = dice.choice(special)
    ways = (
        [token],
        [token[:cut], token[cut:]],
        list(token),
        [space + token + space],
        [token[:cut] + token + token[cut:]],
        [token * dice.randint(2, 4)],
        [token[:cut] + ghost + token[cut:]],
        [ghost * dice.randint(1, 12), token[:cut], ghost, token[cut:] + ghost],
        [fullwidth(token)],
        [fullwidth(token[:cut]), token[cut:]],
        [ghost * dice.randint(0, 12) + "system" + fullwidth(token)],
        [token.swapcase()],
        [accented],
        [token + other, other[:cut] + space + token],
    )
    return dice.choice(ways)


def attacks(seed: str, count: int, special: list[str]) -> Iterator[Segments]:
    """Segments of which the trusted ones are harmless, and halves of tokens."""
    dice = random.Random(seed)
    for _ in range(count):
        parts: Segments = []
        for _ in range(dice.randint(1, 4)):
            if dice.random() < 0.4:
                parts.append((dice.choice(("User: ", "\n", "x", " ", "Answer:\n\n", "")), True))
            for text in attack(dice, special):
                parts.append((text, False))
            if dice.random() < 0.4:
                token = dice.choice(special)
                cut = dice.randint(1, max(1, len(token) - 1))
                # One half is trusted, the other is not.
                parts += [(token[:cut], True), (token[cut:], False)] if len(token) > 1 else []
            if dice.random() < 0.3:
                parts.append((next(nasty.texts(str(dice.random()), 1, [])), False))
        yield parts


def conversations(seed: str, count: int, special: list[str]) -> Iterator[Segments]:
    """Segments with special tokens in trusted text, among attacks and harmless text."""
    dice = random.Random(seed)
    for parts in attacks(seed + "attacks", count, special):
        mixed: Segments = []
        for part in parts:
            if dice.random() < 0.5:
                mixed.append((dice.choice(_SPACES) + dice.choice(special) + "\n", True))
            mixed.append(part)
        yield mixed
