"""An application behind the real HTTP server, on a port of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn

from pywasmtok.server.config import Config
from pywasmtok.server.http.options import uvicorn_options
from pywasmtok.server.opening import open_service
from pywasmtok.server.service import Service

__all__ = ["Connection", "service_of", "serving"]


@contextmanager
def service_of(tokenizers: Mapping[str, str | bytes], **config: Any) -> Iterator[Service]:
    """All parts of a server, with nothing on the disk. The operator's tokenizers are these only:
    sources as in a configuration, or the bytes of files. A call may take a minute, if nothing else
    is said: no test depends on what else the machine does."""
    limits = config.pop("limits", {})
    config["limits"] = {**limits, "calls": {"deadline": 60.0, **limits.get("calls", {})}}
    sources = {name: one for name, one in tokenizers.items() if isinstance(one, str)}
    service = open_service(Config(tokenizers=sources, **config), from_store=not sources)
    try:
        for name, one in tokenizers.items():
            if isinstance(one, bytes):
                service.publish(name, one, {})
        yield service
    finally:
        service.close()


@contextmanager
def serving(app: Any, config: Config | None = None, kind: Any = None) -> Iterator[int]:
    """The port. `kind`: is given the server, too."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    options = {**uvicorn_options(config or Config(), kind), "log_level": "critical"}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    if kind is not None:
        kind.server = server
    ready = threading.Event()

    async def run() -> None:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        ready.set()
        await task

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(60)


class Connection:
    """Bytes to a server and back: what no client library would send."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._rest = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """False: the server does not listen any more."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer; (0, b""): the connection is closed instead."""
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return 0, b""
        head, _, rest = self._rest.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        lengths = [line for line in lines if line.startswith(b"content-length:")]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        while len(rest) < length:
            if not self._more():
                break
            rest = self._rest.partition(b"\r\n\r\n")[2]
        self._rest = rest[length:]
        return int(lines[0].split(b" ")[1]), rest[:length]

    def is_closed(self) -> bool:
        """Waits until the server closes; what it still says is passed over."""
        while self._more():
            pass
        return True

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            return False
        self._rest += data
        return bool(data)
