"""Columns of texts from Arrow, without any library of Arrow."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest
import small
from signals import StopError, arrive, handled

import pywasmtok
from pywasmtok import EncodedColumn, InvalidArgument, InvalidText, Tokenizer
from pywasmtok.tokenizer.arrow import importing

from .by_hand import Array, Column, Rows, Stream, Table, kept, lists_of, release, taken

FORMS = ["u", "U", "vu", "z", "Z", "vz"]
TEXTS = [small.TEXT, "", "in the beginning", "x" * 3000, "naïve 🌶", "twelve bytes", "x" * 13]


@pytest.fixture(params=["core", "hf"])
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path), encoder=request.param)


@pytest.fixture
def core(tmp_path: Path) -> Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path), encoder="core", decoder="core")


@pytest.fixture(autouse=True)
def _all_is_released() -> Any:
    yield
    gc.collect()
    assert kept == {}


def rows(*texts: str | None) -> Rows:
    return [None if text is None else text.encode() for text in texts]


def ids(tok: Tokenizer, *texts: str | None) -> list[list[int] | None]:
    return [None if text is None else tok.encode(text).ids for text in texts]


@pytest.mark.parametrize("form", FORMS)
def test_each_type_of_text(tok: Tokenizer, form: str) -> None:
    column = tok.encode_arrow(Column(rows(*TEXTS), form))
    assert lists_of(column) == ids(tok, *TEXTS)
    assert column.batch == tok.encode_batch(TEXTS)
    assert [item.tokens for item in column.batch] == [tok.encode(text).tokens for text in TEXTS]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("skip", [0, 1, 9])
def test_nulls_stay_null(core: Tokenizer, form: str, skip: int) -> None:
    texts = [None, *TEXTS, None, None, "behind", *[None] * 8, "last"]
    column = core.encode_arrow(Column(rows(*texts), form, skip=skip))
    assert lists_of(column) == ids(core, *texts)
    assert (len(column), column.null_count) == (len(texts), texts.count(None))


def test_arrays_without_texts(core: Tokenizer) -> None:
    for column in (Column([]), Column([None, None]), Column([None], "vu"), Column([], "vu")):
        assert lists_of(core.encode_arrow(column)) == [None] * column.length
    assert lists_of(core.encode_arrow(Column([b""]))) == ids(core, "")
    nulls = Column([None] * 3, "n")
    nulls.buffers = []
    assert lists_of(core.encode_arrow(nulls)) == [None] * 3


def test_a_column_of_a_table_in_chunks(tok: Tokenizer) -> None:
    chunks: list[list[str | None]] = [[*TEXTS[:3]], [None, "one"], [], [*TEXTS[3:]]]
    others = [Column(rows(*["other"] * len(texts)), name="a") for texts in chunks]
    columns = [Column(rows(*texts), "vu", name="é") for texts in chunks]
    table = Table(*zip(others, columns, strict=True))
    expected = ids(tok, *(text for texts in chunks for text in texts))
    assert lists_of(tok.encode_arrow(table, "é")) == expected


def test_rows_that_are_null_in_the_table(core: Tokenizer) -> None:
    table = Table([Column(rows("a", "b", None, "d"), name="t", skip=3)], null_rows=0b0010)
    assert lists_of(core.encode_arrow(table)) == ids(core, "a", None, None, "d")


def test_what_was_read_before_is_not_read_again(core: Tokenizer) -> None:
    class Same:
        """The same capsules each time, as of a cursor."""

        def __init__(self, name: str, capsules: object) -> None:
            setattr(self, name, lambda: capsules)

    table = Table([Column(rows("a", "b"), name="t")])
    stream = Same("__arrow_c_stream__", table.__arrow_c_stream__())
    array = Same("__arrow_c_array__", Column(rows("a", "b")).__arrow_c_array__())
    for source, kind, name in ((stream, Stream, "stream"), (array, Array, "array")):
        capsules = getattr(source, f"__arrow_c_{name}__")()
        release(taken(capsules if name == "stream" else capsules[1], kind))
        with pytest.raises(InvalidArgument, match="was read before"):
            core.encode_arrow(source)
    with pytest.raises(InvalidArgument, match="no Arrow capsule"):
        core.encode_arrow(Same("__arrow_c_stream__", object()))


def test_many_rows_are_shared_among_threads(core: Tokenizer) -> None:
    """Pieces of a batch are cut across the buffers of chunks, and a long text is cut itself."""
    texts = [f"text {n} " * (n % 40) for n in range(3000)] + ["a long one " * 20_000, "", "end"]
    chunks = [texts[n : n + 700] for n in range(0, len(texts), 700)]
    table = Table(*([Column(rows(*chunk), name="t")] for chunk in chunks))
    column = core.encode_arrow(table, threads=2)
    assert column.batch == core.encode_batch(texts)
    assert len(column.batch.texts) == len(texts)
    assert list(column.batch.texts[-2:]) == ["", "end"]


def test_the_buffers_are_read_where_they_lie(core: Tokenizer) -> None:
    """No text is decoded before it is asked for, and none is kept behind the batch."""
    source = Column([b"one", b"two"])
    column = core.encode_arrow(source)
    (found,) = kept
    assert list(column.batch.texts) == ["one", "two"]
    assert lists_of(column) == ids(core, "one", "two")
    exported = column.__arrow_c_array__()
    del column
    gc.collect()
    assert found not in kept
    del exported


def test_long_views_in_order_are_read_where_they_lie(core: Tokenizer) -> None:
    texts = [f"text number {n} of ten" for n in range(10)]
    source = Column(rows(*texts), "vu")
    column = core.encode_arrow(source)
    assert len(kept) == 1
    assert lists_of(column) == ids(core, *texts)
    # Each text once more, backwards: the views are out of order.
    views = source.buffers[1] or b""
    source.buffers[1] = b"".join(views[16 * n : 16 * n + 16] for n in reversed(range(10)))
    assert lists_of(core.encode_arrow(source)) == ids(core, *reversed(texts))


@pytest.mark.parametrize("form", ["z", "vz"])
def test_bytes_that_are_no_utf8(tok: Tokenizer, form: str) -> None:
    chunks = ([b"one", None], [b"two", None, b"caf\xe9 and more text"])
    table = Table(*([Column(chunk, form, name="t")] for chunk in chunks))
    with pytest.raises(InvalidText, match="UTF-8") as raised:
        tok.encode_arrow(table)
    assert (raised.value.path, raised.value.offset) == ("rows[4]", 3)


def test_special_tokens_are_as_the_call_says(core: Tokenizer) -> None:
    name = next(name for name, token in core.added_tokens.items() if token.special)
    texts = ["plain", None, f"a {name} b"]
    for special in ("all", "none"):
        found = lists_of(core.encode_arrow(Column(rows(*texts)), special=special))
        plain = core.encode_batch(["plain", f"a {name} b"], special=special).ids
        assert found == [plain[0], None, plain[1]]
    with pytest.raises(pywasmtok.SpecialTokenInText) as raised:
        core.encode_arrow(Column(rows(*texts)), special="raise")
    assert (raised.value.path, raised.value.character) == ("rows[2]", 2)


def test_bounds_of_a_call(core: Tokenizer) -> None:
    column = Column(rows("four", None, "five!"))
    assert len(core.limited(max_text_bytes=9, max_batch_items=2).encode_arrow(column)) == 3
    for limits in (pywasmtok.Limits(max_text_bytes=8), pywasmtok.Limits(max_batch_items=1)):
        with pytest.raises(pywasmtok.InputTooLarge):
            core.limited(limits).encode_arrow(column)
    with pytest.raises(pywasmtok.QuotaExceeded):
        core.limited(max_tokens=1).encode_arrow(column)


def bad(rows: Rows, form: str, n: int, data: bytes) -> Column:
    column = Column(rows, form)
    column.buffers[n] = data
    return column


TWO = [Column([b"x"], name="a"), Column([b"x"], name="b")]
DAMAGED = (b"\1\0\0\0\0\0\0\0", b"\x20\0\0\0abcd\0\0\0\0\1\0\0\0")


@pytest.mark.parametrize(
    ("data", "column", "message"),
    [
        (["a list"], None, "list is no Arrow array or table.*encode_batch"),
        (Column([b"x"]), "t", "column='t', but this is an array without columns"),
        (Table(TWO), None, r"more than one column; its columns are \['a', 'b'\]"),
        (Table(TWO), "c", r"no column 'c'; its columns are \['a', 'b'\]"),
        (Table([TWO[0], TWO[0]]), "a", "more than one column 'a'"),
        (Column([b"x"], "l"), None, "the array is of the Arrow format 'l', not of string"),
        (Table([Column([b"x"], "l", name="n")]), "n", "column 'n' is of the Arrow format 'l'"),
        (bad([b"x"], "u", 1, DAMAGED[0]), None, "offsets that decrease"),
        (bad([b"x" * 32], "vu", 1, DAMAGED[1]), None, "row 0 .* a view outside of its buffers"),
    ],
)
def test_what_is_no_column_of_texts(
    core: Tokenizer, data: object, column: str | None, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        core.encode_arrow(data, column)


def test_a_dictionary_is_refused(core: Tokenizer) -> None:
    class Dictionary(Column):
        def schema(self) -> Any:
            schema = super().schema()
            schema.dictionary = 1
            return schema

    with pytest.raises(InvalidArgument, match=r"of a dictionary.*Cast it to string"):
        core.encode_arrow(Dictionary([b"x"], "i"))


def test_a_stream_that_fails(core: Tokenizer) -> None:
    with pytest.raises(pywasmtok.BackendFailure, match="the disk is gone"):
        core.encode_arrow(Table(TWO, fails=True), "a")


def test_a_column_can_be_encoded_again(core: Tokenizer) -> None:
    """It holds no text, and says so."""
    column = core.encode_arrow(Column([b"x"]))
    assert isinstance(column, EncodedColumn)
    with pytest.raises(InvalidArgument, match="the Arrow format '\\+l'"):
        core.encode_arrow(column)


def test_a_structure_that_was_never_made_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    noise: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    with handled(), pytest.raises(StopError):
        importing._Owned(arrive)
    gc.collect()
    assert noise == []
