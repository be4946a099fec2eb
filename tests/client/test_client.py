"""Tokenizers, names, usage, tenants and keys, by both clients."""

from __future__ import annotations

import asyncio
import lzma
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from client.live import local_tokenizer, serving
from pywasmtok import InvalidArgument, StopSequenceConfig, Unsupported
from pywasmtok.client import AsyncClient, Client, ConnectionFailed, RemoteError
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.errors import Forbidden, NotFound, Unauthorized
from pywasmtok.tenants.errors import UnknownTokenizer

DEMO = lzma.decompress(files("pywasmtok").joinpath("data", "demo.tokenizer.json.xz").read_bytes())


@pytest.fixture(scope="module")
def with_keys() -> Iterator[tuple[str, str]]:
    """A server with an admin, and its key."""
    key, record = make_key(None)
    with serving(identity=True) as (url, service):
        service.store.put_key(record)
        yield url, key


def test_uploads_and_names(url: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(DEMO)
    with Client(url) as client:
        one = client.upload("mine", path)
        assert client.upload("org/mine", DEMO).digest == one.digest
        assert (one.name, one.public, one.bytes) == ("mine", False, len(DEMO))
        assert {"mine", "demo"} <= {tok.name for tok in client.tokenizers()} | {
            name for tok in client.tokenizers() for name in tok.aliases
        }
        client.alias("other", "mine")
        assert set(client.info("mine").aliases) == {"mine", "other", "org/mine"}
        here = local_tokenizer()
        assert client.tokenizer("org/mine").encode("Hello").ids == here.encode("Hello").ids
        client.remove_alias("org/mine")
        client.delete("other")
        client.delete("mine")
        with pytest.raises(UnknownTokenizer):
            client.tokenizer("mine").encode("a")
        assert client.usage().tenant == "local"
        with pytest.raises(InvalidArgument, match="no name"):
            client.info("../usage")
        with pytest.raises(InvalidArgument, match="bytes or a path"):
            client.upload("mine", 3)  # type: ignore[arg-type]


def test_tenants_and_their_keys(with_keys: tuple[str, str]) -> None:
    url, key = with_keys
    with Client(url, key=key) as admin:
        made = admin.put_tenant("acme", {"tokenizers": 3})
        assert (made.name, made.limits["tokenizers"]) == ("acme", 3)
        new = admin.make_key("acme")
        assert [one.id for one in admin.tenant("acme").keys] == [new.id]
        assert "acme" in [one.name for one in admin.tenants()]
        with Client(url, key=new.key) as acme:
            assert acme.usage().limits["tokenizers"] == 3
            assert acme.tokenizer("demo").encode("a").ids
            with pytest.raises(Forbidden):
                acme.tenants()
        admin.remove_key("acme", new.id)
        with Client(url, key=new.key) as gone, pytest.raises(Unauthorized):
            gone.usage()
        admin.remove_tenant("acme")
        with pytest.raises(NotFound):
            admin.tenant("acme")
        with pytest.raises(InvalidArgument):
            admin.tenant("..")


def test_the_key_of_the_environment(
    with_keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, key = with_keys
    with Client(url, key="") as nobody, pytest.raises(Unauthorized):
        nobody.tokenizers()
    monkeypatch.setenv("PYWASMTOK_API_KEY", key)
    with Client(url) as admin:
        assert admin.tokenizers()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_has_connections_of_its_own(url: str) -> None:
    with Client(url) as client:
        tok = client.tokenizer("demo")
        ids = tok.encode("Hello").ids
        child = os.fork()
        if child == 0:
            os._exit(0 if all(tok.encode("Hello").ids == ids for _ in range(5)) else 1)
        same = all(tok.encode("Hello").ids == ids for _ in range(5))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert same


def test_awaited(url: str) -> None:
    async def main() -> None:
        here = local_tokenizer()
        async with AsyncClient(url) as client:
            tok = client.tokenizer("demo")
            text = "naïve 🌶 text"
            ids = here.encode(text).ids
            many = await asyncio.gather(*[tok.encode(text) for _ in range(20)])
            assert all(one.ids == ids for one in many)
            with pytest.raises(Unsupported, match="cannot wait"):
                many[0].tokens  # noqa: B018
            detailed = await tok.encode_with_details(text)
            assert detailed.byte_offsets == here.encode(text).byte_offsets
            assert (await tok.encode_batch([text, ("a", "b")])).ids == here.encode_batch(
                [text, ("a", "b")]
            ).ids
            assert await tok.encode_batch([text]) == here.encode_batch([text])
            parts = [(text, False), ("x", True)]
            assert await tok.encode_segments(parts) == here.encode_segments(parts)
            assert await tok.count(text) == len(ids)
            assert await tok.count_batch([text]) == [len(ids)]
            assert await tok.fits(text, 1) is False
            assert (await tok.truncate(text, 2)).text == here.truncate(text, 2).text
            assert await tok.decode(ids) == text
            assert await tok.decode_batch([ids]) == [text]
            chat = [{"role": "user", "content": "Hi"}]
            said = await tok.apply_chat_template(chat, tokenize=False)
            assert said == here.apply_chat_template(chat, tokenize=False)
            assert await tok.apply_chat_template(chat, return_dict=False) == here.encode(
                said, add_special_tokens=False
            )
            assert (await tok.encode_chat(chat)).ids == here.encode_chat(chat).ids
            assert (await tok.info()).name == "demo"
            assert (await tok.limited(deadline=60).encode(text)).ids == ids
            made = await client.upload("awaited", DEMO)
            assert await client.info("awaited") == made
            await client.delete("awaited")
        assert client.closed

    asyncio.run(main())


def test_awaited_streams(url: str) -> None:
    async def main() -> None:
        here = local_tokenizer()
        ids = here.encode("Well, yes! And no").ids
        async with AsyncClient(url) as client:
            tok = client.tokenizer("demo")
            stream = tok.decode_stream()
            text = await stream.step_batch(ids[:3])
            assert stream.state
            onward = tok.decode_stream().resumed(stream.state)
            assert text + await onward.step_batch(ids[3:]) + await onward.flush() == here.decode(
                ids
            )
            ending = tok.stop_decoder(StopSequenceConfig(stop_sequences=("yes",)))
            assert await ending.step_batch(ids) == "Well, "
            assert ending.is_stopped
            assert ending.matched is not None
            assert ending.matched.string == "yes"
            assert await ending.step(ids[0]) == ""

    asyncio.run(main())


def test_many_streams_over_one_socket(url: str) -> None:
    pytest.importorskip("websockets")

    async def read(stream: Any) -> str:
        return "".join([text async for text in stream])

    async def main() -> None:
        here = local_tokenizer()
        ids = here.encode("Well, yes! And no 🌶").ids
        async with AsyncClient(url) as client, client.tokenizer("demo").streams() as streams:
            plain = [await streams.open() for _ in range(5)]
            stopping = await streams.open(stops=StopSequenceConfig(stop_sequences=("yes",)))
            for one in ids:
                for stream in plain:
                    await stream.send([one])
            await stopping.send(ids)
            for stream in plain:
                await stream.finish()
            assert [await read(stream) for stream in plain] == [here.decode(ids)] * 5
            assert await read(stopping) == "Well, "
            assert stopping.matched is not None
            with_error = await streams.open()
            await with_error.send([4_000_000_000])
            await with_error.finish()
            assert await read(with_error) == ""

    asyncio.run(main())


def test_a_socket_that_is_refused_is_a_typed_error(url: str, with_keys: tuple[str, str]) -> None:
    pytest.importorskip("websockets")

    async def main() -> None:
        async with AsyncClient(url) as client:
            with pytest.raises(UnknownTokenizer):
                async with client.tokenizer("nothing").streams():
                    pass
        async with AsyncClient(with_keys[0], key="") as client:
            with pytest.raises(Unauthorized):
                async with client.tokenizer("demo").streams():
                    pass
        async with AsyncClient("http://127.0.0.1:9", key="") as client:
            with pytest.raises(ConnectionFailed):
                async with client.tokenizer("demo").streams():
                    pass

    asyncio.run(main())


def test_a_socket_follows_no_redirection() -> None:
    """A key is for the server that it was given for."""
    pytest.importorskip("websockets")
    reached = []

    async def main() -> None:
        async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            reached.append(await reader.read(1))
            writer.close()

        async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()
            writer.close()

        other = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
        target = f"ws://127.0.0.1:{other.sockets[0].getsockname()[1]}/x"
        first = await asyncio.start_server(server, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{first.sockets[0].getsockname()[1]}"
        async with other, first, AsyncClient(url, key="secret") as client:
            with pytest.raises(RemoteError, match="answered 302"):
                async with client.tokenizer("demo").streams():
                    pass

    asyncio.run(main())
    assert reached == []
