"""HTTP/1.1 as little as it takes: what is measured is the server, and attackers break the rules."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, NamedTuple

__all__ = ["Answer", "Connection", "Gone", "head"]


class Gone(Exception):  # noqa: N818
    """The server closed the connection, or never took it."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._address = host, port
        self._tls = tls
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes, seconds: float = 30.0) -> Answer:
        """Sends it as it is, and reads one answer."""
        try:
            async with asyncio.timeout(seconds):
                await self.send(request)
                return await self.read()
        except (OSError, EOFError, ValueError, IndexError) as error:
            self.drop()
            raise Gone(type(error).__name__) from None
        except BaseException:
            # Half an answer may be left on it.
            self.drop()
            raise

    @property
    def is_open(self) -> bool:
        return self._writer is not None and not self._writer.transport.is_closing()

    async def send(self, part: bytes) -> bool:
        """False: the server takes no more."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                *self._address, ssl=self._tls
            )
        if self._writer.transport.is_closing():
            return False
        self._writer.write(part)
        try:
            await self._writer.drain()
        except OSError:
            # Refused while it was still coming: the answer may be there all the same.
            return False
        return True

    async def status(self) -> int:
        """Of an answer without a body. 0: there was none."""
        assert self._reader is not None
        try:
            return int((await self._reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        except (EOFError, OSError):
            return 0

    async def more(self) -> bool:
        """Whether anything else comes before the server closes the connection."""
        assert self._reader is not None
        try:
            return bool(await self._reader.read(1 << 16))
        except OSError:
            return False

    def stop_reading(self) -> None:
        assert self._writer is not None
        transport: Any = self._writer.transport
        transport.pause_reading()

    async def read(self) -> Answer:
        assert self._reader is not None
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await self._chunks()
        else:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.drop()
        return Answer(status, headers, body)

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        parts: list[bytes] = []
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            part = await self._reader.readexactly(size + 2)
            if not size:
                return b"".join(parts)
            parts.append(part[:-2])

    def drop(self) -> None:
        """Without a word."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None


def head(method: str, path: str, key: str | None, length: int | None, **more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost"]
    if key is not None:
        lines.append(f"authorization: Bearer {key}")
    if length is not None:
        lines.append(f"content-length: {length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
