"""`Limits`, and how much of a GGUF file is read."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small

import pywasmtok
from pywasmtok import _host
from pywasmtok.loading.sources.prefix import read_metadata
from pywasmtok.tokenizer.limits import TemplateLimits


def test_a_file_that_is_read_whole(tmp_path: Path) -> None:
    path = small.write(tmp_path)
    size = path.stat().st_size
    limits = pywasmtok.Limits(file_bytes=size)
    assert pywasmtok.create_tokenizer(path, limits=limits).vocab_size == 270
    with pytest.raises(pywasmtok.LimitExceeded, match=r"Limits\(file_bytes=\.\.\.\)"):
        pywasmtok.create_tokenizer(path, limits=pywasmtok.Limits(file_bytes=size - 1))


def test_bounds_reach_the_core(tmp_path: Path) -> None:
    model = small.definition()["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(model["merges"]) + "\n")
    assert pywasmtok.create_tokenizer(tmp_path, limits=pywasmtok.Limits(items=1000)).vocab_size
    for ask in (pywasmtok.create_tokenizer, pywasmtok.get_tokenizer_info):
        with pytest.raises(pywasmtok.LimitExceeded, match="tokens; at most 100"):
            ask(tmp_path, limits=pywasmtok.Limits(items=100))


@pytest.mark.parametrize("value", [-1, 1.5, "1", True, None, 2**63])
def test_what_is_no_bound(value: Any) -> None:
    with pytest.raises(pywasmtok.InvalidArgument, match=r"Limits\.token"):
        pywasmtok.Limits(token=value)
    with pytest.raises(pywasmtok.InvalidArgument, match="Limits"):
        pywasmtok.create_tokenizer("builtin:demo", limits=[value])  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, 1.5, "1", True, 2**63])
def test_what_is_no_bound_of_templates(bad: Any) -> None:
    for field in ("source", "fuel", "memory", "output"):
        with pytest.raises(pywasmtok.InvalidArgument, match=rf"TemplateLimits\.{field}"):
            TemplateLimits(**{field: bad})
    for seconds in (0, -1.0, float("nan"), 1e9, "1", True):
        with pytest.raises(pywasmtok.InvalidArgument, match=r"TemplateLimits\.deadline"):
            TemplateLimits(deadline=seconds)  # type: ignore[arg-type]


def test_counting_has_no_bound_on_tokens() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    few = tok.limited(max_tokens=2)
    text = "one two three four"
    count = tok.count(text)
    for special in ("all", "none", "raise", {"<|endoftext|>"}):
        assert few.count(text, special=special) == count
        assert few.count_batch([text], special=special) == [count]
        assert not few.fits(text, 2, special=special)
    with pytest.raises(pywasmtok.InputTooLarge):
        tok.limited(max_text_bytes=3).count(text, special="raise")


def test_spans_of_tokens_that_write_nothing() -> None:
    tok = pywasmtok.create_tokenizer("builtin:demo")
    special = tok.token_to_id(next(iter(tok.special_tokens)))
    assert special is not None
    few = tok.limited(max_tokens=3)
    assert few.token_spans([special] * 3) == tok.token_spans([special] * 3)
    with pytest.raises(pywasmtok.InputTooLarge):
        few.token_spans([special] * 4)


@pytest.mark.parametrize("ids", [["x"], [1.5], [-1], [1 << 40]])
def test_the_mock_refuses_what_are_no_ids(ids: Any) -> None:
    with pytest.raises(pywasmtok.TokenizerError):
        pywasmtok.create_tokenizer("mock://").decode(ids)


class Asked:
    """A stand-in for the core's judgement: the metadata takes `needed` bytes."""

    def __init__(self, needed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.needed = needed
        self.lengths: list[int] = []
        monkeypatch.setattr(_host, "extent", self.extent)

    def extent(self, prefix: bytes) -> dict[str, Any]:
        self.lengths.append(len(prefix))
        if len(prefix) >= self.needed:
            return {"bytes": self.needed, "complete": True}
        return {"bytes": len(prefix) + 1, "complete": False}


def read(length: int, limit: int = 256 << 20) -> bytes:
    stream = io.BytesIO(bytes(length))
    return read_metadata(stream, pywasmtok.Limits(metadata=limit), "a file")


def test_a_prefix_grows_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(30 << 20, monkeypatch)
    assert len(read(100 << 20)) == 30 << 20
    assert asked.lengths == [1 << 20, 8 << 20, 64 << 20]


def test_a_small_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(1000, monkeypatch)
    assert len(read(5000)) == 1000
    assert asked.lengths == [5000]


def test_a_file_that_is_cut_off_is_left_to_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(1 << 40, monkeypatch)
    assert len(read(3 << 20)) == 3 << 20
    assert asked.lengths == [1 << 20, 3 << 20]


def test_metadata_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(1 << 40, monkeypatch)
    with pytest.raises(pywasmtok.LimitExceeded, match=r"Limits\(metadata=\.\.\.\)") as caught:
        read(100 << 20, 4 << 20)
    assert caught.value.source == "a file"
    assert asked.lengths == [1 << 20, 4 << 20]


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("PYWASMTOK_SLOW") != "1", reason="slow: set PYWASMTOK_SLOW=1")
def test_details_larger_than_the_memory() -> None:
    """In parts, where the file has cuts; else they are a typed limit, which says its size."""
    text = "hello world\n" * 2_500_000
    tok = pywasmtok.create_tokenizer("builtin:demo")
    encoding = tok.encode(text)
    assert len(encoding) > 5_000_000
    assert len(encoding.tokens) == len(encoding)
    assert encoding.tokens[-3:] == tok.encode("hello world\n").tokens[-3:]
    for name in ("tokens", "offsets"):
        with pytest.raises(pywasmtok.errors.MemoryLimit, match=r"2147483648 bytes.*in parts"):
            getattr(tok.encode(text, "a pair has no parts"), name)
    assert tok.encode("hello").tokens


def test_a_number_is_no_list_with_a_bound_either() -> None:
    number: Any = np.array(5)
    tok = pywasmtok.create_tokenizer("builtin:demo")
    for one in (tok, tok.limited(max_tokens=5)):
        with pytest.raises(pywasmtok.InvalidArgument):
            one.decode(number)
