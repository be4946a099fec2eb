"""Long strings of JSON, read piece by piece: the same as a reader that reads all at once."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pywasmtok.server.errors import BadRequest
from pywasmtok.server.requests import long_strings, strict_json
from pywasmtok.server.requests.strict_json import Whole, decode

PARTS = (
    *("a", "é", "世", "🌶", "\\n", '\\"', "\\\\", "\\/", "\\u0041", "\\u00e9", "\\u4e16"),
    *("\\ud83c\\udf36", "\\uD83C\\uDF36", "\\\\u0041", "\\\\\\\\", "u", "d", "{", "]", ":", ","),
)
BROKEN = ("\\ud83c", "\\udf36", "\\x", "\\u12", "\x00", "\n", '"', "\\")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large, and pieces are a few characters."""
    monkeypatch.setattr(long_strings, "LONG", 3)
    monkeypatch.setattr(long_strings, "PIECE", 13)
    monkeypatch.setattr(strict_json, "_PIECE", 8)


def at_once(data: bytes, kind: Any) -> Any:
    """The slow reader. None: it is none."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def in_pieces(data: bytes, kind: Any) -> Any:
    try:
        return Whole(data).read_as(kind)
    except BadRequest as error:
        place = error.offset or 0
    assert 0 <= place <= len(data)
    return None


@given(st.lists(st.sampled_from(PARTS), max_size=60))
@settings(max_examples=400)
def test_a_string_is_what_it_is_at_once(parts: list[str]) -> None:
    inside = "".join(parts).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_strings, "PIECE", 13)
        found = long_strings.text_of(b'["' + inside + b'"]', 2, 2 + len(inside))
    assert found == msgspec.json.decode(b'"' + inside + b'"')


@given(st.lists(st.sampled_from(PARTS + BROKEN), max_size=40), st.booleans())
@settings(max_examples=600)
def test_what_is_no_string_is_none_in_pieces(parts: list[str], more: bool) -> None:
    data = (
        '{"a":1,"text":"' + "".join(parts) + ('","b":["long enough"]}' if more else '"}')
    ).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_strings, "LONG", 3)
        patch.setattr(long_strings, "PIECE", 13)
        patch.setattr(strict_json, "_PIECE", 8)
        assert in_pieces(data, Any) == at_once(data, Any)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.data())
@settings(max_examples=300)
def test_any_json_is_read_alike_or_refused_alike(value: Any, ascii_only: bool, data: Any) -> None:
    whole = bytearray(json.dumps({"any": value, "b": value}, ensure_ascii=ascii_only).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.sampled_from(b'"\\{}[]:,0 a\x00\xff\xf0u'))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_strings, "LONG", 3)
        patch.setattr(long_strings, "PIECE", 13)
        patch.setattr(strict_json, "_PIECE", 8)
        assert in_pieces(bytes(whole), Any) == at_once(bytes(whole), Any)


class Part(msgspec.Struct):
    text: str = ""


class Asked(msgspec.Struct):
    text: str | None = None
    texts: list[str] = []
    parts: list[Part] = []
    more: dict[str, Any] = {}
    word: str = "short"


def test_they_are_put_back_wherever_they_were(small: None) -> None:
    long = "a long text é " * 5
    said = {
        "text": long + "1",
        "texts": ["x", long + "2", long + "3"],
        "parts": [{"text": long + "4"}, {"text": "y"}],
        "more": {"a longer name": [[long + "5", {"b": long + "6"}], "z"]},
    }
    asked = decode(json.dumps(said).encode(), Asked)
    assert msgspec.to_builtins(asked) == {**said, "word": "short"}
    whole = Whole(json.dumps(long).encode())
    assert whole.read_as(str) == long


def test_raw_fields_of_it_are_read_later(small: None) -> None:
    long = "a long text é " * 5
    whole = Whole(json.dumps({"text": long, "of no use": long}).encode())
    fields = whole.checked_as(dict[str, msgspec.Raw])
    assert bytes(fields["text"])[:1] == b'"'
    assert whole.read_as(Asked).text == long


@pytest.mark.parametrize("before", [b"", b'"first": "a long text before it", '])
@pytest.mark.parametrize(
    ("inside", "place"),
    [
        (b"abcdefghijklmnopqrstuvw\\x", 24),
        (b"abcdefghijklmnopqrstuvwxyz\x01 ", 26),
        (b"abcdefghijklmnopqrs\\ud83c and more", 19),
    ],
)
def test_errors_say_where_in_the_whole(
    small: None, before: bytes, inside: bytes, place: int
) -> None:
    data = b"{" + before + b'"text": "' + inside + b'"}'
    with pytest.raises(BadRequest) as error:
        decode(data, Any)
    found = error.value.offset
    assert found is not None
    # The reader names an escape's first or second byte.
    assert found - data.index(inside) - place in (0, 1)


@pytest.mark.parametrize("behind", [b", ]}", b', "text": 1}', b', "b": "a', b', "b": nul}'])
def test_errors_behind_a_long_string_say_where(small: None, behind: bytes) -> None:
    data = b'{"text": "' + b"a long text" * 9 + b'"' + behind
    with pytest.raises(BadRequest) as error:
        decode(data, Any)
    with pytest.raises(BadRequest) as short:
        decode(b'{"text": ""' + behind, Any)
    assert error.value.offset is not None
    assert short.value.offset is not None
    assert error.value.offset - short.value.offset == len(b"a long text" * 9)


def test_no_error_shows_what_stood_for_a_string(small: None) -> None:
    class Few(msgspec.Struct, forbid_unknown_fields=True):
        word: str = ""
        number: int = 0

    for data in (
        b'{"number": "a long text"}',
        b'{"a long name of none": 1, "word": "a long text"}',
    ):
        with pytest.raises(BadRequest) as error:
            decode(data, Few)
        assert long_strings.take_out(data, strict_json._behind_string) is not None
        assert not any(mark in str(error.value) for mark in ("0" * 4, "marker")), error.value
        assert max(map(len, str(error.value).split())) < 32


def test_other_threads_can_run_while_a_large_body_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call of the reader in C keeps the GIL; between two calls another thread may take it. So
    each call reads a piece, and what is left of the JSON is short."""
    sizes: list[int] = []
    read_text, take_out = long_strings._read_text, long_strings.take_out

    def read_noted(piece: bytes) -> str:
        sizes.append(len(piece))
        return read_text(piece)

    def take_out_noted(*arguments: Any) -> long_strings.Taken | None:
        taken = take_out(*arguments)
        assert taken is not None
        sizes.append(len(taken.rest))
        return taken

    monkeypatch.setattr(long_strings, "_read_text", read_noted)
    monkeypatch.setattr(long_strings, "take_out", take_out_noted)
    text = "naïve 🌶 text, " * 400_000
    data = json.dumps({"text": text}).encode()
    assert decode(data, Asked).text == text
    # Two quotes are put around each piece.
    assert max(sizes) <= long_strings.PIECE + 2
    assert sum(sizes) > len(data)


def test_pieces_of_a_random_text_at_the_real_sizes() -> None:
    chance = random.Random(7)
    for _ in range(6):
        inside = "".join(chance.choices(PARTS, k=200_000)).encode()
        data = b'{"text":"' + inside + b'"}'
        assert decode(data, Asked).text == msgspec.json.decode(b'"' + inside + b'"')
