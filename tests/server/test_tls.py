"""`serve` with a certificate, and the client against it."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from pywasmtok import InvalidArgument, create_tokenizer
from pywasmtok.client import AsyncClient, Client, Retries
from pywasmtok.client.errors import ConnectionFailed
from pywasmtok.server.config import Config, Listen
from pywasmtok.server.workers.supervisor import run

from .certificates import make_certificate
from .serving import served, until

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "certificate.pem", folder / "key.pem"
    make_certificate(made, key)
    return made, key


def test_a_server_with_a_certificate(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    made, key = certificate
    keys = tmp_path / "admin"
    flags = ["--certificate", str(made), "--private-key", str(key), "--admin-key-file", str(keys)]
    with served("builtin:demo", *flags) as server:
        assert server.address.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(made))
        text = "over TLS: 你好"
        ids = create_tokenizer("builtin:demo").encode(text).ids
        admin = keys.read_text().strip()
        with Client(server.address, key=admin, verify=trusting) as client:
            assert client.tokenizer("demo").encode(text).ids == ids
        asyncio.run(_over_a_socket(server.address, admin, trusting, ids, text))
        # Nobody said that this certificate is one to trust.
        careful = Client(server.address, retries=Retries(most=0))
        with careful, pytest.raises(ConnectionFailed):
            careful.tokenizer("demo").encode(text)
        with pytest.raises((httpx.HTTPError, OSError)):
            httpx.get(server.address.replace("https:", "http:") + "/health", timeout=60)


async def _over_a_socket(
    address: str, admin: str, trusting: ssl.SSLContext, ids: list[int], text: str
) -> None:
    client = AsyncClient(address, key=admin, verify=trusting)
    async with client, client.tokenizer("demo").streams() as streams:
        stream = await streams.open()
        await stream.send(ids)
        await stream.finish()
        assert "".join([part async for part in stream]) == text


def test_what_is_no_certificate_is_a_typed_error(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    made, key = map(str, certificate)
    nothing = str(tmp_path / "nothing.pem")
    for pair in ((made, None), (None, key), (nothing, key), (key, made)):
        with pytest.raises(InvalidArgument, match="TLS"):
            run(Config(listen=Listen(port=0, certificate=pair[0], private_key=pair[1])))


def test_connections_without_a_handshake_are_counted_and_end(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    made, key = map(str, certificate)
    config = tmp_path / "server.toml"
    trusting = ssl.create_default_context(cafile=made)
    flags = ["--config", str(config), "--certificate", made, "--private-key", key]
    # The bound closes them; the time is too long for that.
    config.write_text("[bounds]\nconnections = 8\nhandshake-seconds = 3000\n")
    with served("builtin:demo", *flags) as server:
        half = [_connected(server.address) for _ in range(40)]
        assert httpx.get(f"{server.address}/health", verify=trusting, timeout=60).status_code == 200
        assert half[0].recv(1) == b""
        for one in half:
            one.close()
    # The time closes them; the bound is too high for that.
    config.write_text("[bounds]\nhandshake-seconds = 0.5\n")
    with served("builtin:demo", *flags) as server:
        for begun in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            with _connected(server.address) as late:
                late.sendall(begun)
                assert late.recv(1) == b""
        # A client that is paused has no time for a handshake either.
        until(lambda: is_served(server.address, trusting))


def is_served(address: str, trusting: Any) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/health", verify=trusting, timeout=60).status_code == 200
    return False


def _connected(address: str) -> socket.socket:
    # The client's bound is below the 60 seconds that a handshake has by default in asyncio.
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=50)
