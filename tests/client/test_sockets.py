"""Streams over a WebSocket: what is wrong with one of them stays with it."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from server.certificates import make_certificate

from client.live import local_tokenizer
from pywasmtok import (
    InputTooLarge,
    InvalidArgument,
    InvalidToken,
    StopSequenceConfig,
    TokenizerError,
)
from pywasmtok.client import (
    AsyncClient,
    Client,
    ConnectionFailed,
    RemoteError,
    RemoteTimeout,
    Retries,
)
from pywasmtok.tenants import TooManyRequests

pytest.importorskip("websockets", reason="the extra `server` is not installed")

STOPS = StopSequenceConfig()


async def read(stream: Any) -> str:
    return "".join([text async for text in stream])


WRONG: list[tuple[dict[str, Any], type[TokenizerError]]] = [
    ({"byte_runs": "zz"}, InvalidArgument),
    ({"unknown_id": "bad"}, InvalidArgument),
    ({"prompt_ids": ["a"]}, InvalidArgument),
    ({"prompt_ids": [-1]}, InvalidToken),
    ({"prompt_ids": [4_000_000_000] * 100_000}, InputTooLarge),
    ({"stops": 7}, InvalidArgument),
    ({"stops": STOPS, "eos_token_ids": ["a"]}, InvalidArgument),
    ({"stops": STOPS, "eos_token_ids": 5}, InvalidArgument),
]


def test_a_stream_that_is_refused_leaves_the_others(url: str) -> None:
    async def main() -> None:
        ids = local_tokenizer().encode("Hello").ids
        async with AsyncClient(url) as client, client.tokenizer("demo").streams() as streams:
            good = await streams.open()
            for how, error in WRONG:
                with pytest.raises(error):
                    await streams.open(**how)
            for wrong in (["a"], [1.5], 7, b"1"):
                with pytest.raises(InvalidArgument):
                    await good.send(wrong)  # type: ignore[arg-type]
            await good.send(ids)
            await good.finish()
            assert await read(good) == "Hello"

    asyncio.run(main())


def test_flags_are_as_true_as_they_are_here(url: str) -> None:
    yes: Any = "yes"
    here = local_tokenizer()
    ids = here.encode("Hello").ids
    stops = StopSequenceConfig(ignore_eos=yes)

    async def main() -> None:
        async with AsyncClient(url) as client, client.tokenizer("demo").streams() as streams:
            stream = await streams.open(ids, yes, stops=stops)
            await stream.send(ids)
            await stream.finish()
            assert await read(stream) == "Hello"
            step = client.tokenizer("demo").stop_decoder(stops, (), yes)
            assert await step.step_batch(ids) == "Hello"

    asyncio.run(main())
    with Client(url) as client:
        there = client.tokenizer("demo")
        assert there.encode_batch(["Hello"], yes).ids == [ids]
        assert there.encode_segments([("Hello", True)], yes).ids == ids
        assert there.count_batch(["Hello"], yes) == [len(ids)]
        assert there.decode_batch([ids], yes) == ["Hello"]


def test_ids_of_requests_are_checked_before_they_are_sent() -> None:
    async def main() -> None:
        async with AsyncClient("http://127.0.0.1:9", key="") as client:
            tok = client.tokenizer("demo")
            for wrong in (["a"], [1.5]):
                with pytest.raises(InvalidArgument):
                    await tok.decode_stream().step_batch(wrong)  # type: ignore[arg-type]
                with pytest.raises(InvalidArgument):
                    tok.stop_decoder(STOPS, eos_token_ids=wrong)  # type: ignore[arg-type]
            with pytest.raises(InvalidArgument):
                tok.stop_decoder(None)  # type: ignore[arg-type]

    asyncio.run(main())


def test_many_ids_at_once(url: str) -> None:
    """More than a message of the server may have."""

    async def main() -> None:
        here = local_tokenizer()
        ids = here.encode("Hello world. " * 1000).ids
        many = ids * (300_000 // len(ids))
        async with AsyncClient(url) as client, client.tokenizer("demo").streams() as streams:
            stream = await streams.open()
            await stream.send(many)
            await stream.send([])
            await stream.finish()
            assert await read(stream) == here.decode(many)

    asyncio.run(main())


def test_a_stream_that_is_over_is_over_each_time(url: str) -> None:
    async def main() -> None:
        ids = local_tokenizer().encode("Hello").ids
        async with AsyncClient(url) as client, client.tokenizer("demo").streams() as streams:
            ended, failed, lost = [await streams.open(unknown_id="error") for _ in range(3)]
            await ended.send(ids)
            await ended.finish()
            # More than one reader, of which one finds the end.
            assert sorted(await asyncio.gather(read(ended), read(ended))) == ["", "Hello"]
            assert await read(ended) == ""
            await failed.send([4_000_000_000])
            for _ in range(2):
                with pytest.raises(InvalidToken):
                    await read(failed)
        for _ in range(2):
            with pytest.raises(ConnectionFailed):
                await read(lost)

    async def bounded() -> None:
        # A stream that never ends is what this looks for.
        await asyncio.wait_for(main(), 60)

    asyncio.run(bounded())


def test_streams_have_one_connection(url: str) -> None:
    async def main() -> None:
        async with AsyncClient(url) as client:
            streams = client.tokenizer("demo").streams()
            async with streams:
                with pytest.raises(InvalidArgument, match="had their connection"):
                    await streams.__aenter__()
            with pytest.raises(InvalidArgument, match="had their connection"):
                async with streams:
                    pass

    asyncio.run(main())


def test_a_handshake_has_the_deadline_of_a_call() -> None:
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with AsyncClient(url, key="", deadline=3600) as client:
                tok = client.tokenizer("demo").limited(deadline=0.01)
                with pytest.raises(RemoteTimeout) as late:
                    await asyncio.wait_for(tok.streams().__aenter__(), 60)
                assert late.value.limit == 0.01

    asyncio.run(main())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_verified_unless_the_client_says_otherwise(tmp_path: Path) -> None:
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make_certificate(made, key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made, key)

    async def main() -> None:
        async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(server, "127.0.0.1", 0, ssl=serving) as listening:
            url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            trusting = ssl.create_default_context(cafile=made)
            for verify, error, said in (
                (True, ConnectionFailed, "certificate"),
                (False, RemoteError, "answered 404"),
                (trusting, RemoteError, "answered 404"),
            ):
                async with AsyncClient(url, key="", verify=verify) as client:
                    with pytest.raises(error, match=said):
                        await client.tokenizer("demo").streams().__aenter__()

    asyncio.run(main())


def test_a_host_that_cannot_be_looked_up_is_a_typed_error() -> None:
    async def main() -> None:
        async with AsyncClient(f"http://{'ü' * 64}.de", key="") as client:
            with pytest.raises(ConnectionFailed):
                await client.tokenizer("demo").streams().__aenter__()

    asyncio.run(main())


class Refusing:
    """A server that refuses each message once; what it takes of ids comes back as text."""

    def __init__(self, times: int = 1) -> None:
        self.times = times
        self.heard: list[dict[str, Any]] = []
        self.arrived = asyncio.Event()
        self.handshakes = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        from websockets.asyncio.server import serve

        async with serve(self.answer, "127.0.0.1", 0, process_request=self.shake) as server:
            yield f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"

    def shake(self, connection: Any, request: Any) -> Any:
        self.handshakes += 1
        if self.handshakes <= self.times:
            return connection.respond(503, "")
        return None

    async def answer(self, connection: Any) -> None:
        async for text in connection:
            message = json.loads(text)
            self.heard.append(message)
            self.arrived.set()
            name = message["stream"]
            event: dict[str, Any] = {
                "stream": name,
                "text": "".join(map(str, message.get("ids", ()))),
            }
            if self.heard.count(message) <= self.times:
                error = {"kind": "too_many_requests", "message": "", "retry_after": 0.001}
                event = {"stream": name, "error": error, "ended": message.get("open")}
            elif "finish" in message:
                event["ended"] = True
            await connection.send(json.dumps(event))


QUICK = Retries(first=0.001)


def test_what_is_refused_for_want_of_room_is_sent_again_and_in_order() -> None:
    async def main() -> None:
        server = Refusing()
        async with (
            server.serving() as url,
            AsyncClient(url, key="", retries=QUICK) as client,
            client.tokenizer("demo").streams() as streams,
        ):
            assert server.handshakes == 2
            stream = await streams.open()
            server.arrived.clear()
            cancelled = asyncio.create_task(stream.send([1]))
            await server.arrived.wait()
            cancelled.cancel()
            await asyncio.gather(stream.send([2]), stream.send([3]))
            await stream.finish()
            assert await read(stream) == "123"
            sent = [message.get("ids") for message in server.heard]
            assert sent == [None, None, [1], [1], [2], [2], [3], [3], None, None]

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_stream_that_is_given_up_is_finished_on_the_server() -> None:
    async def main() -> None:
        server = Refusing(times=0)
        async with (
            server.serving() as url,
            AsyncClient(url, key="", retries=Retries(most=1, first=0.001)) as client,
            client.tokenizer("demo").streams() as streams,
        ):
            given_up, other = await streams.open(), await streams.open()
            server.times = 99
            await given_up.send([1])
            with pytest.raises(TooManyRequests):
                await read(given_up)
            server.times = 0
            await other.send([2])
            await other.finish()
            assert await read(other) == "2"
            name = given_up.name
            sent = [message for message in server.heard if message["stream"] == name]
            assert sent == [
                {"stream": name, "open": True, "skip_special_tokens": True},
                *[{"stream": name, "ids": [1]}] * 2,
                {"stream": name, "finish": True},
            ]

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_answer_that_does_not_come_ends_the_stream() -> None:
    async def main() -> None:
        from websockets.asyncio.server import serve

        async def silent(connection: Any) -> None:
            async for _ in connection:
                pass

        async with serve(silent, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
            async with AsyncClient(url, key="") as client:
                streams = client.tokenizer("demo").streams()
                async with streams:
                    streams._deadline = 0.01
                    stream = await streams.open()
                    with pytest.raises(RemoteTimeout):
                        await read(stream)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_error_of_the_server_names_its_stream(url: str) -> None:
    from websockets.sync.client import connect

    with connect(f"ws{url.removeprefix('http')}/api/v1/tokenizers/demo/stream") as socket:

        def say(message: str | bytes) -> dict[str, Any]:
            socket.send(message)
            answer: dict[str, Any] = json.loads(socket.recv())
            return answer

        say('{"stream": "a", "open": true}')
        refused = say('{"stream": "a", "ids": ["x"]}')
        assert (refused["stream"], "ended" in refused) == ("a", False)
        refused = say('{"stream": "b", "open": true, "byte_runs": "zz"}')
        assert (refused["stream"], refused["ended"]) == ("b", True)
        deep = "[" * 50_000
        for unread in ('{"stream": "a", "ids": [', f'{{"stream": "a", "ids": {deep}', '{"ids": 1}'):
            assert "stream" not in say(unread)
        assert "stream" not in say(b'{"stream": "\xff"}')
        assert say('{"stream": "a", "finish": true}')["ended"] is True
