"""Connections from one process to another."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pywasmtok.server.workers.handover_socket import LONGEST, Link, is_possible, linked

pytestmark = pytest.mark.skipif(not is_possible(), reason="sockets of Linux")


@contextmanager
def links() -> Iterator[tuple[Link, Link]]:
    here, there = linked()
    try:
        yield Link(here), Link(there)
    finally:
        for end in (*here, *there):
            end.close()


def run(what: Callable[[Link, Link], Coroutine[Any, Any, None]]) -> None:
    with links() as (here, there):
        asyncio.run(what(here, there))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.005)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_connection_arrives_with_what_was_read_of_it_and_works() -> None:
    async def what(here: Link, there: Link) -> None:
        came: list[tuple[socket.socket, bytes]] = []
        loop = asyncio.get_running_loop()
        there.start(loop, lambda taken, data: came.append((taken, data)))
        here.start(loop, lambda taken, data: None)
        mine, client = socket.socketpair()
        assert here.send(mine.fileno(), b"GET / HTTP/1.1")
        mine.close()
        await until(lambda: bool(came))
        ((taken, data),) = came
        assert data == b"GET / HTTP/1.1"
        taken.sendall(b"answer")
        assert client.recv(100) == b"answer"
        taken.close()
        assert client.recv(100) == b""
        client.close()
        here.stop()
        there.stop()

    run(what)


def test_both_ways() -> None:
    async def what(here: Link, there: Link) -> None:
        came: list[str] = []
        loop = asyncio.get_running_loop()

        def note(where: str) -> Callable[[socket.socket, bytes], None]:
            def arrived(taken: socket.socket, data: bytes) -> None:
                taken.close()
                came.append(where + data.decode())

            return arrived

        here.start(loop, note("here "))
        there.start(loop, note("there "))
        mine, client = socket.socketpair()
        assert here.send(mine.fileno(), b"1")
        assert there.send(mine.fileno(), b"2")
        await until(lambda: len(came) == 2)
        assert sorted(came) == ["here 2", "there 1"]
        mine.close()
        client.close()
        here.stop()
        there.stop()

    run(what)


def test_what_does_not_fit_in_is_sent_later_in_order_and_nothing_is_lost() -> None:
    async def what(here: Link, there: Link) -> None:
        came: list[int] = []
        loop = asyncio.get_running_loop()

        def arrived(taken: socket.socket, data: bytes) -> None:
            taken.close()
            assert len(data) == LONGEST
            came.append(int(data[:4]))

        here.start(loop, lambda taken, data: None)
        mine, client = socket.socketpair()
        before = open_descriptors()
        sent = 0
        while here.send(mine.fileno(), b"%04d" % sent + b"x" * (LONGEST - 4)):
            sent += 1
            assert sent < 1000
        # Some in the socket, the rest here; and then no more.
        assert sent > 60
        assert open_descriptors() > before
        there.start(loop, arrived)
        await until(lambda: len(came) == sent)
        assert came == list(range(sent))
        assert open_descriptors() == before
        assert here.send(mine.fileno(), b"%04d" % sent + b"x" * (LONGEST - 4))
        await until(lambda: len(came) == sent + 1)
        mine.close()
        client.close()
        here.stop()
        there.stop()

    run(what)


def test_what_is_kept_is_closed_in_the_end() -> None:
    async def what(here: Link, there: Link) -> None:
        here.start(asyncio.get_running_loop(), lambda taken, data: None)
        mine, client = socket.socketpair()
        before = open_descriptors()
        while here.send(mine.fileno(), b"x" * LONGEST):
            pass
        assert open_descriptors() > before
        here.stop()
        assert open_descriptors() == before
        assert not here.send(mine.fileno(), b"x")
        mine.close()
        client.close()

    run(what)


def test_what_is_too_long_is_not_sent() -> None:
    async def what(here: Link, there: Link) -> None:
        here.start(asyncio.get_running_loop(), lambda taken, data: None)
        mine, client = socket.socketpair()
        assert not here.send(mine.fileno(), b"x" * (LONGEST + 1))
        mine.close()
        client.close()
        here.stop()

    run(what)


def test_without_anybody_at_the_other_end_nothing_is_sent() -> None:
    here, there = linked()

    async def what() -> None:
        link = Link(here)
        link.start(asyncio.get_running_loop(), lambda taken, data: None)
        for end in there:
            end.close()
        mine, client = socket.socketpair()
        # The end is noticed on the incoming side, too, and asked for no more.
        await asyncio.sleep(0.05)
        assert not link.send(mine.fileno(), b"x")
        mine.close()
        client.close()
        link.stop()

    asyncio.run(what())
    for end in here:
        end.close()
