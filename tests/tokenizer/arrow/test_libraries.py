"""The libraries that users have, as they would write it. Each test skips where its library is not
installed: `pip install pyarrow polars pandas duckdb datasets` gets all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import small

import pywasmtok
from pywasmtok import EncodedColumn, Tokenizer

TEXTS = [small.TEXT, "", None, "in the beginning", "naïve 🌶", None, "x" * 300]


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install {name}")


@pytest.fixture
def tok(tmp_path: Path) -> Tokenizer:
    return pywasmtok.create_tokenizer(small.write(tmp_path))


@pytest.fixture
def expected(tok: Tokenizer) -> list[list[int] | None]:
    return [None if text is None else tok.encode(text).ids for text in TEXTS]


@pytest.mark.parametrize("type_name", ["string", "large_string", "string_view", "binary"])
def test_pyarrow_reads_and_gives_each_type(
    tok: Tokenizer, expected: list[Any], type_name: str
) -> None:
    pa = library("pyarrow")
    texts = pa.array(TEXTS, getattr(pa, type_name)())
    chunked = pa.chunked_array([texts[:3], texts[3:]])
    table = pa.table({"n": range(7), "text": chunked})
    for given in (texts, chunked, table.select(["text"]), pa.record_batch({"text": texts})):
        assert pa.array(tok.encode_arrow(given)).to_pylist() == expected
    assert pa.array(tok.encode_arrow(texts[3:])).to_pylist() == expected[3:]
    ids = table.append_column("ids", tok.encode_arrow(table, "text"))["ids"]
    assert (ids.type, ids.to_pylist()) == (pa.list_(pa.uint32()), expected)


def test_pyarrow_takes_encodings_and_batches(tok: Tokenizer) -> None:
    pa = library("pyarrow")
    batch = tok.encode_batch(["one", "", "two three"])
    array = pa.array(batch)
    array.validate(full=True)
    assert array.to_pylist() == batch.ids
    assert array.values.buffers()[1].address == batch.numpy()[0].ctypes.data
    assert pa.table({"ids": batch})["ids"].to_pylist() == batch.ids
    assert pa.array(batch, pa.large_list(pa.int64())).to_pylist() == batch.ids
    assert pa.array(batch[0]).to_pylist() == batch[0].ids
    assert pa.field(batch).type == pa.list_(pa.uint32())


def test_pyarrow_reports_its_own_errors(tok: Tokenizer) -> None:
    """An array that pyarrow made is freed while the exception is raised."""
    pa = library("pyarrow")
    batch = tok.encode_batch(["one", "two"])
    with pytest.raises(pa.ArrowInvalid, match="length"):
        pa.table({"a": [1, 2, 3]}).append_column("ids", batch)
    with pytest.raises(ValueError, match="Could not cast"):
        pa.array(tok.encode_batch(["in the beginning"]), pa.list_(pa.int8()))


@pytest.mark.parametrize("loaded", [True, False])
def test_polars(
    tok: Tokenizer, expected: list[Any], loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pyarrow is loaded, it makes the structures; elsewhere this package does."""
    pl = library("polars")
    if loaded:
        library("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pl.DataFrame({"n": range(7), "text": TEXTS})
    frame = frame.with_columns(ids=pl.Series(tok.encode_arrow(frame, "text")))
    assert frame.schema["ids"] == pl.List(pl.UInt32)
    assert frame["ids"].to_list() == expected
    assert pl.Series(tok.encode_arrow(frame["text"])).to_list() == expected
    assert pl.Series(tok.encode_arrow(frame["text"][3:])).to_list() == expected[3:]
    batch = tok.encode_batch(["one", "", "two three"])
    assert pl.Series("ids", EncodedColumn(batch)).to_list() == batch.ids
    assert pl.from_arrow(EncodedColumn(batch)).dtype == pl.List(pl.UInt32)


def test_pandas(tok: Tokenizer, expected: list[Any]) -> None:
    pd, pa = library("pandas"), library("pyarrow")
    frame = pd.DataFrame({"text": TEXTS})
    for given in (frame, frame["text"], frame["text"].astype(pd.ArrowDtype(pa.string()))):
        ids = pa.array(tok.encode_arrow(given))
        assert ids.to_pylist() == expected
    frame["ids"] = pd.Series(ids, dtype=pd.ArrowDtype(ids.type))
    assert list(frame["ids"][0]) == expected[0]
    assert frame["ids"].isna().tolist() == [text is None for text in TEXTS]


def test_duckdb(tok: Tokenizer, expected: list[Any]) -> None:
    duckdb, pa = library("duckdb"), library("pyarrow")
    made = pa.table({"text": TEXTS})
    connection = duckdb.connect()
    texts = connection.sql("select text from made")
    ids = pa.table({"ids": tok.encode_arrow(texts)})
    found = connection.sql("select ids from ids").fetchall()
    assert [row[0] for row in found] == expected
    assert made.num_rows == ids.num_rows


@pytest.mark.parametrize("processes", [None, 2])
def test_datasets(tok: Tokenizer, processes: int | None) -> None:
    datasets = library("datasets")
    texts = [f"text {n} of some" for n in range(300)]
    data = datasets.Dataset.from_dict({"text": texts}).with_format("arrow")
    mapped = data.map(
        lambda table: table.append_column("ids", tok.encode_arrow(table, "text")),
        batched=True,
        num_proc=processes,
    )
    assert mapped.with_format(None)["ids"][:] == tok.encode_batch(texts).ids
    assert mapped.column_names == ["text", "ids"]
