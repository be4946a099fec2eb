"""The API over the real service and the real HTTP server; the examples of docs/api.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import small
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streams import llama
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import pywasmtok
from pywasmtok.server import api
from pywasmtok.server.app import create_app
from pywasmtok.server.config import Config, Logs
from pywasmtok.server.opening import open_service

from .calls import PREFIX, events_of
from .live import serving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


class Live(NamedTuple):
    port: int
    service: Any

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PREFIX}"

    def socket(self, name: str) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}{PREFIX}/tokenizers/{name}/stream")


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    config = Config(tokenizers={"demo": "builtin:demo"}, logs=Logs(access=False))
    service = open_service(config)
    try:
        with serving(create_app(service, api.routes(service)), config) as port:
            yield Live(port, service)
    finally:
        service.close()


def say(socket: ClientConnection, **message: Any) -> dict[str, Any]:
    socket.send(json.dumps(message))
    answer: dict[str, Any] = json.loads(socket.recv())
    return answer


def test_ids_of_the_library(live: Live) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    texts = ["Hello world", "", "naïve 🌶 text", "x" * 5000, "你好 " * 3000]
    with httpx.Client(base_url=live.url, timeout=60) as client:
        found = client.post("/tokenizers/demo/encode", json={"texts": texts}).json()
        assert found["ids"] == tok.encode_batch(texts).ids
        back = client.post("/tokenizers/demo/decode", json={"batch": found["ids"]}).json()
        assert back["texts"] == texts
        used = client.get("/usage").json()
        assert used["tokens"] >= 2 * sum(map(len, found["ids"]))


def test_a_hot_swap_under_an_open_socket(live: Live) -> None:
    with httpx.Client(base_url=live.url, timeout=60) as client:
        client.put("/tokenizers/swapped", content=llama()).raise_for_status()
        with live.socket("swapped") as socket:
            first = say(socket, stream="a", open=True, ids=[0xE4, 0xBD])
            began = client.post("/tokenizers/swapped/stream", json={"ids": [0xE4, 0xBD]})
            client.put("/tokenizers/swapped", content=small.file()).raise_for_status()
            last = say(socket, stream="a", ids=[0xA0], finish=True)
            assert first["text"] + last["text"] == "你"
            body = {"ids": [0xA0], "finish": True, "state": events_of(began.text)[-1][1]["state"]}
            went_on = client.post("/tokenizers/swapped/stream", json=body)
            assert events_of(went_on.text)[0] == ("text", {"text": "你"})
        client.delete("/tokenizers/swapped").raise_for_status()


def test_evicted_while_a_stream_is_open(live: Live) -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    ids = tok.encode("naïve 🌶 text").ids
    text = ""
    with live.socket("demo") as socket:
        text += say(socket, stream="a", open=True)["text"]
        for number in ids:
            live.service.pool.get("local").evict()
            text += say(socket, stream="a", ids=[number])["text"]
        text += say(socket, stream="a", finish=True)["text"]
    assert text == "naïve 🌶 text"


def test_a_socket_to_nothing_is_refused_as_http(live: Live) -> None:
    with pytest.raises(Exception, match=r"HTTP 40[34]"), live.socket("nothing"):
        pass


def run(script: str, url: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        env={**os.environ, "API": url},
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_examples_of_the_page(live: Live, tmp_path: Path) -> None:
    """Each block of commands, and the answer that the page shows right behind it."""
    (tmp_path / "tokenizer.json").write_bytes(small.file())
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    compared = 0
    for (kind, body), (next_kind, shown) in pairwise([*blocks, ("", "")]):
        if kind != "sh":
            continue
        answered = run(body, live.url, tmp_path)
        if next_kind == "json":
            assert_shown(json_lines(shown), json_lines(answered.replace("}{", "}\n{")))
            compared += 1
        elif next_kind == "text" and not shown.startswith(">"):
            pattern = re.escape(shown.strip()).replace(re.escape("..."), '[^"]*')
            assert re.fullmatch(pattern, answered.strip()), answered
            compared += 1
        else:
            assert '"error"' not in answered, answered
    assert compared >= 7


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line]


def assert_shown(shown: Any, found: Any) -> None:
    """What is shown is there; `...` stands for any text."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            assert_shown(value, found[name])
    elif isinstance(shown, list):
        assert len(shown) == len(found)
        for one, other in zip(shown, found, strict=True):
            assert_shown(one, other)
    else:
        assert shown in ("...", found)


def test_the_socket_of_the_page(live: Live) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (talk,) = re.findall(r"```text\n(> .*?)```", page, re.DOTALL)
    with live.socket("demo") as socket:
        for line in talk.splitlines():
            if line.startswith("> "):
                socket.send(line[2:])
            else:
                assert socket.recv() == line[2:]


def test_drain_ends_sockets_with_their_states() -> None:
    config = Config(tokenizers={"demo": "builtin:demo"}, logs=Logs(access=False))
    service = open_service(config)

    async def drain(request: Request) -> Response:
        service.lifecycle.drain()
        return Response()

    routes = [*api.routes(service), Route("/drain", drain)]
    try:
        with serving(create_app(service, routes), config) as port:
            live = Live(port, service)
            with live.socket("demo") as socket:
                say(socket, stream="a", open=True, ids=[16034])
                httpx.get(f"http://127.0.0.1:{port}/drain", timeout=60).raise_for_status()
                last = json.loads(socket.recv())
                assert (last["stream"], last["ended"]) == ("a", True)
                assert last["error"]["kind"] == "draining"
                assert last["state"]
                with pytest.raises(ConnectionClosed) as closed:
                    socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1012
    finally:
        service.close()
