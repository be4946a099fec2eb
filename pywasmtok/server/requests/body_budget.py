"""Bounds on what bodies and their answers take until all is sent: memory, and places for uploads.

Each body has a bound, and so has the number of connections. Without these bounds one tenant could
fill both, with slow bodies of a megabyte each, or with answers of many that it takes slowly.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import QuotaExceeded
from ...tenants.errors import Overloaded, TooManyRequests

__all__ = ["FREE", "LARGE", "Bodies"]

FREE: Final = 64 << 10
"""Bytes of a body or an answer that are not counted: the bound on connections covers them."""

LARGE: Final = 256 << 10
"""A body or an answer up to this size takes less of the event loop than the request around it. It
skips the queue, in which each part would wait for an iteration of the loop."""

# Of the largest bodies that there may be.
_OF_ONE: Final = 8
_OF_ALL: Final = 32

# Of all tenants together: each takes up to `bounds.upload-bytes` of the disk for temporary files.
_UPLOADS: Final = 256


class Bodies:
    """For the event loop."""

    def __init__(self, body_bytes: int) -> None:
        self._most_of_one = _OF_ONE * max(body_bytes, FREE)
        self._most = _OF_ALL * max(body_bytes, FREE)
        self._of: Counter[str] = Counter()
        self._uploads: Counter[str] = Counter()
        self.held = 0
        self.row = Row()

    def take(self, tenant: str, more: int, held: int = 0) -> None:
        """TooManyRequests, Overloaded: the body or answer cannot be kept now. QuotaExceeded: it
        never can. `held`: what the same request has taken before."""
        mine, most = self._of[tenant] + more, self._most_of_one
        if held + more > most:
            raise QuotaExceeded.of(
                f"a body and an answer of {held + more} bytes; a request may have {most}",
                most,
                held + more,
                hint="Ask for less at once",
            )
        if mine > most:
            raise TooManyRequests.of(
                f"{mine} bytes of bodies and answers of this tenant are on their way; {most} may",
                most,
                mine,
                hint="Ask again after the answers to earlier requests",
            )
        if self.held + more > self._most:
            raise Overloaded("too many large bodies and answers are on their way already")
        self._of[tenant] = mine
        self.held += more

    def give_back(self, tenant: str, size: int) -> None:
        self.held -= size
        self._of[tenant] -= size
        if not self._of[tenant]:
            del self._of[tenant]

    @contextmanager
    def upload(self, tenant: str, most: int) -> Iterator[None]:
        """While a file comes, which waits on the disk, or a record is changed."""
        if self._uploads[tenant] >= most:
            raise TooManyRequests.of(
                f"{most} uploads and changes of this tenant are on their way already",
                most,
                most + 1,
            )
        if self._uploads.total() >= _UPLOADS:
            raise Overloaded("too many uploads and changes are on their way already")
        self._uploads[tenant] += 1
        try:
            yield
        finally:
            self._uploads[tenant] -= 1
            if not self._uploads[tenant]:
                del self._uploads[tenant]


class Row:
    """A queue of large bodies: in each iteration of the event loop, one of them receives its next
    part. A dozen at the same time would delay all other requests by milliseconds."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            loop.call_soon(self._next, loop)
        await mine

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting[0].done():
            # The request that waited there was cancelled.
            self._waiting.popleft()
            if not self._waiting:
                return
        self._waiting[0].set_result(None)
        loop.call_soon(self._next, loop)
