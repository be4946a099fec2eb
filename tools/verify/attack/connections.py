"""Hostile tenants that aim at connections, memory and other workers. `hostile` has the others."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import suppress
from functools import cache

from .attacker import API, CLOSED, FAILED, HELD, JSON, OCTETS, SERVED, Attacker, read
from .http1 import Connection, head

__all__ = [
    "doubled_head",
    "half_open_tls",
    "idle_connection",
    "large_upload",
    "stale_read",
    "unread_pongs",
]

# Of a connection that the server should close by itself.
_MOST_SECONDS = 90.0

_PING = b"\x89\xfd" + b"\0\0\0\0" + b"p" * 125
_PINGS = _PING * 64


async def unread_pongs(attacker: Attacker) -> None:
    """Pings without an end, and no pong is read."""
    connection = attacker.connection()
    try:
        more = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec_websocket_version": "13",
            "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        await connection.send(head("GET", f"{API}/demo/stream", attacker.key, None, **more))
        status = await connection.status()
        if status != 101:
            attacker.note(CLOSED, f"no WebSocket: {status}")
            return
        connection.stop_reading()
        async with asyncio.timeout(_MOST_SECONDS):
            while await connection.send(_PINGS):
                await asyncio.sleep(0)
        attacker.note(CLOSED, "WebSocket closed")
    except TimeoutError:
        attacker.note(FAILED, "pings are read for ever, and pongs kept")
    except asyncio.CancelledError:
        attacker.note(HELD, "WebSocket held")
        raise
    finally:
        connection.drop()


@cache
def _large_file() -> bytes:
    """24 MB that are read to the end, and refused there: nothing is stored."""
    words = ",".join(f'"word{number:07}":{number}' for number in range(1_200_000))
    model = f'{{"type":"WordLevel","unk_token":"none","vocab":{{{words}}}'
    return f'{{"version":"1.0","model":{model},"x":}}}}'.encode()


async def large_upload(attacker: Attacker) -> None:
    """Several at once, so that their bytes, and what reading them takes, add up."""
    data = _large_file()
    connection = attacker.connection()
    try:
        request = head("PUT", f"{API}/large", attacker.key, len(data), content_type=OCTETS)
        await connection.send(request + data)
        await read(attacker, connection)
    finally:
        connection.drop()


async def half_open_tls(attacker: Attacker) -> None:
    """The first bytes of a handshake, and then nothing. Without TLS they are no request."""
    connection = Connection(attacker.host, attacker.port)
    hello, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(hello, out, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    try:
        await connection.send(out.read()[:100])
        await _until_closed(attacker, connection, "handshake")
    finally:
        connection.drop()


async def idle_connection(attacker: Attacker) -> None:
    """Opened without a key, half of them with the beginning of a request."""
    connection = attacker.connection()
    try:
        await connection.send(attacker.chance.choice((b"", b"GET /health HTTP/1.1\r\n")))
        await _until_closed(attacker, connection, "idle connection")
    finally:
        connection.drop()


async def doubled_head(attacker: Attacker) -> None:
    """What a proxy and a server could read differently. A second answer would be of a request that
    was hidden in the body."""
    body = b"0\r\n\r\nGET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    first = f"POST {API}/demo/count HTTP/1.1\r\nauthorization: Bearer {attacker.key}\r\n"
    lines = attacker.chance.choice((
        "host: localhost\r\nhost: elsewhere\r\ncontent-length: {length}\r\n",
        "host: localhost\r\ntransfer-encoding: gzip, chunked\r\n",
        "host: localhost\r\ntransfer-encoding: chunked\r\ncontent-length: {length}\r\n",
        "host: localhost\r\ncontent-length: {length}\r\ncontent-length: 4\r\n",
    ))  # fmt: skip
    connection = attacker.connection()
    try:
        start = first + lines.format(length=len(body)) + f"content-type: {JSON}\r\n\r\n"
        answer = await connection.ask(start.encode() + body)
        attacker.note_answer(answer)
        if answer.status < 400:
            attacker.note(FAILED, f"taken: {answer.status}")
        elif connection.is_open and await connection.more():
            attacker.note(FAILED, "a second answer")
    finally:
        connection.drop()


@cache
def _small_file(number: int) -> bytes:
    vocabulary = {"[UNK]": 0, "word": 1 + number}
    vocabulary |= {f"filler{one}": one for one in range(1, 9) if one != 1 + number}
    return json.dumps({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }).encode()  # fmt: skip


async def stale_read(attacker: Attacker) -> None:
    """An upload, and then the same name on new connections at once: any worker may take them."""
    number = attacker.chance.randrange(8)
    connection = attacker.connection()
    data = _small_file(number)
    try:
        answer = await connection.ask(
            head("PUT", f"{API}/changing", attacker.key, len(data), content_type=OCTETS) + data
        )
    finally:
        connection.drop()
    if answer.status != 200:
        attacker.note_answer(answer)
        return
    found = await asyncio.gather(*(_read_once(attacker) for _ in range(8)))
    for ids in found:
        if ids is None or ids == [1 + number]:
            attacker.note(SERVED, "busy" if ids is None else "as uploaded")
        else:
            attacker.note(FAILED, "stale")


async def _read_once(attacker: Attacker) -> list[int] | None:
    connection = attacker.connection()
    try:
        body = b'{"text": "word"}'
        request = head("POST", f"{API}/changing/encode", attacker.key, len(body), content_type=JSON)
        answer = await connection.ask(request + body)
        if answer.status in (429, 503):
            return None
        ids: list[int] = json.loads(answer.body).get("ids", [])
        return ids
    finally:
        connection.drop()


async def _until_closed(attacker: Attacker, connection: Connection, what: str) -> None:
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            while await connection.more():
                pass
    except TimeoutError:
        attacker.note(FAILED, f"{what} kept for {_MOST_SECONDS:g} seconds")
    except asyncio.CancelledError:
        attacker.note(HELD, f"{what} held")
        raise
    else:
        attacker.note(CLOSED, f"{what} closed")
