"""Ids to Arrow, without any library of Arrow: a consumer after the text of the interface."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from array import array
from ctypes import addressof
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok import EncodedColumn, EncodingBatch
from pywasmtok.tokenizer.arrow import exporting

from .by_hand import Array, Get, Schema, Stream, lists, lists_of, moved, numbers, release, taken

TEXTS = [small.TEXT, "", "in the beginning", "", "x" * 3000]


@pytest.fixture(autouse=True)
def _without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the package does by itself, also where pyarrow is installed; it leaves nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    before = len(exporting._kept), len(exporting._in_capsules)
    yield
    gc.collect()
    assert (len(exporting._kept), len(exporting._in_capsules)) == before


@pytest.fixture(params=["core", "hf"])
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> pywasmtok.Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path), encoder=request.param)


def test_an_encoding_is_an_array_over_its_own_memory(tok: pywasmtok.Tokenizer) -> None:
    encoding = tok.encode(small.TEXT)
    schema_capsule, array_capsule = encoding.__arrow_c_array__()
    schema, ids = taken(schema_capsule, Schema), taken(array_capsule, Array)
    assert (schema.format, schema.name, schema.n_children) == (b"I", b"", 0)
    assert numbers(ids) == encoding.ids
    assert ids.buffers[1] == encoding.numpy().__array_interface__["data"][0]
    expected = encoding.ids
    del encoding, schema_capsule, array_capsule
    gc.collect()
    assert numbers(ids) == expected
    release(schema)
    release(ids)


def test_a_batch_is_an_array_of_lists_over_its_own_memory(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    schema, made = (
        taken(capsule, kind)
        for capsule, kind in zip(batch.__arrow_c_array__(), (Schema, Array), strict=True)
    )
    item = Schema.from_address(schema.children[0])
    assert (schema.format, schema.n_children, item.format, item.name) == (b"+l", 1, b"I", b"item")
    assert lists(made) == batch.ids
    flat, bounds = batch.numpy()
    assert made.buffers[1] == bounds.__array_interface__["data"][0]
    child = Array.from_address(made.children[0])
    assert child.buffers[1] == flat.__array_interface__["data"][0]
    release(made)
    release(schema)


def test_the_schema_alone(tok: pywasmtok.Tokenizer) -> None:
    for ids, form in ((tok.encode("x"), b"I"), (tok.encode_batch(["x"]), b"+l")):
        schema = taken(ids.__arrow_c_schema__(), Schema)
        assert schema.format == form
        release(schema)


def test_a_child_outlives_its_parent(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    made = taken(batch.__arrow_c_array__()[1], Array)
    child = moved(Array, made.children[0])
    release(made)
    expected = list(batch.buffer)
    del batch
    gc.collect()
    assert numbers(child) == expected
    release(child)


def test_a_stream_has_one_array(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    stream = taken(batch.__arrow_c_stream__(), Stream)
    schema, found, end = Schema(), Array(), Array()
    get_schema, get_next = Get(stream.get_schema), Get(stream.get_next)
    address = addressof(stream)
    assert get_schema(address, addressof(schema)) == 0
    assert schema.format == b"+l"
    assert get_next(address, addressof(found)) == 0
    assert get_next(address, addressof(end)) == 0
    assert not end.release
    release(stream)
    assert lists(found) == batch.ids
    release(found)
    release(schema)


def test_what_no_consumer_takes_is_released(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    # The fixture counts what is left.
    batch.__arrow_c_array__()
    batch.__arrow_c_stream__()
    batch.__arrow_c_schema__()
    batch[0].__arrow_c_array__()


def test_threads_release_what_others_took(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    expected, wrong = batch.ids, []

    def consume() -> None:
        for _ in range(50):
            if lists_of(batch) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=consume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_release_during_an_exception_still_releases(
    tok: pywasmtok.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that is not finished is freed while its exception is raised, and so are capsules in
    it. CPython has no way to call Python code then that keeps the exception."""
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: reported.append(str(told.exc_value)))
    batch = tok.encode_batch(TEXTS)

    def capsules() -> Any:
        yield batch.__arrow_c_stream__()
        raise KeyError("the consumer failed")

    with pytest.raises((SystemError, KeyError)):
        list(capsules())
    assert "the consumer failed" in reported[0]


def test_columns_with_nulls(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(["one", "two", ""])
    one, two, empty = batch.ids
    assert lists_of(EncodedColumn(batch)) == [one, two, empty]
    column = EncodedColumn(batch, "0010011" + "0" * 9 + "0")
    assert lists_of(column) == [None, None, one, None, None, two, empty, *[None] * 10]
    assert (len(column), column.null_count, column.batch) == (17, 14, batch)
    assert repr(column).startswith("<EncodedColumn of 17 rows, 14 of them null, ")
    copied = pickle.loads(pickle.dumps(column))
    assert lists_of(copied) == lists_of(column)


def test_batches_from_elsewhere(tok: pywasmtok.Tokenizer) -> None:
    for batch in (
        tok.encode_batch([]),
        pickle.loads(pickle.dumps(tok.encode_batch(TEXTS))),
        tok.encode_batch([("a", "pair"), "alone"]),
        EncodingBatch.join([tok.encode("one"), tok.encode("two")], True),
        pywasmtok.MockTokenizer().encode_batch(["Hello world", "test"]),
    ):
        assert lists_of(batch) == batch.ids


def test_more_ids_than_an_array_of_lists_holds(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(["x"])
    large = EncodingBatch(b"", array("I", [0, 2**31]).tobytes(), batch._sources, ["x"], True)
    for export in (large.__arrow_c_array__, large.__arrow_c_stream__):
        with pytest.raises(pywasmtok.LimitExceeded, match="holds 2147483647") as raised:
            export()
        assert raised.value.asked == 2**31


def test_a_column_of_what_is_no_batch(tok: pywasmtok.Tokenizer) -> None:
    batch = tok.encode_batch(TEXTS)
    wrong: list[Any] = [None, [1, 2], batch[1:], tok.encode("a")]
    for one in wrong:
        with pytest.raises(pywasmtok.InvalidArgument, match="EncodingBatch"):
            EncodedColumn(one)
    assert len(EncodedColumn(EncodingBatch.join(batch[1:], True))) == len(TEXTS) - 1
    given: list[Any] = ["1", "1" * (len(TEXTS) + 1), "1111x1", [1] * len(TEXTS)]
    for present in given:
        with pytest.raises(pywasmtok.InvalidArgument, match="present"):
            EncodedColumn(batch, present)
