"""Processor time of what vLLM asks of a tokenizer, in both modes by turns."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from .streams import generate

__all__ = ["speed"]

TURNS = 31


def speed(modes: dict[str, Any], source: str) -> dict[str, dict[str, float]]:
    """Microseconds of all threads, medians of 31 turns; a turn asks each mode once. Each mode meets
    a text once, so that no cache of whole texts helps."""
    rng = random.Random(2)
    words = source.split(" ")

    def text(size: int) -> str:
        made = ""
        while len(made) < size:
            at = rng.randrange(len(words))
            made += " ".join(words[at : at + 12]) + f" {rng.randrange(10**6)} "
        return made[:size]

    ids = next(iter(modes.values())).encode(text(20_000), add_special_tokens=False)[:2000]
    rows: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], int]] = {
        "encode 200 B": (lambda: text(200), lambda t, x: t.encode(x), 1),
        "encode 20 KB": (lambda: text(20_000), lambda t, x: t.encode(x), 1),
        "64 texts of 1 KB": (lambda: [text(1000) for _ in range(64)], lambda t, x: t(x), 1),
        "decode 2,000 ids": (lambda: ids, lambda t, x: t.decode(x), 1),
        "detokenizer, a token": (lambda: ids, lambda t, x: generate(t, x[:50], x), len(ids)),
        "detokenizer, first token of a prompt of 2,000": (
            lambda: ids, lambda t, x: generate(t, x, x[:1]), 1,
        ),
        "a token of an id": (lambda: ids, lambda t, x: t.convert_ids_to_tokens(x), len(ids)),
        "decode one id": (lambda: ids[5:6], lambda t, x: t.decode(x), 1),
    }  # fmt: skip
    answer: dict[str, dict[str, float]] = {}
    for name, (make, ask, calls) in rows.items():
        took: dict[str, list[float]] = {mode: [] for mode in modes}
        for _ in range(TURNS):
            asked = make()
            for mode, tokenizer in modes.items():
                began = time.process_time()
                ask(tokenizer, asked)
                took[mode].append((time.process_time() - began) / calls)
        answer[name] = {
            mode: round(statistics.median(times) * 1e6, 2) for mode, times in took.items()
        }
    return answer
