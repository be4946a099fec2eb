"""How a long text is cut into parts, with a core that cuts in front of each blank."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from pywasmtok._host.calls.long_text import LongText

SIZE: Final = 64 * 1024


class Core:
    """Encodes a byte as itself, and notes how much it was asked to search."""

    def __init__(self) -> None:
        self.searched: list[int] = []
        self.encoded: list[int] = []

    def last_cut(self, text: bytes, most: int) -> tuple[int, str]:
        self.searched.append(len(text))
        return max(text.rfind(b" ", 0, most + 1), 0), ""

    def encode_ids(self, data: bytes, flags: int) -> bytes:
        self.encoded.append(len(data))
        return data


def encoded(text: bytes, backwards: bool = False) -> Core:
    core = Core()

    def run(size: int, work: Callable[[Any], Any], helped: object) -> Any:
        return work(core)

    long = LongText(text, 0, SIZE, (b"<", b">"))
    parts = range(long.parts)
    done = {
        part: long.ids_of(part, run, None) for part in (reversed(parts) if backwards else parts)
    }
    assert b"".join(done[part] for part in parts) == b"<" + text + b">"
    return core


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("apart", [5, 400, 3000, 20_000])
def test_parts_are_the_whole(apart: int, backwards: bool) -> None:
    rng = random.Random(apart)
    text = b"".join(b" " + b"x" * rng.randrange(2 * apart) for _ in range(2_000_000 // apart))
    core = encoded(text, backwards)
    # Each part is cut where cuts are common, and some where they are rare.
    usual = len(text) // SIZE
    assert len(core.encoded) >= {5: usual, 400: usual // 2, 3000: usual // 12, 20_000: 1}[apart]


def test_a_text_without_cuts_is_one_part_and_hardly_searched() -> None:
    text = b"x" * (4 << 20)
    core = encoded(text)
    assert core.encoded == [len(text)]
    assert sum(core.searched) < len(text) // 50


def test_rare_cuts_are_found_all_the_same() -> None:
    """A blank every 3,500 bytes: in reach of those parts that look far, and of few others."""
    text = (b"x" * 3499 + b" ") * 1500
    assert len(encoded(text).encoded) >= len(text) // SIZE // 8
