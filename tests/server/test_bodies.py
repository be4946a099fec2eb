"""Bodies that have come and answers that are not taken: how much of them there may be."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pywasmtok.server import api
from pywasmtok.server.app import App, create_app
from pywasmtok.server.config import Bounds, Config
from pywasmtok.server.requests.body import read
from pywasmtok.server.requests.body_budget import FREE, LARGE, Bodies, Row
from pywasmtok.server.requests.record import Exchange
from pywasmtok.tenants.errors import Overloaded, TooManyRequests

from .direct_work import service_without_threads
from .test_body import request_of

MEGABYTE = 1 << 20


def test_a_tenant_has_its_share_and_all_have_theirs() -> None:
    bodies = Bodies(MEGABYTE)
    for _ in range(8):
        bodies.take("greedy", MEGABYTE)
    with pytest.raises(TooManyRequests):
        bodies.take("greedy", 1)
    for number in range(24):
        bodies.take(f"tenant {number}", MEGABYTE)
    with pytest.raises(Overloaded):
        bodies.take("late", 1)
    bodies.give_back("greedy", 8 * MEGABYTE)
    bodies.take("late", MEGABYTE)
    assert bodies.held == 25 * MEGABYTE


def test_uploads_have_places() -> None:
    bodies = Bodies(MEGABYTE)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(bodies.upload("a", 2))
        with pytest.raises(TooManyRequests), bodies.upload("a", 2):
            pass
        stack.enter_context(bodies.upload("b", 2))
    with bodies.upload("a", 1):
        pass


def test_uploads_of_all_have_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes disk for a temporary file."""
    monkeypatch.setattr("pywasmtok.server.requests.body_budget._UPLOADS", 3)
    bodies = Bodies(MEGABYTE)
    with ExitStack() as held:
        for name in ("a", "b", "c"):
            held.enter_context(bodies.upload(name, 2))
        with pytest.raises(Overloaded), bodies.upload("d", 2):
            pass
    with bodies.upload("d", 2):
        pass


def test_slow_bodies_of_one_tenant_end_in_a_refusal() -> None:
    """With connections enough, they would fill the memory of the server."""

    async def ask() -> None:
        service = service_without_threads(Config(bounds=Bounds(body_bytes=MEGABYTE)))
        app = create_app(service, api.routes(service))
        come, go = asyncio.Semaphore(0), asyncio.Event()

        async def slow() -> Any:
            yield b'{"text": "' + b"x" * 900_000
            come.release()
            await go.wait()
            yield b'"}'

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

            async def post(content: Any) -> httpx.Response:
                return await client.post("/api/v1/tokenizers/it/encode", content=content)

            held = [asyncio.create_task(post(slow())) for _ in range(9)]
            for _ in held:
                await come.acquire()
            assert 7 * MEGABYTE < app.state.bodies.held <= 8 * MEGABYTE
            refused = await post(b'{"text": "' + b"x" * 900_000 + b'"}')
            assert refused.status_code == 429
            # Who sends little is not in the way.
            assert (await post(b'{"text": "x"}')).status_code == 404
            go.set()
            assert {(await one).status_code for one in held} == {404}
        assert app.state.bodies.held == 0

    asyncio.run(ask())


SHARE = 8 * FREE


class Asked:
    """A request for an answer of so many bytes, whose parts wait until the client takes them."""

    def __init__(self, app: App, size: int) -> None:
        self.app = app
        self.size = size
        self.status = 0
        self.parts: list[int] = []
        self.takes = asyncio.Event()

    async def __call__(self) -> Asked:
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": f"/{self.size}",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
        }
        await self.app(scope, asyncio.Event().wait, self.send)  # type: ignore[arg-type]
        return self

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif self.status == 200:
            self.parts.append(len(message["body"]))
            await self.takes.wait()


def answering(body_bytes: int = FREE, **bounds: Any) -> App:
    async def answer(request: Request) -> Response:
        return Response(bytes(request.path_params["size"]))

    config = Config(bounds=Bounds(body_bytes=body_bytes, **bounds))
    return create_app(service_without_threads(config), [Route("/{size:int}", answer)])


def test_answers_that_are_not_taken_are_bounded() -> None:
    async def ask() -> None:
        app = answering()
        held = [Asked(app, SHARE // 4) for _ in range(4)]
        tasks = [asyncio.create_task(one()) for one in held]
        while not all(one.parts for one in held):
            await asyncio.sleep(0)
        assert app.state.bodies.held == SHARE
        assert (await Asked(app, FREE + 1)()).status == 429
        small = Asked(app, FREE)
        small.takes.set()
        assert (await small()).status == 200
        for one in held:
            one.takes.set()
        for one in await asyncio.gather(*tasks):
            assert (sum(one.parts), max(one.parts)) == (SHARE // 4, FREE)
        assert app.state.bodies.held == 0
        # It would not fit, however long the client waits.
        assert (await Asked(app, SHARE + 1)()).status == 413

    asyncio.run(ask())


def test_an_answer_that_is_taken_too_slowly_is_cut_off() -> None:
    """Although each of its parts is taken in time."""

    class Slow(Asked):
        async def send(self, message: Any) -> None:
            await super().send(message)
            await asyncio.sleep(0.02)

    async def ask() -> None:
        app = answering(MEGABYTE, header_seconds=0.5, body_bytes_per_second=1 << 40)
        slow = Slow(app, 8 * MEGABYTE)
        slow.takes.set()
        assert sum((await slow()).parts) < slow.size
        assert app.state.bodies.held == 0

    asyncio.run(ask())


def test_of_large_bodies_one_goes_on_at_a_time() -> None:
    """And between two of them the event loop goes round."""
    rounds = 0
    seen: list[tuple[str, int]] = []

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def comes(row: Row, name: str, parts: int) -> None:
        for _ in range(parts):
            await row.turn()
            seen.append((name, rounds))

    async def run() -> None:
        row = Row()
        counting = asyncio.create_task(count())
        gone = asyncio.create_task(comes(row, "gone", 3))
        rest = [asyncio.create_task(comes(row, name, 3)) for name in "ab"]
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(*rest)
        # Once more after it was empty.
        await row.turn()
        counting.cancel()

    asyncio.run(run())
    assert [name for name, _ in seen] == ["a", "b"] * 3
    assert len({turn for _, turn in seen}) == len(seen)


def test_what_is_not_large_waits_for_no_round_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0

    async def turn(_: Row) -> None:
        nonlocal turns
        turns += 1

    monkeypatch.setattr(Row, "turn", turn)

    def sent(parts: int) -> int:
        request = request_of([b"x" * 1024] * parts)
        request.scope["state"] = {"exchange": Exchange("POST", bodies=Bodies(1 << 20))}
        return len(asyncio.run(read(request, 1 << 20)))

    assert sent(LARGE >> 10) == LARGE
    assert turns == 0
    assert sent((LARGE >> 10) + 2) == LARGE + 2048
    assert turns == 2
