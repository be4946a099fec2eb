"""Hostile tenants, one of each kind. Each act ends in an outcome, which `attacker` names."""

from __future__ import annotations

import asyncio
import base64
import json
import lzma
import secrets
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final

from . import connections
from .attacker import (
    API,
    CLOSED,
    FAILED,
    JSON,
    LEFT,
    OCTETS,
    REFUSED,
    SERVED,
    Attacker,
    announced,
    read,
)
from .http1 import Gone, head

__all__ = ["KINDS", "attack", "demo"]

# The kinds. The first act of some is an upload.


def _ranks() -> bytes:
    lines = (f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    return "".join(lines).encode()


async def spinning_pattern(attacker: Attacker) -> None:
    """A pattern that needs as many steps as it may on each text."""
    if not attacker.outcomes:
        query = "?pattern=(a%2B)%2B%24"
        await attacker.ask("PUT", f"{API}/spin{query}", _ranks(), content_type=OCTETS)
    await attacker.ask_json("/spin/encode", {"text": "a" * 20_000 + "!"})


async def large_word(attacker: Attacker) -> None:
    """64 MB without a place to cut: refused by its length. And as much as is taken."""
    if attacker.chance.random() < 0.2:
        await attacker.ask("POST", f"{API}/demo/encode", _WORD, content_type=JSON)
    else:
        await announced(attacker, 64 << 20)


async def template_bomb(attacker: Attacker) -> None:
    template = attacker.chance.choice(
        (
            "{% for i in range(100000000) %}x{% endfor %}",
            "{% for i in range(9999) %}{% for j in range(9999) %}{{ i }}{% endfor %}{% endfor %}",
            "{{ 'x' * 1000000000 }}",
            "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}"
            "{% endfor %}{{ ns.x }}",
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "{{" + "(" * 5000 + "1" + ")" * 5000 + "}}",
            "{% if " + " or ".join(["x"] * 5000) + " %}{% endif %}",
            "{{ raise_exception('a' * 100) }}",
        )
    )
    asked = {"messages": [{"role": "user", "content": "x"}], "chat_template": template}
    await attacker.ask_json(f"/demo/chat/{attacker.chance.choice(('render', 'encode'))}", asked)


def demo() -> bytes:
    """The file of the built-in tokenizer."""
    packed = files("pywasmtok").joinpath("data", "demo.tokenizer.json.xz").read_bytes()
    return lzma.decompress(packed)


async def malformed_upload(attacker: Attacker) -> None:
    chance = attacker.chance
    body = chance.choice(_MALFORMED)
    if body is _WHOLE:
        cut = bytearray(_WHOLE)
        for _ in range(8):
            cut[chance.randrange(len(cut))] = chance.randrange(256)
        body = bytes(cut[: chance.randrange(len(cut))])
    await attacker.ask("PUT", f"{API}/bad", body, content_type=OCTETS)


async def oversize_body(attacker: Attacker) -> None:
    """Announced, or not announced and without an end."""
    if attacker.chance.random() < 0.5:
        await announced(attacker, attacker.chance.choice((1 << 30, 1 << 40, 2**63)))
        return
    connection = attacker.connection()
    try:
        start = head(
            "POST", f"{API}/demo/encode", attacker.key, None, transfer_encoding="chunked",
            content_type=JSON,
        )  # fmt: skip
        await connection.send(start)
        for _ in range(200):
            await connection.send(_CHUNK)
        await read(attacker, connection)
    finally:
        connection.drop()


async def slow_body(attacker: Attacker) -> None:
    """A byte now and then. Many are under way at once."""
    connection = attacker.connection()
    try:
        await connection.send(
            head("POST", f"{API}/demo/encode", attacker.key, 1_000_000, content_type=JSON)
        )
        waiting = asyncio.create_task(read(attacker, connection))
        try:
            while not waiting.done():
                await connection.send(b" ")
                await asyncio.wait([waiting], timeout=0.5)
            await waiting
        finally:
            waiting.cancel()
    finally:
        connection.drop()


async def json_depth(attacker: Attacker) -> None:
    deep = attacker.chance.choice(_DEEP)
    await attacker.ask("POST", f"{API}/demo/chat/render", deep, content_type=JSON)


async def header_flood(attacker: Attacker) -> None:
    connection = attacker.connection()
    try:
        await connection.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n")
        line = attacker.chance.choice((b"x: y\r\n" * 1000, b"x: " + b"y" * 8192 + b"\r\n"))
        for _ in range(64):
            await connection.send(line)
        await read(attacker, connection)
    finally:
        connection.drop()


async def socket_flood(attacker: Attacker) -> None:
    """Streams that are never finished, empty messages, invalid ids."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, InvalidHandshake

    headers = {"authorization": f"Bearer {attacker.key}"}
    url = f"ws://{attacker.host}:{attacker.port}{API}/demo/stream"
    messages = [
        "[" * 1000,
        "{}",
        '{"stream": "none", "ids": [1]}',
        '{"stream": "s", "open": true, "ids": [-1]}',
        '{"stream": "s", "open": 1}',
    ]
    try:
        async with connect(url, additional_headers=headers, compression=None) as socket:
            for _ in range(10):
                message = attacker.chance.choice(messages)
                await socket.send(message)
                event = json.loads(await asyncio.wait_for(socket.recv(), 30))
                said = event.get("error")
                attacker.note(REFUSED if said else SERVED, said["kind"] if said else "event")
            for number in range(300):
                await socket.send(json.dumps({"stream": str(number), "open": True, "ids": [1]}))
            for _ in range(300):
                event = json.loads(await asyncio.wait_for(socket.recv(), 30))
                said = event.get("error")
                attacker.note(REFUSED if said else SERVED, said["kind"] if said else "event")
            await socket.send("x" * (2 << 20))
            await asyncio.wait_for(socket.recv(), 30)
    except (ConnectionClosed, InvalidHandshake, OSError, TimeoutError) as error:
        attacker.note(CLOSED, type(error).__name__)


async def key_guessing(attacker: Attacker) -> None:
    connection = attacker.connection()
    try:
        for _ in range(5):
            guess = attacker.chance.choice(
                ("pwt_" + secrets.token_urlsafe(32), "", "x" * 4000, attacker.key[:-1])
            )
            attacker.note_answer(await connection.ask(head("GET", "/api/v1/usage", guess, None)))
    finally:
        connection.drop()


async def abandoned(attacker: Attacker) -> None:
    """Asks for much, and leaves."""
    connection = attacker.connection()
    try:
        size = len(_MUCH)
        await connection.send(
            head("POST", f"{API}/demo/encode", attacker.key, size, content_type=JSON) + _MUCH
        )
        await asyncio.sleep(attacker.chance.random() * 0.05)
    finally:
        connection.drop()
    attacker.note(LEFT, "left")


# Made once: an attacker that makes its payload for each request takes processor time from the
# server that is measured.
_WORD: Final = json.dumps({"text": "a" * ((4 << 20) - 1)}).encode()
_MUCH: Final = json.dumps({"text": "naïve 🌶 text, " * 50_000}).encode()
_CHUNK: Final = b"10000\r\n" + b"x" * 65536 + b"\r\n"
_DEEP: Final = tuple(
    b'{"messages":' + opening * depth
    for depth in (65, 1000, 1_000_000)
    for opening in (b"[", b'{"a":')
)
_WHOLE: Final = demo()
_MALFORMED: Final = (
    _WHOLE,
    _WHOLE,
    _WHOLE,
    b"",
    b"GGUF" + b"\xff" * 1000,
    b"GGUF\x03\x00\x00\x00" + b"\xff" * 64,
    b"[" * 1_000_000,
    b'{"version":"1.0","model":{"type":"BPE","vocab":' + b'{"a":' * 100_000,
    b"\x0a" + b"\xff\xff\xff\xff\x0f" * 1000,
    b'{"model":{"type":"Unigram","vocab":[["a",1e308]]}}',
    b"\x1f\x8b\x08" + b"\x00" * 100,
    b"YWFh 1\nYQ== 99999999999999999999\n",
)

Act = Callable[[Attacker], Awaitable[None]]

KINDS: Final[dict[str, tuple[Act, int, float]]] = {
    # What it does, how many at once, and its share of the acts that are begun each second.
    "spinning-pattern": (spinning_pattern, 8, 1.0),
    "large-word": (large_word, 4, 1.0),
    "template-bomb": (template_bomb, 8, 1.0),
    "malformed-upload": (malformed_upload, 8, 1.0),
    "oversize-body": (oversize_body, 4, 1.0),
    "slow-body": (slow_body, 64, 1.0),
    "json-depth": (json_depth, 8, 1.0),
    "header-flood": (header_flood, 8, 1.0),
    "socket-flood": (socket_flood, 2, 0.05),
    "key-guessing": (key_guessing, 8, 4.0),
    "abandoned": (abandoned, 8, 1.0),
    "unread-pongs": (connections.unread_pongs, 4, 0.5),
    "large-upload": (connections.large_upload, 6, 0.2),
    "half-open-tls": (connections.half_open_tls, 128, 2.0),
    "idle-connection": (connections.idle_connection, 128, 2.0),
    "doubled-head": (connections.doubled_head, 8, 1.0),
    "stale-read": (connections.stale_read, 1, 1.0),
}


async def attack(attacker: Attacker, rate: float, until: Callable[[], bool]) -> None:
    """`rate` acts a second, unless too many are under way already. Their times are random, as with
    independent clients: acts of all kinds in the same millisecond would be no realistic load."""
    act, most, share = KINDS[attacker.kind]
    under_way: set[asyncio.Task[None]] = set()
    if attacker.kind == "spinning-pattern":
        await _guarded(act, attacker)
    while not until():
        if len(under_way) < most:
            task = asyncio.create_task(_guarded(act, attacker))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.sleep(attacker.chance.expovariate(rate * share))
    for task in list(under_way):
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


async def _guarded(act: Act, attacker: Attacker) -> None:
    try:
        await act(attacker)
    except (Gone, OSError) as error:
        attacker.note(CLOSED, type(error).__name__)
    except TimeoutError:
        attacker.note(FAILED, "no answer in time")
