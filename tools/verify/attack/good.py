"""Good tenants: short calls at a steady pace, each answer compared."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pywasmtok

from .http1 import Connection, Gone, head
from .place import HOST, Place

__all__ = ["Good", "Question", "fairness", "load", "percentile", "questions"]

_WORDS = (
    *("tokenizer", "of", "many", "tenants", "naïve", "Привет", "世界", "🌶", "3.14", "\n\n"),
    *("the", "server", "answers", "and", "nobody", "waits", "def f(x):", "return", "<|user|>"),
)

BASE = "/api/v1/tokenizers/"


class Question(NamedTuple):
    path: str
    body: bytes
    content_type: str
    accept: str
    expected: bytes
    """Of ids as they are; of JSON the one field."""
    field: str | None


@dataclass
class Good:
    """What one tenant saw."""

    name: str
    seconds: list[float] = field(default_factory=list)
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    lost: int = 0

    def add(self, other: Good) -> None:
        self.seconds += other.seconds
        self.right += other.right
        self.wrong += other.wrong
        self.refused += other.refused
        self.lost += other.lost


def questions(count: int, seed: int = 20, tokenizer: str = "demo") -> list[Question]:
    """With the answers of the library, which is asked here."""
    chance = random.Random(seed)
    made = []
    with pywasmtok.create_tokenizer("builtin:demo", decoder="core") as tok:
        for place in range(count):
            text = " ".join(chance.choices(_WORDS, k=chance.randint(3, 120)))
            encoding = tok.encode(text)
            ids = encoding.buffer.tobytes()
            if place % 4 < 2:
                made.append(_json("encode", {"text": text}, ids, None, "application/octet-stream"))
            elif place % 4 == 2:
                expected = json.dumps(tok.decode(encoding)).encode()
                octets = "application/octet-stream"
                made.append(Question("decode", ids, octets, "application/json", expected, "text"))
            else:
                made.append(_json("count", {"text": text}, str(len(encoding)).encode(), "count"))
    return [one._replace(path=f"{tokenizer}/{one.path}") for one in made]


def _json(
    path: str, body: dict[str, Any], expected: bytes, field: str | None, accept: str = ""
) -> Question:
    content = json.dumps(body, ensure_ascii=False).encode()
    asked = accept or "application/json"
    return Question(path, content, "application/json", asked, expected, field)


async def load(
    place: Place,
    names: Sequence[str],
    asked: Sequence[Question],
    *,
    until: float,
    pace: float | None,
) -> list[Good]:
    """`pace`: calls a second of each tenant, an open loop: a late answer does not make the next
    call late in the figures. None: a closed loop, the next as soon as the last is answered."""
    started = time.perf_counter()
    tasks = [
        _tenant(place, name, asked, until, pace, started + number / len(names) / (pace or 1))
        for number, name in enumerate(names)
    ]
    return list(await asyncio.gather(*tasks))


async def _tenant(  # noqa: PLR0917
    place: Place,
    name: str,
    asked: Sequence[Question],
    until: float,
    pace: float | None,
    begin: float,
) -> Good:
    seen = Good(name)
    connection = Connection(HOST, place.port, place.tls)
    chance = random.Random(name)
    key = place.keys[name]
    due = begin
    try:
        while (now := time.perf_counter()) < until:
            begun = None
            if pace is not None:
                if due > until:
                    break
                if due < now:
                    # The last answer came late: the wait for it counts here, too.
                    begun = due
                await asyncio.sleep(max(0.0, due - now))
                due += 1 / pace
            await _ask(connection, key, chance.choice(asked), seen, begun)
    finally:
        connection.drop()
    return seen


async def _ask(
    connection: Connection, key: str, question: Question, seen: Good, begun: float | None
) -> None:
    """`begun`: when it was due, if that was earlier."""
    request = head(
        "POST",
        BASE + question.path,
        key,
        len(question.body),
        content_type=question.content_type,
        accept=question.accept,
    )
    started = time.perf_counter() if begun is None else begun
    try:
        answer = await connection.ask(request + question.body)
    except (Gone, TimeoutError):
        seen.lost += 1
        return
    seen.seconds.append(time.perf_counter() - started)
    if answer.status != 200:
        seen.refused.append(answer.status)
    elif _found(answer.body, question) == question.expected:
        seen.right += 1
    else:
        seen.wrong.append(f"{question.path}: {answer.body[:80]!r}, not {question.expected[:80]!r}")


def _found(body: bytes, question: Question) -> bytes:
    if question.field is None:
        return body
    return json.dumps(json.loads(body).get(question.field)).encode()


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def fairness(counts: Sequence[int]) -> float:
    """Jain's index: 1 when all get the same, 1/n when one gets all."""
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0
