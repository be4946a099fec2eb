"""A request that is answered at once is answered, counted and logged as in the application."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pywasmtok.server.app import App, create_app
from pywasmtok.server.auth.keys import make_key
from pywasmtok.server.config import Logs
from pywasmtok.server.requests import endpoint
from pywasmtok.server.requests.endpoint import CALL, Call
from pywasmtok.server.requests.record import Exchange
from pywasmtok.server.requests.strict_json import strings_of
from pywasmtok.server.service import Service

from .calls import recorded
from .live import service_of

HOME = Path(__file__).parents[2] / "conformance" / "http"
NAMES = ("vllm", "sglang", "llamacpp", "tgi", "nobodys")
JSON = (b"content-type", b"application/json")
HOST = (b"host", b"127.0.0.1:8080")

Headers = tuple[tuple[bytes, bytes], ...]


class Asked(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: Headers


class Answer(NamedTuple):
    messages: list[dict[str, Any]]
    counted: list[dict[str, Any]]
    logged: list[dict[str, Any]]


class Both:
    """One service behind both ways."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.app = create_app(service)
        self.counted: list[dict[str, Any]] = []
        self.logged: list[dict[str, Any]] = []
        self._runner = asyncio.Runner()
        counts = service.metrics.request

        def request(exchange: Exchange) -> None:
            self.counted.append(recorded(exchange))
            counts(exchange)

        def write(exchange: Exchange) -> None:
            self.logged.append(recorded(exchange))

        service.metrics.request = request
        service.access_log = SimpleNamespace(write=write, close=lambda: None)

    def close(self) -> None:
        self._runner.close()

    def ask(self, asked: Asked) -> Answer:
        """In the application."""
        return self._answer(self._runner.run(_asked(self.app, asked)))

    def ask_at_once(self, asked: Asked) -> Answer | Call | None:
        """What the protocol does with it. None: it leaves the reading to the application."""
        at_once = self.app.at_once
        url = asked.path.encode()
        accepted = at_once.accepted(url, asked.headers) if asked.method == "POST" else None
        if accepted is None:
            return None
        answer = at_once.answer(accepted, asked.body, "127.0.0.1", ())
        if isinstance(answer, Call):
            assert not self.counted
            return answer
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
        start = {
            "type": "http.response.start",
            "status": int(first.split()[1]),
            "headers": headers,
        }
        return self._answer([start, {"type": "http.response.body", "body": body}])

    def answer(self, asked: Asked, call: Call) -> Answer:
        """The application goes on with what the protocol has read."""
        return self._answer(self._runner.run(_asked(self.app, asked, call)))

    def _answer(self, messages: list[dict[str, Any]]) -> Answer:
        """Without the names of requests, which differ."""
        lines = messages[0]["headers"]
        assert [name for name, _ in lines].count(b"x-request-id") == 1
        messages[0]["headers"] = [line for line in lines if line[0] != b"x-request-id"]
        found = Answer(messages, list(self.counted), list(self.logged))
        self.counted.clear()
        self.logged.clear()
        return found

    def agree(
        self, path: str, body: bytes, headers: Headers = (HOST, JSON), *, method: str = "POST"
    ) -> tuple[int, bool]:
        """The status, and whether the protocol reads the request."""
        headers = (*headers, (b"content-length", b"%d" % len(body)))
        asked = Asked(method, path, body, headers)
        quick = self.ask_at_once(asked)
        ordinary = self.ask(asked)
        if isinstance(quick, Call):
            assert self.answer(asked, quick) == ordinary
        elif quick is not None:
            assert quick == ordinary
        return ordinary.messages[0]["status"], quick is not None


async def _asked(app: App, asked: Asked, call: Call | None = None) -> list[dict[str, Any]]:
    method, path, body, headers = asked
    plain, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 5000),
        "scheme": "http",
        "http_version": "1.1",
    }
    left = [{"type": "http.request", "body": b"" if call else body, "more_body": False}]
    if call is not None:
        scope[CALL] = call
    sent = []

    async def receive() -> Any:
        if left:
            return left.pop(0)
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with service_of({"m": str(HOME / "tokenizer")}, logs=Logs(access=False)) as service:
        made = Both(service)
        yield made
        made.close()


@pytest.mark.parametrize("name", NAMES)
def test_golden_pairs_are_answered_alike(both: Both, name: str) -> None:
    took = 0
    for line in (HOME / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        asked = case["request"]
        body = json.dumps(asked["body"]).encode() if "body" in asked else b""
        status, quick = both.agree(asked["path"], body, method=asked["method"])
        assert status == case["response"]["status"]
        took += quick
    # Else the quick way would be compared with nothing.
    assert took or name == "nobodys"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokenize", {"prompt": "Hello"}),
        ("/tokenize", {"prompt": 'a "quoted" text', "model": "m", "add_special_tokens": False}),
        ("/tokenize", {"prompt": "Hello", "model": "default", "return_token_strs": True}),
        ("/tokenize", {"content": "Hello", "add_special": True, "with_pieces": True}),
        ("/tokenize", {"content": "<s>", "parse_special": False, "prompt": None}),
        ("/tokenize", {"inputs": "Hello"}),
        ("/v1/tokenize", {"prompt": "Hello", "add_special_tokens": None}),
        ("/detokenize", {"tokens": [1, 2, 3]}),
        ("/detokenize", {"tokens": [], "model": "m"}),
        ("/detokenize", {"tokens": [266, 65], "skip_special_tokens": False}),
        ("/v1/detokenize", {"tokens": [266, 65]}),
        ("/api/v1/tokenizers/m/encode", {"text": "Hello"}),
        ("/api/v1/tokenizers/m/encode", {"text": "naïve", "add_special_tokens": False}),
        ("/api/v1/tokenizers/m/decode", {"ids": [266, 65], "skip_special_tokens": False}),
        ("/api/v1/tokenizers/m/decode", {"ids": [4294967295]}),
        ("/api/v1/tokenizers/m/count", {"text": "Hello"}),
    ],
)
def test_short_requests_go_quick(both: Both, path: str, body: Any) -> None:
    for text in (json.dumps(body), json.dumps(body, ensure_ascii=False, indent=1)):
        assert both.agree(path, text.encode())[1]


API: Final = "/api/v1/tokenizers/m/"
TAKES: Final = (b"content-type", b"application/octet-stream")
GIVES: Final = (b"accept", b"application/octet-stream")
IDS: Final = struct.pack("<3I", 266, 65, 4294967295)


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("encode", b'{"text": "na\xc3\xafve"}', (JSON, GIVES)),
        ("encode", b'{"text": ""}', (JSON, GIVES)),
        ("encode", b'{"text": "a", "add_special_tokens": false}', (GIVES,)),
        ("decode", IDS[:8], (TAKES,)),
        ("decode", IDS[:8], (TAKES, (b"accept", b"application/json"))),
        ("decode", IDS, (TAKES,)),
        ("decode", b"", (TAKES,)),
    ],
)
def test_so_do_ids_as_bytes(both: Both, path: str, body: bytes, headers: Headers) -> None:
    assert both.agree(API + path, body, (HOST, *headers))[1]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("encode", b'{"texts": ["a", "b"]}', (JSON, GIVES)),
        ("encode", b'{"text": "a", "tokens": true}', (JSON, GIVES)),
        ("encode", b'{"text": "a", "tokens": true, "text": "b"}', (JSON, GIVES)),
        ("encode", b'{"text": "a"}', (JSON, (b"accept", GIVES[1] + b", application/json"))),
        ("encode", b'{"text": "a"}', (JSON, (b"accept", GIVES[1] + b";q=1"))),
        ("encode", b'{"text": "a"}', (TAKES, GIVES)),
        ("decode", IDS[:7], (TAKES,)),
        ("decode", IDS[:8], (TAKES, GIVES)),
        ("decode", IDS[:8], ((b"content-type", TAKES[1] + b"; x=y"),)),
        ("decode", IDS[:8], (JSON,)),
        ("decode", b'{"ids": [65]}', (TAKES,)),
        ("decode", b'{"ids": [65]}', (JSON, GIVES)),
        ("decode?skip_special_tokens=false", IDS[:8], (TAKES,)),
        ("count", b'{"text": "a"}', (JSON, GIVES)),
        ("count", IDS[:8], (TAKES,)),
        ("fits", b'{"text": "a", "n": 1}', (JSON, GIVES)),
    ],
)
def test_other_uses_of_bytes_are_answered_as_ever(
    both: Both, path: str, body: bytes, headers: Headers
) -> None:
    status, quick = both.agree(API + path, body, (HOST, *headers))
    assert quick is ("?" not in path and status != 415)


def _packed(ids: list[int]) -> bytes:
    return struct.pack(f"<{len(ids)}I", *ids)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=64) | st.lists(st.integers(0, 600)).map(_packed))
def test_any_bytes_are_decoded_alike(both: Both, body: bytes) -> None:
    status, quick = both.agree(f"{API}decode", body, (HOST, TAKES))
    assert quick
    assert (status == 400) is (len(body) % 4 != 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"prompt": "a", "prompt": "b"}',
        b'{"prompt": "a", "pr\\u006fmpt": "b"}',
        b'{"prompt": "\\\\", "prompt": "\\\\"}',
        b'{"k\\\\": "\\\\", "prompt": "\\\\"}',
        b'{"prompt": "a", "content": "b"}',
        b'{"prompt": "a", "temperature": 1}',
        b'{"prompt": "a", "x": [[[[{"y": {"y": 1}}]]]]}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\xed\xa0\x80"}',
        b'{"prompt": "\xff"}',
        b'{"prompt": ["a", "b"]}',
        b'{"prompt": 1}',
        b'{"prompt": "a", "model": "nobody"}',
        b'{"prompt": "a"} x',
        b'\xef\xbb\xbf{"prompt": "a"}',
        b'{"messages": [{"role": "user", "content": "a"}]}',
        b'{"inputs": "a", "parameters": {"truncate": 1}}',
        b'{"prompt": "' + b"[" * 100 + b'"}',
        b'{"prompt": "' + b"a" * 70_000 + b'"}',
    ],
)
def test_what_is_unusual_or_wrong_is_answered_as_ever(both: Both, body: bytes) -> None:
    both.agree("/tokenize", body)


@pytest.mark.parametrize("path", ["/api/v1/tokenizers/m/encode", "/api/v1/tokenizers/m/count"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "text": "b"}',
        b'{"text": "a", "other": 1}',
        b'{"text": null}',
        b'{"texts": ["a", "b"]}',
        b'{"text": "a", "special": "none"}',
        b'{"text": "' + b"a" * 10_000 + b'"}',
    ],
)
def test_so_are_requests_to_the_api(both: Both, path: str, body: bytes) -> None:
    both.agree(path, body)


@pytest.mark.parametrize(
    "headers",
    [
        (HOST,),
        (JSON,),
        (HOST, HOST, JSON),
        ((b"host", b"example.com"), JSON),
        (HOST, (b"content-type", b"text/plain")),
        (HOST, (b"content-type", b"application/json; charset=latin-1")),
        (HOST, (b"content-type", b"application/json; charset=utf-8")),
        (HOST, JSON, (b"origin", b"http://127.0.0.1:8080")),
        (HOST, JSON, (b"origin", b"http://example.com")),
        (HOST, JSON, (b"sec-fetch-site", b"cross-site")),
        (HOST, JSON, (b"content-encoding", b"gzip")),
        (HOST, JSON, (b"content-length", b"7")),
        (HOST, JSON, (b"authorization", b"Basic abc")),
        (HOST, JSON, (b"accept", b"application/octet-stream")),
        (HOST, JSON, (b"traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01")),
        (HOST, JSON, (b"x-unheard-of", b"1")),
    ],
)
@pytest.mark.parametrize("path", ["/tokenize", "/api/v1/tokenizers/m/encode"])
def test_headers_mean_the_same(both: Both, path: str, headers: Headers) -> None:
    both.agree(path, b'{"prompt": "a"}' if path == "/tokenize" else b'{"text": "a"}', headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/tokenize"),
        ("POST", "/tokenize?x=1"),
        ("POST", "/api/v1/tokenizers//encode"),
        ("POST", "/api/v1/tokenizers/a/b/encode"),
    ],
)
def test_other_paths_go_the_ordinary_way(both: Both, method: str, path: str) -> None:
    assert not both.agree(path, b'{"prompt": "a"}', method=method)[1]
    assert not both.agree(path, b'{"text": "a"}', method=method)[1]


def test_what_has_to_wait_is_read_once(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation never runs on the event loop: the application gets what was read."""
    path = f"{API}chat/encode"
    body = b'{"messages": [{"role": "user", "content": "a"}]}'
    headers = (HOST, JSON, (b"content-length", b"%d" % len(body)))
    asked = Asked("POST", path, body, headers)
    wanted = both.ask(asked)
    call = both.ask_at_once(asked)
    assert isinstance(call, Call)

    def decode(*_: Any) -> None:
        raise AssertionError("it was read again")

    monkeypatch.setattr(endpoint, "decode", decode)
    assert both.answer(asked, call) == wanted


KEYS = st.sampled_from(
    [
        *("prompt", "content", "inputs", "messages", "model", "tokens", "text", "ids"),
        *("add_special_tokens", "skip_special_tokens", "return_token_strs", "with_pieces", "x"),
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=20),
    st.sampled_from(["m", "default", "", '\\"', "\\"]),
    st.lists(st.integers(-1, 300) | st.just(1 << 40), max_size=4),
    st.lists(st.text(max_size=3), max_size=2),
    st.integers(),
)
PATHS = st.sampled_from(
    [
        *("/tokenize", "/v1/tokenize", "/detokenize", "/v1/detokenize"),
        *(f"/api/v1/tokenizers/m/{word}" for word in ("encode", "decode", "count")),
    ]
)


def _written(pairs: list[tuple[str, Any]], ascii: bool, space: str) -> bytes:
    """With keys that come twice, as they are."""
    said = (
        f"{json.dumps(key)}{space}:{json.dumps(value, ensure_ascii=ascii)}" for key, value in pairs
    )
    return ("{" + f"{space},".join(said) + "}").encode("utf-8", "surrogatepass")


BODIES = st.builds(
    _written,
    st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(["", " ", "\n"]),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, body=BODIES, cut=st.none() | st.integers(0, 60))
@example(path="/tokenize", body=b'{"model":"\\\\","prompt":"\\\\","prompt":""}', cut=None)
def test_any_request_is_answered_alike(both: Both, path: str, body: bytes, cut: int | None) -> None:
    both.agree(path, body if cut is None else body[:cut])


@given(st.recursive(VALUES, lambda some: st.dictionaries(KEYS | st.text(), some), max_leaves=8))
def test_strings_are_counted_or_the_count_is_not_known(value: Any) -> None:
    def strings(part: Any) -> int:
        if isinstance(part, dict):
            return sum(1 + strings(one) for one in part.values())
        if isinstance(part, list):
            return sum(map(strings, part))
        return isinstance(part, str)

    assert strings_of(json.dumps(value).encode()) in (strings(value), -1)


def test_a_server_that_drains_refuses_as_ever() -> None:
    with service_of({"m": str(HOME / "tokenizer")}, logs=Logs(access=False)) as service:
        both = Both(service)
        service.lifecycle.drain()
        asked = Asked(
            "POST", "/tokenize", b'{"prompt": "a"}', (HOST, JSON, (b"content-length", b"15"))
        )
        quick, ordinary = both.ask_at_once(asked), both.ask(asked)
        both.close()
    assert quick is None
    assert ordinary.messages[0]["status"] == 503


def test_keys_are_asked_for_as_ever() -> None:
    with service_of(
        {"m": str(HOME / "tokenizer")},
        logs=Logs(access=False),
        identity=True,
    ) as service:
        key, record = make_key(None)
        service.store.put_key(record)
        both = Both(service)
        for said, wanted in (
            ((b"authorization", b"Bearer " + key.encode()), True),
            ((b"x-api-key", key.encode()), True),
            ((b"x-api-key", b"pwt_" + b"x" * 43), False),
            ((b"authorization", b"bearer " + key.encode()), True),
            ((b"user-agent", b"nobody"), False),
        ):
            status, took = both.agree("/tokenize", b'{"prompt": "a"}', (HOST, JSON, said))
            assert took is wanted
            assert status in (200, 401)
        both.close()
