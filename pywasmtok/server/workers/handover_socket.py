"""How open connections go from one process of a server to another.

A connection is handed over between two requests, with what was already read of the next one: its
descriptor and these bytes are one message on a socket that the processes share. The process that
reads the message serves the connection from then on. Messages that do not fit in are kept and sent
later; if too many are kept, `send` refuses, and its caller serves the request itself.
"""

from __future__ import annotations

import array
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ..._host.linux import ON

if TYPE_CHECKING:
    import asyncio

__all__ = ["LONGEST", "Ends", "Link", "is_possible", "linked"]

LONGEST: Final = 320 << 10
"""The most bytes of a message: what an event loop reads at once, together with a head before it."""

# Beyond the longest message, as far as the kernel lets us.
_BUFFER: Final = 1 << 20

_KEPT: Final = 64

# In one round of the event loop.
_AT_ONCE: Final = 4

Arrived = Callable[[socket.socket, bytes], None]


class Ends(NamedTuple):
    """The ends that one kind of processes has of the two sockets between both kinds."""

    outgoing: socket.socket
    incoming: socket.socket


def is_possible() -> bool:
    """Whether this system has sockets that keep messages apart and carry descriptors."""
    return ON


def linked() -> tuple[Ends, Ends]:
    """For the one kind of processes, and for the other."""
    kind = socket.SOCK_SEQPACKET
    there, from_here = socket.socketpair(socket.AF_UNIX, kind)
    back, from_there = socket.socketpair(socket.AF_UNIX, kind)
    for one in (there, back, from_here, from_there):
        one.setblocking(False)
        one.set_inheritable(True)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
    return Ends(there, from_there), Ends(back, from_here)


class Link:
    """For the event loop."""

    def __init__(self, ends: Ends) -> None:
        self._out, self._in = ends
        # The mode is shared by all processes with the socket, so it must not block in any of them.
        self._out.setblocking(False)
        self._in.setblocking(False)
        self._kept: deque[tuple[int, bytes]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop, arrived: Arrived) -> None:
        self._loop = loop
        loop.add_reader(self._in.fileno(), self._receive, arrived)

    def stop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        loop.remove_reader(self._in.fileno())
        loop.remove_writer(self._out.fileno())
        while self._kept:
            os.close(self._kept.popleft()[0])

    def send(self, descriptor: int, data: bytes) -> bool:
        """The caller keeps the descriptor, and may close it. False: nothing was sent."""
        if self._loop is None or len(data) > LONGEST:
            return False
        if not self._kept:
            try:
                self._send(descriptor, data)
            except BlockingIOError:
                pass
            except OSError:
                return False
            else:
                return True
        if len(self._kept) >= _KEPT:
            return False
        try:
            copy = os.dup(descriptor)
        except OSError:
            return False
        self._kept.append((copy, data))
        self._loop.add_writer(self._out.fileno(), self._send_kept)
        return True

    def _send(self, descriptor: int, data: bytes) -> None:
        rights = array.array("i", [descriptor])
        # Never empty: an empty message looks like the end of the connection.
        self._out.sendmsg(
            [b"+", data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], socket.MSG_NOSIGNAL
        )

    def _send_kept(self) -> None:
        while self._kept:
            descriptor, data = self._kept[0]
            try:
                self._send(descriptor, data)
            except BlockingIOError:
                return
            except OSError:
                # The client sees a closed connection, as if the other process had ended with it.
                pass
            self._kept.popleft()
            os.close(descriptor)
        assert self._loop is not None
        self._loop.remove_writer(self._out.fileno())

    def _receive(self, arrived: Arrived) -> None:
        for _ in range(_AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._in, LONGEST + 1, 1)
            except BlockingIOError:
                # Another process has taken the message.
                return
            except OSError:
                data, descriptors = b"", []
            if not data:
                # All processes at the other end have ended, and so will this one.
                if self._loop is not None:
                    self._loop.remove_reader(self._in.fileno())
                return
            if descriptors:
                taken = None
                with suppress(OSError):
                    taken = socket.socket(fileno=descriptors[0])
                if taken is not None:
                    arrived(taken, data[1:])
