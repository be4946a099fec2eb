"""A hostile tenant, what came of its acts, and what several kinds of them do."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from .http1 import Answer, Connection, head

__all__ = [
    "API",
    "CLOSED",
    "CONTAINED",
    "FAILED",
    "HELD",
    "JSON",
    "LEFT",
    "OCTETS",
    "REFUSED",
    "SERVED",
    "Attacker",
    "announced",
    "kind_of",
    "read",
]

# Outcomes. Refused: typed, with a status below. Closed: by the server, without an answer. Left: the
# attacker closed the connection. Served: it was harmless. Failed: no request may cause this.
REFUSED, CLOSED, LEFT, SERVED, FAILED = "refused", "closed", "left", "served", "failed"
# The part of the run was over before the server closed the connection.
HELD: Final = "held"
CONTAINED: Final = (REFUSED, CLOSED, LEFT)

OCTETS: Final = "application/octet-stream"
JSON: Final = "application/json"
API: Final = "/api/v1/tokenizers"


@dataclass
class Attacker:
    kind: str
    host: str
    port: int
    key: str
    tls: ssl.SSLContext | None = None
    chance: random.Random = field(default_factory=random.Random)
    outcomes: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    """Statuses and kinds of errors."""

    def connection(self) -> Connection:
        return Connection(self.host, self.port, self.tls)

    def note(self, outcome: str, detail: str) -> None:
        self.outcomes[outcome] += 1
        self.details[detail] += 1

    def note_answer(self, answer: Answer) -> None:
        kind = kind_of(answer.body)
        if answer.status < 400:
            self.note(SERVED, str(answer.status))
        elif answer.status == 500 or (kind is None and answer.status not in (400, 431)):
            self.note(FAILED, f"{answer.status} {answer.body[:60]!r}")
        else:
            self.note(REFUSED, f"{answer.status} {kind or ''}".strip())

    async def ask(self, method: str, path: str, body: bytes, **headers: str) -> None:
        connection = self.connection()
        try:
            request = head(method, path, self.key, len(body), connection="close", **headers)
            self.note_answer(await connection.ask(request + body))
        finally:
            connection.drop()

    async def ask_json(self, path: str, body: Any) -> None:
        await self.ask("POST", API + path, json.dumps(body).encode(), content_type=JSON)


def kind_of(body: bytes) -> str | None:
    try:
        said = json.loads(body)["error"]
        return str(said["kind"]) if isinstance(said, dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


async def announced(attacker: Attacker, length: int) -> None:
    """Only announced: a server that waits for it waits in vain."""
    connection = attacker.connection()
    try:
        start = head("POST", f"{API}/demo/encode", attacker.key, length, content_type=JSON)
        await connection.send(start + b'{"text": "')
        await read(attacker, connection)
    finally:
        connection.drop()


async def read(attacker: Attacker, connection: Connection) -> None:
    try:
        async with asyncio.timeout(60):
            attacker.note_answer(await connection.read())
    except (OSError, EOFError, ValueError, IndexError) as error:
        attacker.note(CLOSED, type(error).__name__)
