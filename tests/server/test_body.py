"""JSON that means one thing only, and bodies with bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from pywasmtok.server.config import Bounds
from pywasmtok.server.errors import BadRequest, BodyTooLarge, SlowBody, UnsupportedMedia
from pywasmtok.server.requests.body import read, read_json
from pywasmtok.server.requests.strict_json import decode
from pywasmtok.tenants.errors import Cancelled


class Asked(msgspec.Struct):
    text: str = ""
    number: int = 0
    ids: list[int] = []
    anything: Any = None


def refused(data: bytes, kind: Any = Asked) -> BadRequest:
    with pytest.raises(BadRequest) as error:
        decode(data, kind)
    return error.value


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b'{"number":"5"}', "$.number"),
        (b'{"number":1.5}', "$.number"),
        (b'{"ids":[1,2,"x"]}', "$.ids[2]"),
        (b'{"text":null}', "$.text"),
        (b'{"anything":1e999}', "$.anything"),
        (b'{"anything":' + b"9" * 5000 + b"}", "$.anything"),
        (b'{"number":true}', "$.number"),
    ],
)
def test_what_has_the_wrong_type_is_named(data: bytes, path: str) -> None:
    assert refused(data).path == path


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'{"text":"\xff"}', 9),
        (b'{"other":"\xff"}', 10),
        (b'{"text":"\xed\xa0\x80"}', 9),
        (b'{"text":"\xc0\x80"}', 9),
        (b'{"text":"\\ud800"}', 9),
        (b'{"text":"\\udc00x"}', 9),
        (b'{"other":"\\ud83d\\u0041"}', 10),
        (b'{"text":"\x00"}', 9),
        (b'{"text":"a\nb"}', 10),
        (b'\xef\xbb\xbf{"text":""}', 0),
        (b'{"anything":NaN}', 12),
        (b'{"text":"a"} x', 14),
        (b'{"text":"a",}', 12),
        (b"{'text':'a'}", 1),
        (b'{"text":"a"', 11),
    ],
)
def test_what_is_no_json_is_named(data: bytes, offset: int) -> None:
    assert refused(data).offset == offset


def test_nothing_is_no_json() -> None:
    for data in (b"", b" \n"):
        assert "empty" in refused(data).message


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'{"text":"a","text":"b"}', 12),
        (b'{"text":"a","te\\u0078t":"b"}', 12),
        (b'{"anything":{"a":1,"b":{"c":1},"a":2}}', 31),
        (b'{"anything":[{"\\"":1,"\\"":2}]}', 21),
        (b'{"a":{"x":"}"},"a":1}', 15),
        (b'{"text" : "a" , "text" : "b"}', 16),
    ],
)
def test_a_key_may_come_once(data: bytes, offset: int) -> None:
    error = refused(data)
    assert "twice" in error.message
    assert error.offset == offset


@pytest.mark.parametrize("depth", [65, 1000, 100_000, 1_000_000])
@pytest.mark.parametrize("name", ["anything", "unknown"])
def test_depth_ends(depth: int, name: str) -> None:
    for left, right in (("[", "]"), ('{"a":', "}")):
        for text in (left * depth + "1" + right * depth, left * depth):
            whole = f'{{"{name}":{text}'.encode()
            assert refused(whole + b"}").kind == "bad_request"


@pytest.mark.parametrize("inside", [b"{},", b"[],", b'"",', b'{"a":1},'])
def test_a_million_small_things_are_no_request(inside: bytes) -> None:
    whole = b'{"anything":[' + inside * (1 << 20) + b"1]}"
    assert "strings, lists and objects" in refused(whole).message


def test_a_text_of_many_quotes_is_one_string() -> None:
    text = '{"a": [1]}' * 200_000
    assert decode(json.dumps({"text": text}).encode(), Asked).text == text


def test_utf8_is_looked_at_in_pieces() -> None:
    for before in range(4):
        text = "a" * ((256 << 10) - before) + "🌶" * 100_000
        data = json.dumps({"text": text}, ensure_ascii=False).encode()
        assert decode(data, Asked).text == text
        place = data.rindex(b"\xf0")
        error = refused(data[:place] + b"\xff" + data[place + 1 :])
        assert (error.message, error.offset) == ("the body is not UTF-8: invalid start byte", place)
        assert refused(data[:-3]).offset == len(data) - 6


@pytest.mark.parametrize("size", [3, 30, 3000, 30_000])
def test_keys_are_compared_in_bodies_of_every_size(size: int) -> None:
    names = [f'"k{place}":"v{place}"' for place in range(size)]
    good = '{"anything":{' + ",".join(names) + "}}"
    assert len(decode(good.encode(), Asked).anything) == size
    again = '{"anything":{' + ",".join([*names, names[0]]) + "}}"
    assert refused(again.encode()).offset == len(again) - len(names[0]) - 2


def test_what_is_allowed_comes_through() -> None:
    deep = "[" * 63 + "]" * 63
    text = '\u0000 "quoted" \\ 🤦 \\" } ] : {'
    data = json.dumps({"text": text, "ids": [1, 2], "anything": json.loads(deep)})
    for whole in (data, json.dumps(json.loads(data), ensure_ascii=False)):
        found = decode(whole.encode(), Asked)
        assert (found.text, found.ids) == (text, [1, 2])


# A key may have 1000 bytes, and Python writes a character as up to 12.
KEYS = st.text(max_size=80)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
@settings(max_examples=60)
def test_every_json_that_python_writes_is_read(value: Any, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert decode(data, Any) == value


@given(JSON, st.data())
@settings(max_examples=150)
def test_any_bytes_are_read_as_python_reads_them_or_refused(value: Any, data: Any) -> None:
    whole = bytearray(json.dumps({"anything": value, "b": value}, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.sampled_from(b'"\\{}[]:,0 a\x00\xff\xf0u'))
    pairs: list[list[str]] = []

    def keep(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.append([name for name, _ in found])
        return dict(found)

    try:
        found = decode(bytes(whole), Any)
    except BadRequest:
        return
    assert json.loads(bytes(whole).decode(), object_pairs_hook=keep) == found
    assert all(len(set(names)) == len(names) for names in pairs)


def request_of(parts: Iterator[Any] | list[Any], **headers: str) -> Request:
    """`parts`: bytes as they come, or seconds to wait."""
    waiting = iter(parts)
    service = SimpleNamespace(
        config=SimpleNamespace(
            bounds=Bounds(body_bytes=1000, body_seconds=0.2, body_bytes_per_second=1000)
        )
    )

    async def receive() -> dict[str, Any]:
        for part in waiting:
            if isinstance(part, bytes):
                return {"type": "http.request", "body": part, "more_body": True}
            if part is None:
                return {"type": "http.disconnect"}
            await asyncio.sleep(part)
        return {"type": "http.request", "body": b"", "more_body": False}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "headers": raw,
        "app": SimpleNamespace(state=SimpleNamespace(service=service)),
    }
    return Request(scope, receive)


def test_a_body_comes_in_parts() -> None:
    assert asyncio.run(read(request_of([b"a" * 400, b"", b"b" * 600]))) == b"a" * 400 + b"b" * 600


def test_a_large_body_is_refused_by_what_it_says_and_by_what_it_has() -> None:
    for request in (
        request_of([], content_length="1001"),
        request_of([], content_length="9" * 19),
        request_of([b"a" * 600, b"a" * 401]),
        request_of(iter(lambda: b"a" * 100, None)),
        request_of([b"a" * 1001], content_length="1"),
    ):
        with pytest.raises(BodyTooLarge) as error:
            asyncio.run(read(request))
        assert error.value.limit == 1000
    assert len(asyncio.run(read(request_of([b"a" * 2000]), 5000))) == 2000


@pytest.mark.parametrize("said", ["-1", "1e3", "0x10", "", " ", "１", "9" * 30])
def test_a_length_is_a_number(said: str) -> None:
    with pytest.raises(BadRequest):
        asyncio.run(read(request_of([], content_length=said)))


def test_a_body_that_drips_is_refused() -> None:
    with pytest.raises(SlowBody):
        asyncio.run(read(request_of([b"a", 60.0])))
    dripping = [part for _ in range(600) for part in (b"a", 0.1)]
    with pytest.raises(SlowBody):
        asyncio.run(read(request_of(dripping)))


def test_a_caller_who_leaves_is_noticed() -> None:
    with pytest.raises(Cancelled):
        asyncio.run(read(request_of([b"a", None])))


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "GZIP", "identity, gzip", "x"])
def test_nothing_is_unpacked(encoding: str) -> None:
    with pytest.raises(UnsupportedMedia):
        asyncio.run(read(request_of([b"{}"], content_encoding=encoding)))


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application"],
)
def test_json_says_that_it_is_json(media: str) -> None:
    with pytest.raises(UnsupportedMedia):
        asyncio.run(read_json(request_of([b"{}"], content_type=media), Asked))


def test_json_is_utf8() -> None:
    for media in ("application/json; charset=utf-16", "application/json;charset=latin-1"):
        with pytest.raises(UnsupportedMedia):
            asyncio.run(read_json(request_of([b"{}"], content_type=media), Asked))
    for media in ('Application/JSON; charset="UTF-8"', "application/vnd.x+json"):
        assert asyncio.run(read_json(request_of([b"{}"], content_type=media), Asked)) == Asked()


def test_a_large_body_is_read_beside_the_event_loop() -> None:
    text = "a" * 400_000
    body = json.dumps({"text": text}).encode()
    assert asyncio.run(read_json(request_of([body]), Asked, 1 << 20)).text == text
