"""TLS: certificates, and a listener whose connections are counted before their handshake."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidArgument
from .connections import Admission, Connections

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ..config import Listen

__all__ = ["Handshake", "TlsListener", "tls_context"]

# After an accept that failed for want of descriptors or memory.
_PAUSE_SECONDS: Final = 1.0
_WANTING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def tls_context(listen: Listen) -> ssl.SSLContext | None:
    """Of the files as they are now. None: no TLS. InvalidArgument."""
    certificate, key = listen.certificate, listen.private_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InvalidArgument("TLS needs both --certificate and --private-key")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        made.load_cert_chain(certificate, key, "")
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"no TLS with {certificate} and {key}: {getattr(error, 'strerror', None) or error}",
            hint="Both are PEM files; a key that needs a password is not taken",
        ) from None
    return made


class Handshake:
    """A connection from its acceptance to the end of its handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.is_spare = False

    def abort(self) -> None:
        # The event loop reads the end of the connection, and closes it.
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def is_idle(self) -> bool:
        return True


class TlsListener:
    """For the event loop."""

    def __init__(
        self,
        context: ssl.SSLContext,
        connections: Connections,
        listening: list[socket.socket],
        protocol: Callable[[], Any],
    ) -> None:
        """`protocol` makes a `BoundedHttp`."""
        self.context = context
        """For the next handshakes."""
        self._connections = connections
        self._listening = listening
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        for one in self._listening:
            one.setblocking(False)
            self._keep(self._accepting(one))

    def stop(self) -> None:
        """Connections stay open; handshakes end."""
        for task in self._tasks:
            task.cancel()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accepting(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, address = await self._loop.sock_accept(listening)
            except OSError as error:
                if error.errno in _WANTING:
                    await asyncio.sleep(_PAUSE_SECONDS)
                continue
            connection.setblocking(False)
            self._begin(connection, address[0])

    def _begin(self, connection: socket.socket, address: str) -> None:
        handshake = Handshake(connection)
        admission = self._connections.admit(handshake, address, handshake.is_idle)
        if admission in (Admission.FULL, Admission.ADDRESS_FULL):
            # Without a handshake nothing can be said.
            connection.close()
            return
        handshake.is_spare = admission is Admission.SPARE
        self._keep(self._made(handshake))

    async def _made(self, handshake: Handshake) -> None:
        def protocol() -> Any:
            made = self._protocol()
            made.handshake = handshake
            return made

        try:
            await self._loop.connect_accepted_socket(
                protocol,
                handshake.connection,
                ssl=self.context,
                ssl_handshake_timeout=self._connections.bounds.handshake_seconds,
            )
        except OSError:
            # The client has left, is too late, or speaks no TLS.
            pass
        finally:
            self._connections.gone(handshake)
