"""Load from one process: so many connections, each with one request on its way at a time.

Raw protocols of asyncio, and as little work for each answer as can be: the heads are made before,
and of an answer only its length is looked for.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Measured", "exchange", "measure", "request"]


@dataclass
class Measured:
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failed: int = 0

    def add(self, other: Measured) -> None:
        self.seconds += other.seconds
        self.latencies += other.latencies
        self.failed += other.failed

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def quantile(self, part: float) -> float:
        found = sorted(self.latencies)
        return found[min(len(found) - 1, int(part * len(found)))] if found else float("nan")


def request(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection(asyncio.Protocol):
    """Asks again as soon as it has the answer, until it is told to stop."""

    def __init__(self, requests: Sequence[bytes], first: int) -> None:
        self._next = itertools.cycle(
            itertools.islice(itertools.cycle(requests), first, first + len(requests))
        )
        self.measured = Measured()
        self.stopping = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parts: list[bytes] = []
        self._length = 0
        self._needed: int | None = None
        self._status = b""
        self._begun = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self) -> None:
        assert self._transport is not None
        self._begun = time.perf_counter()
        self._transport.write(next(self._next))

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._length += len(data)
        if self._needed is None and not self._read_head():
            return
        assert self._needed is not None
        if self._length < self._needed:
            return
        self.measured.latencies.append(time.perf_counter() - self._begun)
        if self._status != b"200":
            self.measured.failed += 1
        self.answer = self._parts
        self._parts, self._length, self._needed = [], 0, None
        if self.stopping:
            self._end()
        else:
            self.ask()

    def _read_head(self) -> bool:
        head = b"".join(self._parts)
        self._parts = [head]
        end = head.find(b"\r\n\r\n")
        if end < 0:
            return False
        self._status = head[9:12]
        lower = head[:end].lower()
        at = lower.find(b"content-length:")
        if at < 0:
            raise ValueError("an answer without a length")
        self._needed = end + 4 + int(lower[at + 15 :].split(b"\r\n", 1)[0])
        return True

    def stop(self) -> None:
        self.stopping = True

    def connection_lost(self, error: Exception | None) -> None:
        if not self.stopping:
            self.measured.failed += 1
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def _connect(port: int, requests: Sequence[bytes], first: int) -> _Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: _Connection(requests, first), "127.0.0.1", port
    )
    return connection


async def measure(
    port: int,
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    *,
    beside: Sequence[bytes] = (),
) -> Measured:
    """`beside`: what one more connection asks all the time, which is not measured."""
    opened = [await _connect(port, requests, number) for number in range(connections)]
    others = [await _connect(port, beside, 0)] if beside else []
    began = time.perf_counter()
    for one in (*others, *opened):
        one.ask()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    # What is still on its way counts for the latencies of the slow, and not for the rate.
    found = Measured(took)
    for one in opened:
        found.latencies += one.measured.latencies
        found.failed += one.measured.failed
        one.stop()
    for one in others:
        found.failed += one.measured.failed
        one.stop()
    async with asyncio.timeout(60):
        await asyncio.gather(*(one.ended for one in (*opened, *others)))
    for one in (*opened, *others):
        one.close()
    return found


async def exchange(port: int, one: bytes) -> bytes:
    """The body of the answer to one request."""
    connection = await _connect(port, [one], 0)
    connection.stop()
    connection.ask()
    async with asyncio.timeout(60):
        await connection.ended
    connection.close()
    if connection.measured.failed or not connection.measured.latencies:
        raise RuntimeError(b"".join(connection.answer).decode("utf-8", "replace"))
    return b"".join(connection.answer).partition(b"\r\n\r\n")[2]
