"""What is asked again, when, and what never is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from clock import Clock

from pywasmtok import DeadlineExceeded, InvalidArgument, InvalidText, TokenizerError
from pywasmtok.client import (
    AsyncClient,
    BadAnswer,
    Client,
    ConnectionFailed,
    RemoteError,
    RemoteTimeout,
    blocking,
    records,
)
from pywasmtok.client.answers import nothing
from pywasmtok.client.call import Answer, Call
from pywasmtok.client.calls import TokenizerCalls
from pywasmtok.client.retry import Attempts, Retries
from pywasmtok.tenants.errors import Overloaded, TooManyRequests

KEY = "pwt_0123456789"
JSON = {"content-type": "application/json"}


def refusal(status: int, kind: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    body = json.dumps({"error": {"kind": kind, "message": "no", **more}}).encode()
    return Answer(status, {"content-type": "application/json", **(headers or {})}, body)


def attempts(deadline: float = 60.0, chance: float = 0.0, **call: Any) -> tuple[Attempts, Clock]:
    clock = Clock()
    asked: Call[None] = Call("POST", "/x", nothing, **call)
    made = Attempts(asked, Retries(), deadline, now=clock, chance=lambda: chance)
    return made, clock


def test_an_answer_is_an_answer() -> None:
    assert attempts()[0].answered(Answer(200, {}, b"")) is None


def test_waits_double_up_to_the_longest_and_vary_by_half() -> None:
    for chance, factor in ((0.0, 1.0), (1.0, 0.5)):
        turns, _ = attempts(chance=chance)
        waits = [turns.lost(ConnectionFailed("gone")) for _ in range(4)]
        assert waits == [0.1 * factor, 0.2 * factor, 0.4 * factor, 0.8 * factor]
        with pytest.raises(ConnectionFailed):
            turns.lost(ConnectionFailed("gone"))


@pytest.mark.parametrize("status", [429, 503])
def test_the_server_says_how_long(status: int) -> None:
    kind = "too_many_requests" if status == 429 else "overloaded"
    turns, _ = attempts()
    assert turns.answered(refusal(status, kind, retry_after=2.5)) == 2.5
    assert turns.answered(refusal(status, kind, {"retry-after": "3"})) == 3.0
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    waits = turns.answered(refusal(status, kind, {"retry-after": later}))
    assert waits is not None
    assert 5 < waits <= 9
    assert turns.answered(refusal(status, kind, {"retry-after": "soon"})) == 0.8


def test_a_wait_that_passes_the_deadline_is_an_error_now() -> None:
    turns, clock = attempts(deadline=10)
    with pytest.raises(TooManyRequests) as caught:
        turns.answered(refusal(429, "too_many_requests", retry_after=30.0, limit=5, asked=6))
    assert (caught.value.retry_after, caught.value.limit, caught.value.asked) == (30.0, 5, 6)
    clock.now += 10
    with pytest.raises(RemoteTimeout) as late:
        turns.remaining()
    assert isinstance(late.value, DeadlineExceeded | TimeoutError)
    assert late.value.limit == 10


def test_what_does_more_when_done_twice_is_never_done_twice() -> None:
    turns, _ = attempts(repeatable=False)
    with pytest.raises(ConnectionFailed):
        turns.lost(ConnectionFailed("gone"))
    with pytest.raises(Overloaded):
        turns.answered(refusal(503, "overloaded", retry_after=0.1))


def test_waits_stay_at_the_longest_however_many_they_are() -> None:
    clock = Clock()
    often = Retries(most=2000, first=0.001, longest=0.001)
    turns = Attempts(Call("GET", "/x", nothing), often, 60.0, now=clock)
    assert all(turns.lost(ConnectionFailed("gone")) <= 0.001 for _ in range(1100))


def test_a_date_that_no_clock_has_is_no_wait() -> None:
    turns, _ = attempts()
    header = {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}
    assert turns.answered(refusal(503, "draining", header)) is not None


@pytest.mark.parametrize(("status", "kind"), [(400, "bad_request"), (504, "deadline_exceeded")])
def test_other_errors_are_not_asked_again(status: int, kind: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        attempts()[0].answered(refusal(status, kind))
    assert caught.value.kind == kind


@pytest.mark.parametrize("wrong", [{"most": -1}, {"most": True}, {"first": 0}, {"longest": "1"}])
def test_retries_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Retries(**wrong)


Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, **how: Any) -> Client:
    retries = Retries(first=0.001, longest=0.001)
    return Client(
        "http://test", key=KEY, retries=retries, transport=httpx.MockTransport(handler), **how
    )


def failing(*outcomes: Exception | httpx.Response) -> tuple[Handler, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    left: Iterator[Exception | httpx.Response] = iter(outcomes)

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return handler, asked


def found(**fields: Any) -> httpx.Response:
    return httpx.Response(200, json={"tokenizers": [], **fields})


def test_lost_connections_are_made_again() -> None:
    handler, asked = failing(
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("broke off"),
        httpx.ReadError("reset"),
        httpx.Response(503, json={"error": {"kind": "draining", "message": "bye"}}),
        found(),
    )
    with client(handler) as one:
        assert one.tokenizers() == []
    assert len(asked) == 5
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {KEY}"}


def test_a_key_is_made_once() -> None:
    handler, asked = failing(httpx.ReadError("reset"), found())
    with client(handler) as one, pytest.raises(ConnectionFailed):
        one.make_key("acme")
    assert len(asked) == 1


def test_a_deletion_whose_answer_was_lost_is_done() -> None:
    gone = httpx.Response(404, json={"error": {"kind": "unknown_tokenizer", "message": "none"}})
    handler, asked = failing(httpx.ReadError("reset"), gone, gone)
    with client(handler) as one:
        one.delete("mine")
        with pytest.raises(TokenizerError):
            one.delete("mine")
    assert [request.method for request in asked] == ["DELETE"] * 3


def test_an_answer_that_is_late_is_not_asked_for_twice() -> None:
    handler, asked = failing(httpx.ReadTimeout("late"), found())
    with client(handler) as one, pytest.raises(RemoteTimeout):
        one.tokenizers()
    assert len(asked) == 1


def test_a_deadline_is_above_0() -> None:
    handler, asked = failing()
    wrong: list[Any] = [0, -1, float("nan"), "1", True]

    async def awaited() -> None:
        async with AsyncClient("http://test", key=KEY) as one:
            for deadline in wrong:
                with pytest.raises(InvalidArgument, match="deadline"):
                    await one.send(records.usage(), deadline)
                with pytest.raises(InvalidArgument, match="deadline"):
                    one.tokenizer("demo").limited(deadline=deadline)
            with pytest.raises(InvalidArgument, match="deadline"):
                one.tokenizer("demo").limited(deadline=None)  # type: ignore[arg-type]

    with client(handler) as one:
        for deadline in wrong:
            with pytest.raises(InvalidArgument, match="deadline"):
                one.send(records.usage(), deadline)
            with pytest.raises(InvalidArgument, match="deadline"):
                one.tokenizer("demo").limited(deadline=deadline)
    asyncio.run(awaited())
    assert asked == []


def test_a_deadline_ends_an_attempt_that_goes_on() -> None:
    """As the head of an answer that comes byte by byte does: no read is late."""

    class Endless(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.Event().wait()
            raise AssertionError

    async def main() -> None:
        async with AsyncClient("http://test", key=KEY, transport=Endless()) as one:
            with pytest.raises(RemoteTimeout) as late:
                await asyncio.wait_for(one.send(records.usage(), 0.01), 60)
            assert late.value.limit == 0.01

    asyncio.run(main())


@pytest.mark.parametrize(
    "wrong",
    [{"timeout": -1}, {"timeout": "1"}, {"timeout": 0}, {"retries": 3}, {"verify": "/ca.pem"}],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wrong_arguments_of_a_client(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        kind("http://test", key=KEY, **wrong)


@pytest.mark.parametrize(
    "url", [f"http://{'a' * 64}.de", "http://a..b", "http://test/\ud800", "http://\ud800"]
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_urls_that_nothing_can_be_sent_to(kind: Any, url: str) -> None:
    with pytest.raises(InvalidArgument, match="no URL"):
        kind(url, key=KEY)


def test_wrong_names_limits_and_options_are_typed_errors() -> None:
    handler, asked = failing()
    name: Any
    limits: Any
    with client(handler) as one:
        for name in ("a\ud800", "a\n", None, 5):
            for call in (one.tenant, one.remove_tenant, one.make_key, one.put_tenant):
                with pytest.raises(InvalidArgument, match="no name"):
                    call(name)
            with pytest.raises(InvalidArgument, match="no name"):
                one.remove_key("acme", name)
        for limits in ([1], "ab", 0, []):
            with pytest.raises(InvalidArgument, match="limits"):
                one.put_tenant("acme", limits)
        with pytest.raises(InvalidText):
            one.upload("mine", b"{}", pattern="\ud800")
        with pytest.raises(InvalidText):
            one.upload("mine", b"{}", encoding="\ud800")
    assert asked == []


def test_numbers_that_no_float_can_hold() -> None:
    huge = 10**400
    refused = refusal(503, "overloaded", retry_after=huge, limit=huge)
    with pytest.raises(Overloaded) as caught:
        attempts(repeatable=False)[0].answered(refused)
    assert not vars(caught.value).keys() & {"limit", "retry_after"}
    assert attempts()[0].answered(refused) == 0.1
    places = {"ids": [1], "tokens": ["a"], "offsets": [[float("inf"), 1]]}
    content = json.dumps(places).encode()
    handler, _ = failing(
        httpx.Response(200, json={"tenant": "t", "seconds": huge}),
        httpx.Response(200, content=content, headers=JSON),
    )
    with client(handler) as one:
        with pytest.raises(BadAnswer, match="seconds"):
            one.usage()
        with pytest.raises(BadAnswer, match="places"):
            one.send(TokenizerCalls("demo").byte_offsets("a", None, True, "all"))


def test_threads_of_a_fork_never_have_the_connections_of_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first thread asks for the process; the second one connects anew before it is answered."""
    handler, _ = failing()
    with client(handler) as one:
        parent = one._connections()
        others = [one._connections]

        def getpid() -> int:
            if others:
                others.pop()()
            return -1

        # Of this module alone: servers of other tests may still have threads.
        monkeypatch.setattr(blocking, "os", SimpleNamespace(getpid=getpid))
        assert one._connections() is not parent


def test_a_certificate_that_is_wrong_stays_wrong() -> None:
    import ssl

    wrong = httpx.ConnectError("certificate verify failed")
    wrong.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    handler, asked = failing(wrong, found())
    with client(handler) as one, pytest.raises(ConnectionFailed, match="certificate"):
        one.tokenizers()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, text="<html>"), "expected application/json, not text/plain"),
        (httpx.Response(200, json=[]), "no JSON object"),
        (httpx.Response(200, json={"tokenizers": [1]}), "objects"),
        (httpx.Response(200, json={"tokenizers": [{"name": 1}]}), "'name' that is str"),
        (
            httpx.Response(200, content=b"[" * 100_000, headers=JSON),
            "no JSON",
        ),
    ],
)
def test_answers_of_something_else(answer: httpx.Response, said: str) -> None:
    handler, _ = failing(answer)
    with client(handler) as one, pytest.raises(BadAnswer, match=said):
        one.tokenizers()


def test_redirections_are_not_followed_and_proxies_are_shown() -> None:
    elsewhere = httpx.Response(302, headers={"location": "http://evil/"})
    handler, asked = failing(elsewhere, httpx.Response(404, text="nginx\x1b[31m"))
    with client(handler) as one:
        with pytest.raises(RemoteError, match="answered 302 to http://evil/"):
            one.tokenizers()
        with pytest.raises(RemoteError) as caught:
            one.tokenizers()
    assert caught.value.status == 404
    assert "nginx" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(asked) == 2


def test_ids_that_do_not_add_up() -> None:
    octets = {"content-type": "application/octet-stream"}
    for content in (b"123", b"\1\0\0\0" * 3, b"\2\0\0\0" + b"\1\0\0\0" * 2):
        handler, _ = failing(httpx.Response(200, content=content, headers=octets))
        with client(handler) as one, pytest.raises(BadAnswer):
            one.tokenizer("demo").encode_batch(["a", "b"])


def test_unknown_kinds_keep_what_they_say() -> None:
    said = {"error": {"kind": "of_tomorrow", "message": "new", "hint": "update", "limit": True}}
    handler, _ = failing(httpx.Response(418, json=said))
    with client(handler) as one, pytest.raises(RemoteError) as caught:
        one.tokenizers()
    assert (caught.value.kind, caught.value.status, caught.value.hint) == (
        "of_tomorrow",
        418,
        "update",
    )


def test_keys_are_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    handler, _ = failing(*[httpx.ConnectError("refused")] * 5)
    with client(handler) as one:
        shown = [repr(one), repr(one.settings), repr(one.tokenizer("demo")), str(vars(one))]
        with pytest.raises(ConnectionFailed) as caught:
            one.tokenizers()
    shown += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    with pytest.raises(InvalidArgument) as refused:
        Client("http://test", key=KEY + "\n")
    shown.append(str(refused.value))
    monkeypatch.setenv("PYWASMTOK_API_KEY", KEY + " ")
    with pytest.raises(InvalidArgument) as also:
        Client("http://test")
    shown.append(str(also.value))
    assert not any(KEY in text for text in shown)


def test_a_new_key_is_told_and_not_shown() -> None:
    handler, _ = failing(httpx.Response(200, json={"id": "k1", "key": KEY}))
    with client(handler) as one:
        made = one.make_key("acme")
    assert made.key == KEY
    assert KEY not in repr(made)


def test_without_httpx_it_says_what_to_install() -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "import pywasmtok\n"
        "try:\n    pywasmtok.create_tokenizer('http://127.0.0.1:1/demo')\n"
        "except pywasmtok.BackendUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pywasmtok[client]'" in done.stdout


def test_the_client_needs_nothing_of_the_server() -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['msgspec'] = sys.modules['starlette'] = None\n"
        "import pywasmtok.client\n"
        "print('wasmtime' in sys.modules, 'websockets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"
